"""Threads, and processes that are forked, in which PyTorch works."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler.support import in_child, in_thread
from tests.torch.bridge.both import NO_OVERLOADS, facts, ours_on_cpu, theirs_on_cpu
from tests.torch.bridge.processes import run

if TYPE_CHECKING:
    from mindtorch_v2.profiler import profile

ONES = ["aten::ones", "aten::empty", "aten::fill_"]
# A process with threads that forks is told so from Python 3.12 on.
FORK = "ignore:.*multi-threaded, use of fork:DeprecationWarning"


def names(prof: profile) -> list[str]:
    return [event.name for event in prof.events()]


def by_thread(prof: Any) -> dict[int, list[str]]:
    threads: dict[int, list[str]] = {}
    for event in prof.events():
        threads.setdefault(event.thread, []).append(event.name)
    return threads


def test_other_threads_are_recorded() -> None:
    with ours_on_cpu(record_shapes=True) as prof:
        torch.ones(1)
        for size in range(2, 5):
            in_thread(lambda size=size: torch.ones(size))
    assert list(by_thread(prof).values()) == [ONES] * 4
    assert [event.concrete_inputs[0] for event in prof.events() if event.name == "aten::ones"] == [[1], [2], [3], [4]]


def test_threads_that_were_there_before_are_recorded() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        torch.zeros(1)
        go.wait()
        torch.ones(1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with ours_on_cpu() as prof:
        go.set()
        done.wait()
    thread.join()
    assert names(prof)[-3:] == ONES


def test_many_threads_that_end() -> None:
    """Each leaves what it did, and its numbers are nobody else's."""

    def work() -> None:
        with torch.profiler.record_function("work"):
            torch.ones(1)

    with ours_on_cpu() as prof:
        for _ in range(10):
            threads = [threading.Thread(target=work) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert Counter(map(tuple, by_thread(prof).values())) == {("work", *ONES): 200}
    assert all(event.is_finished for event in prof.events())


def test_starting_and_stopping_while_others_work() -> None:
    """Each recording has whole operators only: what is inside of one is never without it, but at the edges."""
    leave = threading.Event()

    def work() -> None:
        while not leave.is_set():
            torch.ones(2, 3)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        profiles = []
        for number in range(40):
            with ours_on_cpu(record_shapes=number % 2 == 0, profile_memory=number % 3 == 0) as prof:
                torch.zeros(1)
            profiles.append(prof)
    finally:
        leave.set()
        for thread in threads:
            thread.join()
    for number, prof in enumerate(profiles):
        whole = [event for event in prof.events() if event.name == "aten::ones" and event.is_finished]
        whole = [event for event in whole if not event.is_cut_at_start]
        assert {tuple(child.name for child in event.cpu_children) for event in whole} <= {
            ("aten::empty", "aten::fill_")
        }
        if number % 2 == 0:
            assert {str(event.concrete_inputs[0]) for event in whole if event.concrete_inputs} <= {"[2, 3]"}
        else:
            assert not any(event.concrete_inputs for event in whole)
        assert "aten::zeros" in names(prof)


@pytest.mark.filterwarnings(FORK)
def test_a_forked_child_can_be_recorded_by_theirs() -> None:
    def child() -> None:
        with theirs_on_cpu(profile_memory=True) as theirs:
            torch.ones(1)
        assert [event.name for event in theirs.events()][:3] == ONES

    with ours_on_cpu(profile_memory=True):
        torch.zeros(1)
        assert in_child(child) == 0


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_nothing_is_missed_when_another_wants_more_or_no_longer() -> None:
    """One observer takes the other's place while a thread works that waits for nobody, not even for the interpreter."""
    turns = 50_000

    @torch.jit.script
    def work(x: torch.Tensor, turns: int) -> torch.Tensor:
        for _ in range(turns):
            x = x + 1
        return x

    work(torch.ones(1), 3)
    thread = threading.Thread(target=work, args=(torch.ones(1), turns))
    changes = 0
    with ours_on_cpu() as prof:
        thread.start()
        while thread.is_alive():
            with ours_on_cpu(record_shapes=True):
                changes += 1
        thread.join()
    found = Counter(names(prof))
    assert (found["aten::add"], found["work"]) == (turns, 1)
    assert changes > 20


def test_a_thread_that_ends_in_the_middle_of_a_scope() -> None:
    with ours_on_cpu() as prof:
        in_thread(torch.profiler.record_function("open").__enter__)
        torch.ones(1)
    assert names(prof) == ["open", *ONES]


def test_a_scope_that_ends_on_another_thread() -> None:
    scope = torch.profiler.record_function("scope")
    with ours_on_cpu() as prof:
        scope.__enter__()
        torch.ones(1)
        in_thread(lambda: scope.__exit__(None, None, None))
        torch.zeros(1)
    events = {event.name: event for event in prof.events()}
    assert events["scope"].is_finished
    assert events["scope"].is_async
    assert events["scope"].time_range.end <= events["aten::zeros"].time_range.start
    assert events["scope"].thread == events["aten::ones"].thread


@pytest.mark.skipif(NO_OVERLOADS, reason="this version cannot record all threads")
def test_backward_on_another_thread() -> None:
    """Nodes know the thread of their operators, here as in torch's, which sees one thread only unless it is asked."""
    every_thread = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    values = torch.ones(3, requires_grad=True)

    def forward_here_and_backward_there() -> None:
        total = values.exp().sum()
        in_thread(total.backward)

    forward_here_and_backward_there()
    with ours_on_cpu() as prof, theirs_on_cpu(experimental_config=every_thread) as theirs:
        forward_here_and_backward_there()
    assert facts(prof) == facts(theirs)
    node = next(event for event in prof.events() if event.name == "ExpBackward0")
    forward = next(event for event in prof.events() if event.name == "aten::exp")
    assert (node.fwd_thread, node.sequence_nr) == (forward.thread, forward.sequence_nr)
    assert node.thread != forward.thread


def negated(values: torch.Tensor) -> torch.Tensor:
    return values.neg()


def forking(values: torch.Tensor) -> torch.Tensor:
    future = torch.jit.fork(negated, values)
    return values.exp() + torch.jit.wait(future)


@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
def test_work_on_threads_of_pytorchs_own() -> None:
    scripted, values = torch.jit.script(forking), torch.ones(1000)
    scripted(values)
    with ours_on_cpu(profile_memory=True) as prof:
        scripted(values)
    here, there = (next(event for event in prof.events() if event.name == name) for name in ("aten::exp", "aten::neg"))
    assert here.thread != there.thread
    assert (here.cpu_memory_usage, there.cpu_memory_usage) == (4000, 4000)
    # A thread that has handed over its result may not have ended its scope yet, which others would see.
    while names(recording_of_nothing()):
        pass


def recording_of_nothing() -> profile:
    with ours_on_cpu() as prof:
        pass
    return prof


@pytest.mark.filterwarnings(FORK)
def test_a_forked_child_records_for_itself() -> None:
    def child() -> None:
        torch.zeros(1)
        with ours_on_cpu(record_shapes=True) as prof:
            torch.ones(5)
        assert names(prof) == ONES
        assert prof.events()[0].concrete_inputs[0] == [5]

    with ours_on_cpu() as prof:
        torch.ones(1)
        assert in_child(child) == 0
        torch.ones(1)
    assert names(prof) == ONES * 2


@pytest.mark.filterwarnings(FORK)
def test_threads_of_a_forked_child_are_not_its_parents() -> None:
    """They are where those of the parent are in the parent, which go on there."""
    ready, go = threading.Barrier(5), threading.Event()

    def work() -> None:
        torch.ones(1)
        ready.wait()
        go.wait()
        torch.ones(1)

    def child() -> None:
        with ours_on_cpu(record_shapes=True, profile_memory=True) as prof:
            for size in range(1, 9):
                in_thread(lambda size=size: torch.ones(size))
        ones = [event for event in prof.events() if event.name == "aten::ones"]
        assert [event.concrete_inputs[0] for event in ones] == [[size] for size in range(1, 9)]
        assert [event.cpu_memory_usage for event in ones] == [4 * size for size in range(1, 9)]

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    with ours_on_cpu() as prof:
        for thread in threads:
            thread.start()
        ready.wait()
        assert in_child(child) == 0
        go.set()
        for thread in threads:
            thread.join()
    assert list(by_thread(prof).values()) == [ONES * 2] * 4


# PyTorch refuses to run autograd in a child whose parent's had threads, which it has for GPUs.
NODE_IN_CHILD = """
import torch
from tests.profiler.support import in_child, in_thread
from tests.torch.bridge.both import ours_on_cpu

values = torch.ones(3, requires_grad=True)

def forward_and_back():
    with ours_on_cpu() as prof:
        for _ in range(2):
            out = values.exp()
            in_thread(out.sum().backward)
    events = list(prof.events())
    forward, node = (next(event for event in events if event.name == name) for name in ("aten::exp", "ExpBackward0"))
    assert node.thread != node.fwd_thread == forward.thread

in_thread(forward_and_back)
forward_and_back()
print(in_child(forward_and_back))
"""


def test_a_node_in_a_child_is_of_an_operator_of_a_thread_of_the_child() -> None:
    """The thread of the operator had another number in the parent, where others came before it."""
    output, _ = run(NODE_IN_CHILD, CUDA_VISIBLE_DEVICES="")
    assert output == ["0"]


@pytest.mark.filterwarnings(FORK)
def test_a_child_of_a_process_that_does_not_record() -> None:
    with ours_on_cpu():
        torch.ones(1)

    def child() -> None:
        with ours_on_cpu() as prof:
            torch.ones(1)
        assert names(prof) == ONES

    assert in_child(child) == 0


@pytest.mark.filterwarnings(FORK)
def test_a_child_with_memory() -> None:
    """Its parent's recording goes on, and is not the child's."""

    def child() -> None:
        kept = torch.zeros(1000)
        with ours_on_cpu(profile_memory=True) as prof:
            kept = torch.ones(1000)
        del kept
        assert [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"] == [4000]
        with theirs_on_cpu(profile_memory=True) as theirs:
            torch.ones(1000)
        assert "aten::ones" in [event.name for event in theirs.events()]

    with ours_on_cpu(profile_memory=True) as prof:
        assert in_child(child) == 0
        kept = torch.ones(500)
    del kept
    assert [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"] == [2000]


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    """Each worker makes its own recording and hands over what it saw."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        with ours_on_cpu() as prof:
            torch.ones(index + 1)
        return torch.tensor(len(list(prof.events())))


@pytest.mark.filterwarnings(FORK)
def test_workers_of_a_loader_record_for_themselves() -> None:
    with ours_on_cpu() as prof:
        batches = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2)
        assert torch.cat(list(batches)).tolist() == [3, 3, 3, 3]
    # What they do is not in their parent's.
    assert "aten::ones" not in names(prof)
    assert any("DataLoader" in name for name in names(prof))
