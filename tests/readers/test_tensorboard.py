"""TensorBoard's plugin for PyTorch shows of our files what it shows of torch's."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.compare import Node, check
from tests.readers import trees
from tests.readers.conftest import CUDA
from tests.readers.files import compressed, events_of, parsed
from tests.readers.programs import PROGRAMS, STEPS
from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader

if TYPE_CHECKING:
    from tests.readers.conftest import Traces
    from torch_tb_profiler.run import Run, RunProfile


@pytest.fixture(scope="module")
def runs(traces: Traces, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """What the plugin made of each directory, in processes of its own."""
    cache = io.Cache(str(tmp_path_factory.mktemp("cache")))
    directories = {library: getattr(traces, library) / "tensorboard" for library in ("torch", "ours", "npu")}
    directories["cuda"] = tmp_path_factory.mktemp("cuda")
    for path in CUDA.iterdir():
        shutil.copy(path, directories["cuda"] / path.name.replace(".json", ".1.pt.trace.json"))
    return {name: RunLoader(name, str(path), cache).load() for name, path in directories.items()}


def profile_of(runs: dict[str, Run], library: str, program: str) -> RunProfile:
    return runs[library].get_profile(program, "1")


def test_workers_are_found(runs: dict[str, Run]) -> None:
    for library in ("torch", "ours", "npu"):
        assert runs[library].workers == sorted(PROGRAMS)
        assert runs[library].get_spans("steps") == ["1"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_have_the_same_views(runs: dict[str, Run], program: str) -> None:
    theirs, ours = (profile_of(runs, library, program) for library in ("torch", "ours"))
    assert ours.views == theirs.views


def tree_of(profile: RunProfile) -> list[Node]:
    """Steps, operators and modules as it nests them, thread by thread."""

    def grown(node: Any) -> Node:
        is_shown = type(node).__name__ in {"OperatorNode", "ProfilerStepNode", "ModuleNode"}
        return Node(node.name if is_shown else "", {}, tuple(map(grown, node.children)))

    roots = sorted(profile.tid2tree.values(), key=lambda root: root.start_time)
    return [grown(child) for root in roots for child in root.children]


@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_nest_alike(runs: dict[str, Run], program: str) -> None:
    theirs, ours = (profile_of(runs, library, program) for library in ("torch", "ours"))
    check(tree_of(theirs), tree_of(ours), trees.RULES, program)


@pytest.mark.parametrize("library", ["ours", "npu"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_are_counted(runs: dict[str, Run], traces: Traces, program: str, library: str) -> None:
    """By name. An operator alone in one of its name is one call."""
    events = events_of(compressed(getattr(traces, library), program))
    rows = profile_of(runs, library, program).operation_table_by_name["data"]
    found = {row["name"]: row["calls"] for row in rows}
    assert found == Counter(event["name"] for event in events if event.get("cat") == "cpu_op")


@pytest.mark.parametrize("library", ["torch", "ours", "npu"])
def test_steps_have_their_times(runs: dict[str, Run], traces: Traces, library: str) -> None:
    events = events_of(compressed(getattr(traces, library), "steps"))
    steps = {
        event["name"].removeprefix("ProfilerStep#"): event["dur"]
        for event in events
        if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"
    }
    table = profile_of(runs, library, "steps").overview["steps"]
    kinds = [number for number, column in enumerate(table["columns"]) if column["type"] == "number"]
    assert [row[0] for row in table["rows"]] == list(steps) == [str(2 + number) for number in range(STEPS)]
    for row in table["rows"]:
        # A step lasts until the last of its kernels has ended.
        total = sum(row[kind] for kind in kinds)
        assert total == pytest.approx(steps[row[0]], abs=0.01) if library != "npu" else total >= steps[row[0]] - 0.01


def test_modules_are_shown(runs: dict[str, Run]) -> None:
    def shape(stats: list[Any]) -> list[tuple[Any, ...]]:
        return [(each.name, each.occurences, each.operators, shape(each.children)) for each in stats]

    for program in ("adam", "stacks"):
        theirs, ours = (profile_of(runs, library, program) for library in ("torch", "ours"))
        assert shape(ours.module_stats) == shape(theirs.module_stats)
        assert ours.module_stats


@pytest.mark.parametrize(("library", "device"), [("torch", "CPU"), ("ours", "CPU"), ("cuda", "GPU0"), ("npu", "GPU0")])
def test_memory_is_shown(runs: dict[str, Run], library: str, device: str) -> None:
    profile = profile_of(runs, library, "adam")
    curve = profile.get_memory_curve()
    assert device in curve["metadata"]["devices"]
    assert curve["rows"][device]
    assert profile.get_memory_events()["rows"][device]
    rows = {row[0]: row[1:] for row in profile.get_memory_stats()["rows"][device]}
    # Calls, growth, growth of its own, allocations, of its own, their kilobytes, of its own.
    assert rows["aten::zeros"] == [1, 256.0, 0.0, 1, 0, 256.0, 0.0]
    assert rows["aten::tanh"] == [2, 4.0, 4.0, 2, 2, 4.0, 4.0]


def test_both_devices_have_the_same_allocations(runs: dict[str, Run]) -> None:
    theirs, ours = (
        profile_of(runs, library, "adam").get_memory_events()["rows"]["GPU0"] for library in ("cuda", "npu")
    )
    # The operator, the kilobytes, and whether they were freed.
    assert Counter((row[1], row[3] is None) for row in ours) == Counter((row[1], row[3] is None) for row in theirs)


def test_kernels_are_shown(runs: dict[str, Run], traces: Traces) -> None:
    profile = profile_of(runs, "npu", "steps")
    events = events_of(compressed(traces.npu, "steps"))
    rows = profile.kernel_table["data"]["rows"]
    kernels = Counter(event["name"] for event in events if event.get("cat") == "kernel")
    assert {row[0]: row[2] for row in rows} == kernels
    assert profile.has_memcpy_or_memset


def test_the_device_is_named(runs: dict[str, Run], traces: Traces) -> None:
    """From deviceProperties."""
    (properties,) = parsed(compressed(traces.npu, "steps"))["deviceProperties"]
    summary = {row["title"].strip(): row["value"] for row in profile_of(runs, "npu", "steps").gpu_summary}
    assert summary["Name"] == properties["name"]
    assert summary["Memory"] == f"{round(properties['totalGlobalMem'] / 1024**3, 2)} GB"


def test_no_span_is_refused(runs: dict[str, Run], traces: Traces) -> None:
    """Those that overlap are left out of its trees."""

    def number(node: Any) -> int:
        return 1 + sum(map(number, node.children))

    for library in ("ours", "npu"):
        for program in ("sgd", "threads", "steps"):
            shown = sum(number(root) - 1 for root in profile_of(runs, library, program).tid2tree.values())
            events = events_of(compressed(getattr(traces, library), program))
            names = Counter(event["name"] for event in events if event.get("cat") == "cpu_op")
            steps = sum(event["name"].startswith("ProfilerStep#") for event in events)
            assert shown == names.total() + steps
