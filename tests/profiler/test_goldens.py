"""Ours records of the goldens' programs what torch recorded, as stored in tests/data/goldens.

What differs on purpose has a row in docs/differences.md and is left out by name.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.profiler import differences, trees
from tests.profiler.compare import Node, Rules, check
from tests.profiler.programs import (
    g01_mlp_sgd,
    g02_adam_memory,
    g03_annotations_threads,
    g04_with_stack,
    g05_flops,
    g06_schedule,
    g07_metadata,
    g08_observer_overloads_gc,
)
from tests.profiler.rules import OPS, TRACES, for_program
from tests.profiler.support import CYCLES_CLEAR_EVENTS, trace_of

import mindtorch_v2

GOLDENS = Path(__file__).parents[1] / "data" / "goldens"
torch: Any = mindtorch_v2


def stored(name: str) -> Any:
    return json.loads((GOLDENS / name).read_text(encoding="utf-8"))


def stored_events(name: str, program: str = "") -> list[Node]:
    return trees.of_stored(stored(name)["events"], program)


def keys_of(trace: dict[str, Any]) -> list[str]:
    """The keys of a trace's head, without that which torch writes for several processes only."""
    assert trace["distributedInfo"]["rank"] == 0
    return [key for key in trace if key != "distributedInfo"]


def test_g01_events() -> None:
    prof = g01_mlp_sgd.run(torch)
    check(stored_events("g01_mlp_sgd/events.json"), trees.of_events(prof.events()), OPS, "g01")


def test_g01_trace(tmp_path: Path) -> None:
    expected, trace = stored("g01_mlp_sgd/trace.json"), trace_of(g01_mlp_sgd.run(torch), tmp_path)
    check(trees.of_trace(expected), trees.of_trace(trace), TRACES, "the trace of g01")
    assert keys_of(trace) == list(expected)
    assert trees.kinds(trace) == trees.kinds(expected)
    assert trees.arrows(trace) == trees.arrows(expected)


def test_g02_events_with_memory() -> None:
    prof = g02_adam_memory.run_small(torch)
    check(
        stored_events("g02_adam_memory/events_memory_small.json"),
        trees.of_events(prof.events()),
        for_program("g02"),
        "g02",
    )


def test_g02_memory_in_the_trace(tmp_path: Path) -> None:
    def changes(trace: dict[str, Any]) -> list[tuple[int, int, int]]:
        found = [event["args"] for event in trace["traceEvents"] if event["name"] == "[memory]"]
        return [(args["Bytes"], args["Device Type"], args["Device Id"]) for args in found]

    expected = stored("g02_adam_memory/trace_memory_small.json")
    trace = trace_of(g02_adam_memory.run_small(torch), tmp_path)
    assert changes(trace) == changes(expected)
    assert keys_of(trace) == list(expected)
    assert trees.kinds(trace) == trees.kinds(expected)


def test_g02_annotations_and_modules() -> None:
    prof = g02_adam_memory.run(torch)
    assert Counter(event.name for event in prof.events() if event.is_user_annotation) == {
        "## forward ##": 2,
        "## backward ##": 2,
        "## optimizer ##": 2,
        "Optimizer.step#Adam.step": 2,
        "Optimizer.zero_grad#Adam.zero_grad": 2,
    }
    modules = ["Sequential_0", "Linear_0", "Tanh_0", "Linear_1"]
    called = [event.name for event in prof.events() if event.name.startswith("nn.Module: ")]
    assert called == [f"nn.Module: {module}" for module in modules] * 2


@pytest.mark.parametrize("all_threads", [True, False])
def test_g03_annotations_on_threads(tmp_path: Path, all_threads: bool) -> None:
    prof = g03_annotations_threads.run(torch, all_threads=all_threads)
    expected = stored_events("g03_annotations_threads/events_all_threads.json")
    check(expected, trees.of_events(prof.events()), OPS, "g03")
    expected_trace = stored("g03_annotations_threads/trace_all_threads.json")
    check(trees.of_trace(expected_trace), trees.of_trace(trace_of(prof, tmp_path)), TRACES, "the trace of g03")


@pytest.mark.parametrize("verbose", [True, False])
def test_g04_stacks(verbose: bool) -> None:
    program = "g04_with_stack.py"
    prof = g04_with_stack.run(torch, verbose=verbose)
    events = trees.of_events(prof.events(), program, lines=False)
    check(stored_events("g04_with_stack/events_verbose.json", program), events, OPS, "g04")


def test_g04_trace(tmp_path: Path) -> None:
    expected = stored("g04_with_stack/trace_verbose.json")
    trace = trace_of(g04_with_stack.run(torch, verbose=True), tmp_path)
    assert keys_of(trace) == list(expected)
    assert trees.kinds(trace) == trees.kinds(expected)
    check(trees.of_trace(expected), trees.of_trace(trace), TRACES, "the trace of g04")
    for category in ("cpu_op", "python_function"):
        keys = [{key for span in spans_of(one, category) for key in span["args"]} for one in (expected, trace)]
        assert keys[1] - differences.names("Only in our traces") == keys[0], category


