"""HolisticTraceAnalysis says of our files what it says of torch's, and what is in them."""

from __future__ import annotations

import logging
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hta.common.trace_call_graph import CallGraph
from hta.trace_analysis import TraceAnalysis
from tests.profiler.compare import Node, check
from tests.readers import trees
from tests.readers.conftest import CUDA, HERE
from tests.readers.files import Event, events_of, parsed
from tests.readers.programs import PROGRAMS, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.readers.conftest import Traces

pytestmark = pytest.mark.filterwarnings("ignore")  # of pandas, about how it is used there

CLOSE_US = 0.01  # sums of times that are held in doubles, of microseconds


@pytest.fixture(autouse=True)
def exact_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default it rounds beginnings up and ends down to microseconds: what is shorter has a negative length then."""
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")


def analysed(path: Path, directory: Path) -> TraceAnalysis:
    """The analysis of a directory that holds one file."""
    directory.mkdir()
    shutil.copy(path, directory)
    return TraceAnalysis(trace_dir=str(directory), include_last_profiler_step=True)


def tree_of(analysis: TraceAnalysis, categories: Iterable[str]) -> list[Node]:
    """Spans of some categories as it nests them."""
    CallGraph(analysis.t)
    analysis.t.decode_symbol_ids(use_shorten_name=False)
    spans = analysis.t.get_trace(0).sort_values(["ts", "index"])
    names = spans["s_name"].where(spans["s_cat"].isin(categories), "")
    return trees.planted(zip(spans["index"], spans["parent"], names, strict=True))


@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_nest_alike(traces: Traces, tmp_path: Path, program: str) -> None:
    theirs = analysed(traces.torch / f"{program}.json", tmp_path / "torch")
    ours = analysed(traces.ours / f"{program}.json", tmp_path / "ours")
    # With stacks, annotations overlap the calls of Python that begin and end them in torch's file, and hold nothing.
    categories = ["cpu_op"] if program == "adam" else ["cpu_op", "user_annotation"]
    check(tree_of(theirs, categories), tree_of(ours, categories), trees.RULES, program)


def test_steps_are_found(traces: Traces, tmp_path: Path) -> None:
    theirs = analysed(traces.torch / "steps.json", tmp_path / "torch")
    ours = analysed(traces.ours / "steps.json", tmp_path / "ours")
    assert ours.get_profiler_steps() == theirs.get_profiler_steps() == [2, 3, 4]
    steps = ours.t.get_trace(0)["iteration"]
    assert set(steps) == set(theirs.t.get_trace(0)["iteration"]) == {2, 3, 4}


def test_ranks_are_found(tmp_path: Path) -> None:
    """Each process writes a file with its rank, which the environment says."""
    for rank in range(2):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}
        directory = tmp_path / f"rank{rank}"
        directory.mkdir()
        command = [sys.executable, str(HERE / "record.py"), "mindtorch_v2", "cpu", str(directory)]
        subprocess.run(command, check=True, env=environment)
        shutil.copy(directory / "sgd.json", tmp_path / f"{rank}.json")
    assert sorted(TraceAnalysis(trace_dir=str(tmp_path)).t.get_ranks()) == [0, 1]
    assert [parsed(tmp_path / f"{rank}.json")["distributedInfo"]["world_size"] for rank in range(2)] == [2, 2]


def test_a_program_alone_has_rank_0(traces: Traces, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of torch's file it warns that it has no rank."""
    logger = logging.getLogger("hta")
    logger.addHandler(caplog.handler)
    try:
        for name, directory in (("torch", traces.torch), ("ours", traces.ours)):
            caplog.clear()
            assert analysed(directory / "sgd.json", tmp_path / name).t.get_ranks() == [0]
            assert ("does not have the rank" in caplog.text) == (name == "torch")
    finally:
        logger.removeHandler(caplog.handler)


class Device:
    """A file with the work of a device, and what is in it."""

    def __init__(self, path: Path, directory: Path) -> None:
        self.analysis = analysed(path, directory)
        events = events_of(path)
        last = max(event["ts"] + event["dur"] for event in events if event["name"].startswith("ProfilerStep#"))
        work = [event for event in events if event.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}]
        correlated = {event["args"]["correlation"] for event in work}
        calls = [
            event
            for event in events
            if event.get("cat", "").endswith(("_runtime", "_driver")) and event["args"].get("correlation") in correlated
        ]
        # What is launched after the last step is not looked at.
        self.calls = {event["args"]["correlation"]: event for event in calls if event["ts"] <= last}
        self.work = {
            event["args"]["correlation"]: event for event in work if event["args"]["correlation"] in self.calls
        }

    def named(self, *endings: str) -> dict[int, Event]:
        return {number: call for number, call in self.calls.items() if call["name"].endswith(endings)}


