"""Threads, asyncio, generators, recursion and re-entry, with annotations and operations in them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    ancestors,
    averages,
    events,
    frames,
    in_thread,
    named,
    names,
    only,
    scope,
    square,
    torch,
)

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_pool_of_threads() -> None:
    def work(number: int) -> int:
        with record_function(f"job {number % 4}"):
            square() @ square()
        return threading.get_native_id()

    with profile() as prof, concurrent.futures.ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(work, range(100)))
    jobs = [event for event in events(prof) if event.is_user_annotation]
    assert len(jobs) == 100
    assert {job["thread_id"] for job in jobs} == ids
    assert all([child.name for child in job.cpu_children] == ["aten::ones"] * 2 + ["aten::matmul"] for job in jobs)
    assert averages(prof)["aten::mm"].count == 100


def test_threads_that_come_and_go_are_told_apart() -> None:
    with profile() as prof:
        for number in range(30):
            in_thread(lambda number=number: scope(f"{number}"))  # type: ignore[misc]
    assert names(prof) == [f"{number}" for number in range(30)]


def test_a_scope_closed_on_another_thread_is_asynchronous() -> None:
    with profile() as prof:
        moved = record_function("moved")
        moved.__enter__()
        in_thread(lambda: moved.__exit__(None, None, None))
        square()
    assert only(named(prof, "moved")).is_async
    assert only(named(prof, "aten::ones")).cpu_parent is None


def test_a_backward_pass_on_another_thread_is_linked_to_its_forward_pass() -> None:
    with profile() as prof:
        loss = (torch.ones(2, requires_grad=True) * 2).sum()
        in_thread(loss.backward)
    forward, backward = named(prof, "aten::mul")[0], only(named(prof, "MulBackward0"))
    assert forward.sequence_nr == backward.sequence_nr >= 0
    assert backward.fwd_thread == forward.thread != backward.thread


def test_a_task_that_waits_is_one_span_to_its_end() -> None:
    @record_function("fetch")
    async def fetch(name: str) -> None:
        scope(f"{name} before")
        await asyncio.sleep(0)
        scope(f"{name} after")

    async def main() -> None:
        await asyncio.gather(fetch("a"), fetch("b"))

    with profile() as prof:
        asyncio.run(main())
    assert len(named(prof, "fetch")) == 2
    own = {
        id_of(event.cpu_parent): [child.name for child in event.cpu_parent.cpu_children]
        for event in events(prof)
        if event.name.endswith("after")
    }
    assert sorted(own.values()) == [["a before", "a after"], ["b before", "b after"]]


def id_of(event: Any) -> int:
    number: int = event["correlation_id"]
    return number


def test_a_task_group_inside_a_scope_belongs_to_the_scope() -> None:
    async def leaf(name: str) -> None:
        with record_function(name):
            await asyncio.sleep(0)
            square()

    async def main() -> None:
        with record_function("main"):
            await asyncio.gather(leaf("a"), leaf("b"))
            scope("last")

    with profile() as prof:
        asyncio.run(main())
    assert {event.cpu_parent.name for event in named(prof, "aten::ones")} == {"a", "b"}
    assert only(named(prof, "last")).cpu_parent.name == "main"
    assert len(named(prof, "aten::ones")) == 2


def test_a_cancelled_task_ends_its_scope() -> None:
    async def forever() -> None:
        with record_function("forever"):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(forever())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        scope("after")

    with profile() as prof:
        asyncio.run(main())
    assert only(named(prof, "forever")).is_finished
    assert only(named(prof, "after")).cpu_parent is None


def test_work_given_to_a_thread_by_a_task() -> None:
    def work() -> None:
        scope("in the thread")

    async def main() -> None:
        with record_function("task"):
            await asyncio.to_thread(work)

    with profile() as prof:
        asyncio.run(main())
    there, task = only(named(prof, "in the thread")), only(named(prof, "task"))
    assert there["thread_id"] != task["thread_id"]
    assert task.is_finished
    assert not task.is_async


def test_a_scope_in_a_copied_context_belongs_to_its_thread() -> None:
    with profile() as prof, record_function("outer"):
        context = contextvars.copy_context()
        context.run(scope, "same thread")
        in_thread(lambda: context.run(scope, "other thread"))
    assert only(named(prof, "same thread")).cpu_parent.name == "outer"
    assert only(named(prof, "other thread")).cpu_parent is None


def test_generators_that_take_turns_inside_scopes() -> None:
    def produce(name: str) -> Iterator[None]:
        with record_function(name):
            scope(f"{name} 1")
            yield
            scope(f"{name} 2")

    with profile() as prof:
        for _ in zip(produce("a"), produce("b"), strict=False):
            scope("consumer")
    assert all(event.is_finished for event in events(prof))
    found = {event.name: event for event in events(prof)}
    assert set(found) >= {"a", "b", "a 1", "b 1", "consumer"}
    assert found["a 1"].cpu_parent.name == "a"
    assert found["b 1"].cpu_parent.name == "b"


def test_a_generator_that_is_never_finished_ends_with_the_recording() -> None:
    def produce() -> Iterator[None]:
        with record_function("produce"):
            yield

    generator = produce()
    with profile() as prof:
        next(generator)
    assert not only(named(prof, "produce")).is_finished
    generator.close()  # type: ignore[attr-defined]
    assert not only(named(prof, "produce")).is_finished


def test_recursion_of_decorated_functions() -> None:
    @record_function("call")
    def call(depth: int) -> None:
        for _ in range(2 if depth else 0):
            call(depth - 1)

    with profile() as prof:
        call(6)
    assert averages(prof)["call"].count == 2**7 - 1
    deepest = [event for event in events(prof) if len(ancestors(event)) == 6]
    assert len(deepest) == 2**6


def test_an_exception_ends_every_scope_it_passes() -> None:
    with profile(with_stack=True) as prof:
        with contextlib.suppress(KeyError), record_function("a"), record_function("b"):
            raise KeyError
        scope("after")
    assert all(only(named(prof, name)).is_finished for name in "ab")
    assert "a" not in ancestors(only(named(prof, "after")))


def test_frames_end_when_an_exception_leaves_them() -> None:
    def fails() -> None:
        raise KeyError

    def catches() -> None:
        with contextlib.suppress(KeyError):
            fails()
        inside()

    def inside() -> None:
        pass

    with profile(with_stack=True) as prof:
        catches()
    by_name = {frame.name.rsplit(": ", 1)[-1]: frame for frame in frames(prof)}
    assert by_name["inside"].cpu_parent == by_name["catches"]
    assert by_name["fails"].is_finished


def test_frames_of_generators_are_there_each_time_they_run() -> None:
    def produce() -> Iterator[int]:
        yield 1
        yield 2

    with profile(with_stack=True) as prof:
        assert list(produce()) == [1, 2]
    assert len([frame for frame in frames(prof) if frame.name.endswith(": produce")]) == 3


def test_recursion_to_the_limit_under_a_stack_profiler() -> None:
    def dive() -> int:
        try:
            return 1 + dive()
        except RecursionError:
            return 0

    with profile(with_stack=True) as prof:
        depth = dive()
    found = [frame for frame in frames(prof) if frame.name.endswith(": dive")]
    assert len(found) >= depth > 100


@pytest.mark.parametrize("threads", [1, 3])
def test_every_event_ends_inside_its_parent(threads: int) -> None:
    def work() -> None:
        for number in range(20):
            with record_function(f"outer {number}"):
                (torch.ones(3, requires_grad=True) * 2).sum().backward()

    prof = profile(with_stack=True, record_shapes=True, profile_memory=True)
    with prof, concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(threads):
            pool.submit(work)
    found = events(prof)
    assert sum(event.is_user_annotation for event in found) == 20 * threads
    for event in found:
        parent = event.cpu_parent
        if parent is not None:
            assert parent["start_ns"] <= event["start_ns"]
            assert event["end_ns"] <= parent["end_ns"]
            assert parent.thread == event.thread
            assert event in parent.cpu_children
