"""``mtprof summary`` says of torch's files what HolisticTraceAnalysis says, where both say it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers.conftest import CUDA
from tests.readers.test_holistic import CLOSE_US, analysed

if TYPE_CHECKING:
    from pathlib import Path

    from hta.trace_analysis import TraceAnalysis

pytestmark = pytest.mark.filterwarnings("ignore")  # of pandas, about how it is used there


class Both:
    """The two answers about one file."""

    def __init__(self, path: Path, directory: Path) -> None:
        command = [sys.executable, "-m", "mindtorch_v2.profiler", "summary", str(path), "--json"]
        # More than any list of these files has.
        limits = ["--rows", "10000", "--top", "10000"]
        answer = subprocess.run([*command, *limits], check=True, capture_output=True, text=True)
        (self.summary,) = json.loads(answer.stdout)
        self.analysis: TraceAnalysis = analysed(path, directory)

    def spans(self) -> Any:
        self.analysis.t.decode_symbol_ids(use_shorten_name=False)
        return self.analysis.t.get_trace(0)


@pytest.fixture(params=["adam", "steps"])
def both(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    # By default it rounds beginnings up and ends down to microseconds.
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
    return Both(CUDA / f"{request.param}.json.gz", tmp_path / request.param)


def test_a_device_is_busy_and_idle_for_as_long(both: Both) -> None:
    (theirs,) = both.analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    (ours,) = both.summary["devices"]
    pairs = {
        "idle_time(us)": ours["idle_ns"],
        "compute_time(us)": ours["compute_ns"],
        "non_compute_time(us)": ours["busy_ns"] - ours["compute_ns"],
        "kernel_time(us)": ours["end_ns"] - ours["start_ns"],
    }
    for name, ns in pairs.items():
        assert ns / 1e3 == pytest.approx(theirs[name], abs=CLOSE_US), name


def test_gaps_add_up_to_the_idle_time(both: Both) -> None:
    (device,) = both.summary["devices"]
    assert sum(gap["end_ns"] - gap["start_ns"] for gap in device["gaps"]) == device["idle_ns"]
    for gap in device["gaps"]:
        assert sum(part["self_ns"] for part in gap["host"]) == gap["end_ns"] - gap["start_ns"]


def test_kernels_take_as_long(both: Both) -> None:
    _, theirs = both.analysis.get_gpu_kernel_breakdown(
        visualize=False, num_kernels=10_000, duration_ratio=1.0, include_memory_kernels=True
    )
    expected = dict(zip(theirs["name"], theirs["sum (us)"], strict=True))
    found = {kernel["name"]: kernel["self_ns"] / 1e3 for kernel in both.summary["kernels"]}
    assert found == pytest.approx(expected, abs=CLOSE_US)


def test_operators_are_as_many_and_take_as_long(both: Both) -> None:
    spans = both.spans()
    operators = spans[spans["s_cat"] == "cpu_op"].groupby("s_name")["dur"].agg(["count", "sum"])
    ours = {row["key"]: row for row in both.summary["averages"] if not row["is_device"]}
    for name, (count, total) in operators.iterrows():
        assert ours[name]["count"] == count, name
        # It is in one of its own name, whose time has it already.
        if name == "aten::mse_loss_backward":
            assert ours[name]["cpu_total_ns"] / 1e3 < total
        else:
            assert ours[name]["cpu_total_ns"] / 1e3 == pytest.approx(total, abs=CLOSE_US), name