# What holds for CUDA's file too is the reader's answer, not a rule of ours.
@pytest.fixture(params=["npu", "cuda"])
def device(request: pytest.FixtureRequest, traces: Traces, tmp_path: Path) -> Device:
    path = CUDA / "steps.json.gz" if request.param == "cuda" else traces.npu / "steps.json"
    return Device(path, tmp_path / request.param)


def busy_us(work: list[Event]) -> float:
    """For how long at least one of them ran."""
    total, until = 0.0, -math.inf
    for event in sorted(work, key=lambda event: event["ts"]):
        end = event["ts"] + event["dur"]
        total += max(0.0, end - max(event["ts"], until))
        until = max(until, end)
    return total


def test_the_time_of_a_device_is_broken_down(device: Device) -> None:
    work = list(device.work.values())
    compute = [event for event in work if event["cat"] == "kernel"]
    span = max(event["ts"] + event["dur"] for event in work) - min(event["ts"] for event in work)
    (row,) = device.analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    assert row["kernel_time(us)"] == pytest.approx(span, abs=CLOSE_US)
    assert row["compute_time(us)"] == pytest.approx(busy_us(compute), abs=CLOSE_US)
    assert row["idle_time(us)"] == pytest.approx(span - busy_us(work), abs=CLOSE_US)
    rows, _ = device.analysis.get_idle_time_breakdown(visualize=False)
    assert set(rows["stream"]) == {event["args"]["stream"] for event in work}


def test_kernels_are_counted_by_name(device: Device) -> None:
    """By their totals; of many names the least are summed as others."""
    types, names = device.analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000, duration_ratio=1.0)
    totals: Counter[str] = Counter()
    for event in device.work.values():
        totals[event["name"]] += event["dur"]
    assert sorted(names["sum (us)"]) == pytest.approx(sorted(totals.values()), abs=CLOSE_US)
    kinds = {"COMPUTATION" if event["cat"] == "kernel" else "MEMORY" for event in device.work.values()}
    assert set(types["kernel_type"]) >= kinds


def test_launches_are_found(device: Device) -> None:
    launches = {
        number: call
        for number, call in device.named("LaunchKernel", "LaunchKernelExC", "MemcpyAsync", "MemsetAsync").items()
        if call["cat"] != "cuda_driver"  # which it does not count
    }
    stats = device.analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
    found = {int(row.correlation): (row.cpu_duration, row.gpu_duration) for row in stats.itertuples()}
    assert found == {number: (call["dur"], device.work[number]["dur"]) for number, call in launches.items()}


def test_queues_are_followed(device: Device) -> None:
    """A launch lengthens the queue of its stream, the beginning of its kernel shortens it."""
    series = device.analysis.get_queue_length_time_series()[0]
    launches = device.named("LaunchKernel", "LaunchKernelExC", "MemcpyAsync", "MemsetAsync")
    streams = Counter(device.work[number]["args"]["stream"] for number in launches)
    assert Counter(series["stream"]) == {stream: 2 * number for stream, number in streams.items()}
    for _, queue in series.groupby("stream"):
        assert queue["queue_length"].min() >= 0
        assert queue["queue_length"].iloc[-1] == 0


def test_copies_have_a_bandwidth(device: Device) -> None:
    copies = [event for event in device.work.values() if event["cat"] == "gpu_memcpy"]
    for copy in copies:
        rate = copy["args"]["bytes"] / copy["dur"] / 1000
        assert copy["args"]["memory bandwidth (GB/s)"] == pytest.approx(rate, rel=0.01)
    summary = device.analysis.get_memory_bw_summary()
    assert summary.loc[(0, "Memcpy HtoD"), ("memory_bw_gbps", "count")] == len(copies) == 2 * STEPS


def test_kernels_belong_to_steps(device: Device) -> None:
    spans = device.analysis.t.get_trace(0)
    steps = device.analysis.get_profiler_steps()
    assert len(steps) == STEPS
    assert set(spans.loc[spans["stream"] > -1, "iteration"]) == set(steps)


def test_operators_have_their_kernels(device: Device) -> None:
    kernels = device.analysis.get_aten_op_kernels_and_delay()[0]
    products = kernels[kernels["aten_op_name"] == "aten::addmm"]
    assert products["occurrence_count"].sum() == 2 * STEPS


def test_the_critical_path_is_found(device: Device) -> None:
    graph, is_found = device.analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
    assert is_found
    assert graph.critical_path_nodes
