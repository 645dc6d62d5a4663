"""What a killed program has to have left, by its own log."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.faults.kill_program import ROUNDS, STEPS, THREADS, Log, Phase

if TYPE_CHECKING:
    from mindtorch_v2.autograd.profiler_util import FunctionEvent
    from mindtorch_v2.profiler._trace import RecoveredTrace

NOT_STOPPED = re.compile(r"the recording was not stopped(; the log breaks off at byte \d+, bytes not readable: \d+)?")
"""A kill ends a write to the log where a page ends: the entry is torn, and nothing refers to it yet."""
STEP = "ProfilerStep"


def last_round(log: Log) -> tuple[int, Phase]:
    """Return the number of the last recording that was begun, and how far it came."""
    begun = [number for number in range(ROUNDS) if log.phase(number) is not Phase.ABSENT]
    number = begun[-1] if begun else 0
    return number, log.phase(number)


def check(log: Log, traces: list[RecoveredTrace], unreadable: list[str]) -> None:
    """Compare what was recovered, and what was warned of, with the log."""
    number, phase = last_round(log)
    # Files are made, and removed, one after another.
    may_be_partial = phase in {Phase.STARTING, Phase.DROPPING}
    has_files = phase in {Phase.RECORDING, Phase.STOPPING, Phase.STOPPED}
    found = len(traces) + len(unreadable)
    assert found == 1 if has_files else found <= may_be_partial
    assert may_be_partial or not unreadable, unreadable
    for trace in traces:
        assert phase <= Phase.STOPPING if trace.missing else phase >= Phase.STOPPING
        assert trace.missing is None or NOT_STOPPED.fullmatch(trace.missing)
        assert trace.lost_events == 0
        check_events(trace, log.finished(number), log.steps(number))


def check_events(trace: RecoveredTrace, logged: list[int], steps: int) -> None:
    by_thread: dict[int, list[FunctionEvent]] = defaultdict(list)
    for event in trace.events():
        if not event.name.startswith(STEP):
            by_thread[event.thread].append(event)
    seen = [0] * THREADS
    for events in by_thread.values():
        check_nesting(events)
        thread = int(events[0].name.partition(".")[0])
        assert seen[thread] == 0, "two threads have the same scopes"
        seen[thread] = check_thread(events, thread, logged[thread])
    missing = [thread for thread in range(THREADS) if logged[thread] > 0 and not seen[thread]]
    assert not missing, "threads that had finished scopes are not there"
    check_steps([event for event in trace.events() if event.name.startswith(STEP)], steps)


def check_nesting(events: list[FunctionEvent]) -> None:
    """Check that spans begin in order of time, and end within what they were begun in."""
    latest = 0.0
    for event in events:
        begin, end = event.time_range.start, event.time_range.end
        assert latest <= begin <= end
        latest = begin
        parent = event.cpu_parent
        if parent is not None and not parent.name.startswith(STEP):
            assert parent.time_range.start <= begin
            assert end <= parent.time_range.end
            assert event.is_finished or not parent.is_finished


def check_thread(events: list[FunctionEvent], thread: int, logged: int) -> int:
    """Check a thread's events against the number of scopes that it has logged, and return how many it has begun."""
    outer = [event for event in events if "." in event.name]
    names = [event.name for event in outer]
    assert names == [f"{thread}.{number}" for number in range(len(outer))]
    finished = [event.is_finished for event in outer]
    # The last may be in the making, or finished and not yet in the log.
    assert all(finished[:-1])
    assert logged <= sum(finished) <= len(outer) <= logged + 1
    # Each has a scope and an operator in it, but for the last, which may not have come so far.
    expected = [name for scope in names for name in (scope, "inner", "aten::add")]
    found = [event.name for event in events]
    assert found == expected[: len(found)]
    assert len(found) >= 3 * sum(finished)
    for scope, inner, operator in zip(events[0::3], events[1::3], events[2::3], strict=False):
        parents = inner.cpu_parent, operator.cpu_parent
        assert [parent and parent.id for parent in parents] == [scope.id, inner.id]
        assert operator.input_shapes[:2] == [[2, 3], [2, 3]]
        # 24 bytes for the result, unless it was killed before that, which are freed in the scope.
        assert operator.cpu_memory_usage == 24 or not operator.is_finished
        assert scope.cpu_memory_usage == 0 or not scope.is_finished
    return len(outer)


def check_steps(events: list[FunctionEvent], logged: int) -> None:
    assert [event.trace_name for event in events] == [f"{STEP}#{number}" for number in range(len(events))]
    finished = sum(event.is_finished for event in events)
    assert logged <= finished <= min(logged + 1, STEPS + 1)