def spans_of(trace: dict[str, Any], category: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") == category]


def test_g05_flops() -> None:
    prof = g05_flops.run(torch)
    check(stored_events("g05_flops/events.json"), trees.of_events(prof.events()), OPS, "g05")


def kept(names: list[str]) -> list[str]:
    return [name for name in names if name not in OPS.absent]


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_g06_log_of_two_cycles() -> None:
    expected = [entry for entry in stored("g06_schedule/log.json") if entry["what"] != "warnings"]
    for entry in expected:
        for key in entry.keys() & {"names", "events_after"}:
            entry[key] = kept(entry[key])
        if "keys" in entry:
            entry["keys"] = [row for row in entry["keys"] if row[0] not in OPS.absent]
    assert g06_schedule.run(torch) == expected


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)
def test_g06_accumulated_cycles() -> None:
    """As in torch but in the order of time: its newest cycle is first."""
    expected = [kept(cycle["names"]) for cycle in stored("g06_schedule/acc_events.json")]
    length = len(expected[0])
    starts = [range(0, len(names), length)[::-1] for names in expected]
    in_time = [
        [name for i in each for name in names[i : i + length]] for each, names in zip(starts, expected, strict=True)
    ]
    assert [cycle["names"] for cycle in g06_schedule.run_accumulating(torch)] == in_time


@pytest.mark.parametrize("options", g06_schedule.SCHEDULES, ids=str)
def test_g06_schedules(options: dict[str, int]) -> None:
    assert g06_schedule.truth(torch, options) == stored("g06_schedule/schedule_truth.json")[json.dumps(options)]


def test_g07_metadata(tmp_path: Path) -> None:
    expected, trace = stored("g07_metadata/trace.json"), trace_of(g07_metadata.run(torch), tmp_path)
    assert trace.pop("after_stop") == "late"
    # Torch writes them in the order of a hash.
    assert sorted(keys_of(trace)) == sorted(expected)
    for key in ("json_key", "str_key", "preset_key", "profile_memory", "record_shapes", "with_modules", "with_flops"):
        assert trace[key] == expected[key]
    assert trees.kinds(trace) == trees.kinds(expected)


def test_g08_execution_trace(tmp_path: Path) -> None:
    path = tmp_path / "observed.json"
    prof = g08_observer_overloads_gc.run_observed(torch, str(path))
    expected = stored("g08_modules_execution_trace/execution_trace.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert list(found) == list(expected)
    check(observed(expected), observed(found), Rules(absent=OPS.absent), "the execution trace of g08")
    trace = stored("g08_modules_execution_trace/trace_with_observer.json")
    check(trees.of_trace(trace), trees.of_trace(trace_of(prof, tmp_path)), TRACES, "the trace of g08")


def observed(trace: dict[str, Any]) -> list[Node]:
    """The nodes of an execution trace as a tree, without what is an id."""
    children: dict[int, list[dict[str, Any]]] = {}
    for node in sorted(trace["nodes"], key=lambda node: node["id"]):
        children.setdefault(node["ctrl_deps"], []).append(node)

    def plant(node: dict[str, Any]) -> Node:
        sides = {
            side: {key: node[side][key] for key in ("shapes", "types", "strides")} for side in ("inputs", "outputs")
        }
        attrs = {attr["name"]: attr["value"] for attr in node["attrs"] if attr["name"] in {"scope", "op_schema"}}
        kinds = [(attr["name"], attr["type"]) for attr in node["attrs"]]
        inside = tuple(plant(child) for child in children.get(node["id"], ()) if child is not node)
        return Node(node["name"], {**sides, **attrs, "kinds": kinds}, inside)

    return [plant(node) for node in children[1]]


def test_g08_overloads(tmp_path: Path) -> None:
    trace = trace_of(g08_observer_overloads_gc.run_overloads(torch), tmp_path)
    expected = stored("g08_modules_execution_trace/trace_overloads.json")
    check(trees.of_trace(expected), trees.of_trace(trace), TRACES, "the overloads of g08")


def test_g08_garbage_collection(tmp_path: Path) -> None:
    trace = trace_of(g08_observer_overloads_gc.run_collecting(torch), tmp_path)
    expected = stored("g08_modules_execution_trace/trace_gc.json")
    found = [
        [span for span in spans_of(one, "python_function") if span["name"] == "Python GC"] for one in (expected, trace)
    ]
    assert [sorted(span["args"]) for span in found[0]] == [["Ev Idx"]]
    assert len(found[1]) == 1
    assert "Ev Idx" in found[1][0]["args"]
