"""Every Chrome file is JSON to the letter of the standard, and gzip where its name says so."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers.files import compressed, parsed
from tests.readers.programs import PROGRAMS

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.readers.conftest import Traces

torch: Any = mindtorch_v2


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_file_is_strict_json(traces: Traces, program: str) -> None:
    for directory in (traces.ours, traces.npu):
        for path in (directory / f"{program}.json", compressed(directory, program)):
            trace = parsed(path)
            assert trace["traceEvents"]
            assert trace["traceName"] == str(path)


def test_both_libraries_head_their_files_alike(traces: Traces) -> None:
    """Ours has a rank besides, which torch's has only when it is distributed."""
    for program in PROGRAMS:
        theirs, ours = parsed(traces.torch / f"{program}.json"), parsed(traces.ours / f"{program}.json")
        assert set(ours) - set(theirs) == {"distributedInfo"}
        assert set(theirs) - set(ours) == set()


def test_numbers_that_json_has_not_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with torch.profiler.profile(record_shapes=True, with_flops=True) as prof:
        x = torch.full((2,), math.nan)
        torch.add(x, x, alpha=math.inf)
        torch.clamp(x, min=-math.inf)
    with pytest.warns(UserWarning, match="not JSON"):
        prof.add_metadata_json("odd", "[NaN, Infinity]")
    prof.export_chrome_trace(path)
    trace = parsed(path)
    assert trace["odd"] == "[NaN, Infinity]"
    (full,) = [event for event in trace["traceEvents"] if event["name"] == "aten::full"]
    assert full["args"]["Concrete Inputs"][1].lower() == "nan"


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_gzip_follows_the_name(recorded: Callable[..., Any], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trace{suffix}"
    recorded("sgd").export_chrome_trace(path)
    content = path.read_bytes()
    assert content.startswith(b"\x1f\x8b") == (suffix == ".json.gz")
    if suffix == ".json.gz":
        assert len(content) < len(gzip.decompress(content)) / 4
    assert parsed(path)["traceEvents"]
