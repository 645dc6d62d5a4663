"""Operators are known by where PyTorch has their descriptions, for as long as these are theirs."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import torch
from tests.torch.bridge.both import NO_OVERLOADS, facts, ours_on_cpu, recorded_together

from mindtorch_v2._torch import _build

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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


def test_while_others_come_and_go() -> None:
    """Another thread's operators are known anew each time, and are what they are."""
    values, is_over, turns = torch.ones(2), threading.Event(), []

    def work() -> None:
        while not is_over.is_set():
            values.neg()
            values.exp()
            turns.append(None)

    with ours_on_cpu() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        for turn in range(50):
            library = torch.library.Library("mindtorch_tests", "DEF")
            library.define(f"passing_{turn}(Tensor x) -> Tensor")
            library._destroy()
        is_over.set()
        thread.join()
    done = [event.name for event in prof.events() if event.name in {"aten::neg", "aten::exp"}]
    assert done == ["aten::neg", "aten::exp"] * len(turns)
    assert len(turns) > 0


def test_more_or_less_of_the_same() -> None:
    """What was told for one recording is known in the next, which may want more of it."""
    values = torch.ones(2, 3, requires_grad=True)

    def run() -> None:
        for _ in range(3):
            values.add(values).sum().backward()

    overloads = [] if NO_OVERLOADS else [recorded_together(run, overloads=True)]
    for _ in range(2):
        with ours_on_cpu() as prof:
            run()
        assert all(event.input_shapes == [] for event in prof.events())
        overloads.append(recorded_together(run))
    for both in overloads:
        assert facts(both.ours) == facts(both.theirs)


def test_descriptions_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "described.cpp"
    source.write_text(DESCRIBED)
    library = ctypes.CDLL(str(_build.library_for(torch, source)))
    library.run.restype = ctypes.c_void_p
    expected = ["mine::one", "mine::two", "mine::two", "mine::one"]
    with ours_on_cpu() as prof:
        places = {library.run(name.encode()) for name in expected}
    assert len(places) == 1
    assert names(prof) == expected
