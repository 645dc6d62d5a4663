"""Operators are known by where PyTorch has their descriptions, for as long as these are theirs."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import torch
from tests.torch.bridge.both import ours_on_cpu

from mindtorch_v2._torch import _build

if TYPE_CHECKING:
    from pathlib import Path

# Two descriptions that are nobody's operators, one after the other in the same place.
DESCRIBED = """
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <optional>

static std::optional<c10::FunctionSchema> schema;

extern "C" __attribute__((visibility("default"))) const void* run(const char* name) {
  schema.emplace(name, "", std::vector<c10::Argument>{}, std::vector<c10::Argument>{});
  RECORD_FUNCTION(std::reference_wrapper<const c10::FunctionSchema>(*schema), c10::ArrayRef<const c10::IValue>{});
  return &*schema;
}
"""


def names(prof: object) -> list[str]:
    return [event.name for event in prof.events() if "aten::" not in event.name]  # type: ignore[attr-defined]


def test_one_that_has_the_place_of_another_that_is_gone() -> None:
    """Memory of one that is gone is soon used again, mostly by the next."""
    values = torch.ones(2)
    expected = []
    with ours_on_cpu() as prof:
        for turn in range(50):
            library = torch.library.Library("mindtorch_tests", "DEF")
            name = f"one_of_many_{turn}"
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, torch.clone, "CPU")
            # Twice: the second time it is known.
            for _ in range(2):
                getattr(torch.ops.mindtorch_tests, name).default(values)
                expected.append(f"mindtorch_tests::{name}")
            library._destroy()
    assert names(prof) == expected


def test_descriptions_of_ones_own(tmp_path: Path) -> None:
    source = tmp_path / "described.cpp"
    source.write_text(DESCRIBED)
    library = ctypes.CDLL(str(_build.library_for(torch, source)))
    library.run.restype = ctypes.c_void_p
    expected = ["mine::one", "mine::two", "mine::two", "mine::one"]
    with ours_on_cpu() as prof:
        places = {library.run(name.encode()) for name in expected}
    assert len(places) == 1
    assert names(prof) == expected
