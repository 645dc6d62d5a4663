"""What torch's profiler does badly and ours well: threads, tasks, and spans cut by the window."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import events, frames, in_thread, named, names, only, scope, spans, square, torch, trace_of

from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS = pytest.mark.parametrize(
    "config", [None, _ExperimentalConfig(profile_all_threads=True)], ids=["default", "profile_all_threads"]
)


def test_defect_24_a_profiler_may_be_started_on_one_thread_and_stopped_on_another(tmp_path: Path) -> None:
    prof = profile()
    in_thread(prof.start)
    scope("work")
    prof.stop()
    assert names(prof) == ["work"]
    assert len(spans(trace_of(prof, tmp_path))) == 1


def test_defect_24_every_call_may_come_from_another_thread() -> None:
    prof = profile()
    for call in (prof.start, lambda: scope("a"), prof.step, lambda: scope("b"), prof.stop):
        in_thread(call)
    assert [(event.name, event["step"]) for event in events(prof)] == [("a", 0), ("b", 1)]


def test_defect_24_the_thread_that_started_may_be_gone_with_stacks_and_memory() -> None:
    prof = profile(with_stack=True, profile_memory=True)
    in_thread(prof.start)
    kept = square()
    in_thread(prof.stop)
    event = only(named(prof, "aten::ones"))
    assert any("test_defects_threads" in frame for frame in event.stack)
    assert event.cpu_memory_usage == 64
    del kept


@CONFIGS
def test_defect_25_all_threads_are_recorded(config: Any) -> None:
    def work() -> None:
        with record_function("worker"):
            square()

    with profile(experimental_config=config) as prof:
        in_thread(work)
    assert only(named(prof, "worker")).cpu_children == [only(named(prof, "aten::ones"))]


def test_defect_25_threads_from_before_the_start_are_recorded() -> None:
    ready, go = threading.Event(), threading.Event()

    def work() -> None:
        scope("warm")
        ready.set()
        go.wait()
        scope("early thread")

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    with profile() as prof:
        go.set()
        thread.join()
    assert names(prof) == ["early thread"]


@CONFIGS
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "on another thread"])
def test_defect_26_memory_is_attributed_in_every_mode(config: Any, elsewhere: bool) -> None:
    kept = []
    with profile(profile_memory=True, experimental_config=config) as prof:
        if elsewhere:
            in_thread(lambda: kept.append(torch.ones(1 << 18)))
        else:
            kept.append(torch.ones(1 << 18))
    assert only(named(prof, "aten::empty")).cpu_memory_usage == 1 << 20
    assert only(named(prof, "aten::ones")).cpu_memory_usage == 1 << 20


def test_defect_26_memory_of_one_thread_is_not_that_of_an_op_on_another() -> None:
    barrier = threading.Barrier(2)
    kept: list[Any] = []

    def work() -> None:
        barrier.wait()
        kept.append(torch.ones(1 << 18))
        barrier.wait()

    thread = threading.Thread(target=work)
    thread.start()
    with profile(profile_memory=True) as prof:
        with record_function("waiting"):
            barrier.wait()
            barrier.wait()
        thread.join()
    assert only(named(prof, "waiting")).self_cpu_memory_usage == 0
    assert only(named(prof, "aten::ones")).cpu_memory_usage == 1 << 20


@CONFIGS
def test_defect_27_threads_are_traced_from_their_birth(config: Any) -> None:
    def inner() -> None:
        square()

    def work() -> None:
        inner()

    with profile(with_stack=True, experimental_config=config) as prof:
        in_thread(work)
    op = only(named(prof, "aten::ones"))
    own = [frame.name for frame in frames(prof) if frame.thread == op.thread]
    assert any(name.endswith(": inner") for name in own)
    assert any(name.endswith(": work") for name in own)
    assert [frame.rsplit(": ", 1)[1] for frame in op.stack if frame.endswith((": inner", ": work"))] == [
        "inner",
        "work",
    ]


def test_defect_27_threads_from_before_the_start_are_traced() -> None:
    ready, go = threading.Event(), threading.Event()

    def inner() -> None:
        square()

    def work() -> None:
        ready.set()
        go.wait()
        inner()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    with profile(with_stack=True) as prof:
        go.set()
        thread.join()
    op = only(named(prof, "aten::ones"))
    assert any(frame.endswith(": inner") for frame in op.stack)
    assert any(frame.endswith(": work") for frame in op.stack)


def test_defect_32_ops_belong_to_the_annotation_of_their_task() -> None:
    matrix = square()

    async def task(number: int) -> None:
        with record_function(f"task{number}"):
            # The others take their turns, the later ones more of them.
            for _ in range(number + 1):
                await asyncio.sleep(0)
            matrix + matrix

    async def main() -> None:
        await asyncio.gather(*[task(number) for number in range(3)])

    with profile() as prof:
        asyncio.run(main())
    parents = [event.cpu_parent and event.cpu_parent.name for event in named(prof, "aten::add")]
    assert parents == ["task0", "task1", "task2"]


def test_defect_32_tasks_that_end_in_another_order_than_they_began() -> None:
    matrix = square()

    async def task(number: int, gates: list[asyncio.Event]) -> None:
        with record_function(f"task{number}"):
            await gates[number].wait()
            matrix + matrix
            with record_function(f"inside{number}"):
                await asyncio.sleep(0)
                matrix + matrix

    async def main() -> None:
        gates = [asyncio.Event() for _ in range(3)]
        tasks = [asyncio.ensure_future(task(number, gates)) for number in range(3)]
        await asyncio.sleep(0)
        for number in (1, 0, 2):
            gates[number].set()
        await asyncio.gather(*tasks)

    with profile() as prof:
        asyncio.run(main())
    found = sorted(event.cpu_parent.name for event in named(prof, "aten::add"))
    assert found == ["inside0", "inside1", "inside2", "task0", "task1", "task2"]
    for number in range(3):
        assert only(named(prof, f"inside{number}")).cpu_parent.name == f"task{number}"


WAYS: dict[str, Any] = {
    "operator": lambda matrix: matrix + 1,
    "product": lambda matrix: matrix @ matrix,
    "comparison": lambda matrix: matrix == 1,
    "negation": lambda matrix: -matrix,
    "index": lambda matrix: matrix[0],
    "assignment": lambda matrix: matrix.__setitem__(0, 1.0),
    "attribute": lambda matrix: matrix.T,
    "method": lambda matrix: matrix.exp(),
    "function": torch.exp,
    "value": lambda matrix: matrix[0, 0].item(),
    "copy": lambda matrix: matrix.to("npu"),
    "network": torch.nn.functional.relu,
}


@pytest.mark.parametrize("way", WAYS)
def test_defect_32_whichever_way_an_op_is_called(way: str) -> None:
    matrix = square()

    async def task(number: int, gate: asyncio.Event) -> None:
        with record_function(f"task{number}"):
            await gate.wait()
            WAYS[way](matrix)

    async def main() -> None:
        gates = [asyncio.Event() for _ in range(2)]
        tasks = [asyncio.ensure_future(task(number, gate)) for number, gate in enumerate(gates)]
        await asyncio.sleep(0)
        for gate in gates:
            gate.set()
        await asyncio.gather(*tasks)

    with profile(activities=["CPU"]) as prof:
        asyncio.run(main())
    inside = [[child.name for child in only(named(prof, f"task{number}")).cpu_children] for number in range(2)]
    assert inside[0] == inside[1] != []


def test_defect_33_an_annotation_open_at_the_start_is_shown_from_the_start(tmp_path: Path) -> None:
    outer = record_function("outer")
    with profile():
        outer.__enter__()
        with profile() as prof:
            scope("inside")
            outer.__exit__(None, None, None)
            scope("after")
    event = only(named(prof, "outer"))
    assert event.is_cut_at_start
    assert event["start_ns"] == 0
    assert only(named(prof, "inside")).cpu_parent == event
    assert only(named(prof, "after")).cpu_parent is None
    assert [span["name"] for span in spans(trace_of(prof, tmp_path))] == ["outer", "inside", "after"]


def test_defect_33_an_annotation_opened_with_no_profiler_running_is_shown_too() -> None:
    with record_function("outer"), profile() as prof:
        square()
    assert names(prof)[0] == "outer"
    outer = events(prof)[0]
    assert outer.is_cut_at_start
    assert not outer.is_finished


def test_defect_34_an_annotation_open_at_the_stop_has_one_duration(tmp_path: Path) -> None:
    opened = record_function("open")
    with profile() as prof:
        opened.__enter__()
        square()
    event = only(named(prof, "open"))
    span = only(span for span in spans(trace_of(prof, tmp_path)) if span["name"] == "open")
    assert not event.is_finished
    assert span["args"]["finished"] is False
    assert round(span["dur"] * 1000) == event["duration_ns"] == round(event.cpu_time_total * 1000)
    opened.__exit__(None, None, None)
    assert only(named(prof, "open"))["duration_ns"] == event["duration_ns"]


def test_defect_34_a_finished_annotation_is_not_flagged(tmp_path: Path) -> None:
    with profile() as prof:
        scope("done")
    assert events(prof)[0].is_finished
    assert "finished" not in only(spans(trace_of(prof, tmp_path)))["args"]


def test_defect_34_open_annotations_of_other_threads_end_at_the_stop() -> None:
    entered, go = threading.Event(), threading.Event()

    def work() -> None:
        with record_function("elsewhere"):
            entered.set()
            go.wait()

    thread = threading.Thread(target=work)
    with profile() as prof:
        thread.start()
        entered.wait()
    go.set()
    thread.join()
    event = only(named(prof, "elsewhere"))
    assert not event.is_finished
    assert event["duration_ns"] >= 0
