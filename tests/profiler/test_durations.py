"""Durations: scopes, functions, operators and device work last as long as the clock moves while they run.

Each test runs in a process of its own, on a clock that the test moves, so that durations are known exactly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.manual_clock import with_manual_clock
from tests.profiler.support import averages, in_thread, named, spans, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

    from mindtorch_v2._core import _ManualClock as ManualClock

ROUNDS = 5


def duration_ns(event: Any) -> int:
    us: float = event.time_range.elapsed_us()
    return round(us * 1000)


@dataclass
class Part:
    """A part of a program: its name, how long it takes without its parts, and its parts."""

    name: str
    own_ns: int
    parts: list[Part] = field(default_factory=list)

    def run(self, clock: ManualClock) -> None:
        with record_function(self.name):
            clock.advance(self.own_ns // 2)
            for part in self.parts:
                part.run(clock)
            clock.advance(self.own_ns // 2)

    def total_ns(self) -> int:
        return self.own_ns + sum(part.total_ns() for part in self.parts)

    def all(self, around: str | None = None) -> list[tuple[Part, str | None]]:
        """Return this and its parts in the order in which they begin, each with the name of what contains it."""
        return [(self, around), *(inside for part in self.parts for inside in part.all(self.name))]


PROGRAM = Part(
    "train",
    320,
    [
        Part("load", 600),
        Part("forward", 240, [Part("layer", 400), Part("layer", 260), Part("loss", 300, [Part("reduce", 220)])]),
        Part("backward", 5_000_000_000),
    ],
)


def scope_around(event: Any) -> str | None:
    """Return the name of the innermost scope around an event."""
    around = event.cpu_parent
    while around is not None and not around.is_user_annotation:
        around = around.cpu_parent
    return None if around is None else around.name


def check_scopes(clock: ManualClock, options: str) -> None:
    with profile(activities=["CPU"], **json.loads(options)) as prof:
        for _ in range(ROUNDS):
            PROGRAM.run(clock)
    scopes = [event for event in prof.events() if event.is_user_annotation]
    found = [(event.name, scope_around(event), duration_ns(event)) for event in scopes]
    assert found == ROUNDS * [(part.name, around, part.total_ns()) for part, around in PROGRAM.all()]


@pytest.mark.parametrize("options", [{}, {"with_stack": True, "record_shapes": True, "profile_memory": True}])
def test_scopes_last_as_long_as_the_program_is_in_them(options: dict[str, Any]) -> None:
    with_manual_clock(check_scopes, json.dumps(options))


def check_views(clock: ManualClock, directory: str) -> None:
    from pathlib import Path

    with profile(activities=["CPU"]) as prof:
        for _ in range(3):
            PROGRAM.run(clock)
    events = prof.events()
    assert [(event.name, scope_around(event)) for event in events] == 3 * [
        (part.name, around) for part, around in PROGRAM.all()
    ]
    for event in events:
        inside = sum(duration_ns(child) for child in event.cpu_children)
        assert round(event.self_cpu_time_total * 1000) + inside == duration_ns(event)
    for row in prof.key_averages():
        of_name = named(prof, row.key)
        assert row.count == len(of_name) == 3 * [part.name for part, _ in PROGRAM.all()].count(row.key)
        assert round(row.cpu_time_total * 1000) == sum(map(duration_ns, of_name))
        assert round(row.self_cpu_time_total * 1000) == sum(
            round(event.self_cpu_time_total * 1000) for event in of_name
        )
    assert round(prof.key_averages().self_cpu_time_total * 1000) == 3 * PROGRAM.total_ns()
    written = spans(trace_of(prof, Path(directory)), "user_annotation")
    assert [(span["name"], round(span["dur"] * 1000)) for span in written] == [
        (event.name, duration_ns(event)) for event in events
    ]


def test_events_averages_and_files_agree_on_durations(tmp_path: Path) -> None:
    with_manual_clock(check_views, str(tmp_path))


def check_threads(clock: ManualClock) -> None:
    def run() -> None:
        for _ in range(ROUNDS):
            PROGRAM.run(clock)

    with profile(activities=["CPU"]) as prof:
        for _ in range(2):
            in_thread(run)
    for part, _ in PROGRAM.all():
        of_name = named(prof, part.name)
        assert len({event.thread for event in of_name}) == 2
        expected = {other.total_ns() for other, _ in PROGRAM.all() if other.name == part.name}
        assert {duration_ns(event) for event in of_name} == expected


def test_scopes_of_several_threads_last_as_long_as_each_is_in_them() -> None:
    with_manual_clock(check_threads)


def check_functions(clock: ManualClock) -> None:
    def function(ns: int) -> None:
        clock.advance(ns)

    lengths = [200 * number for number in range(1, ROUNDS + 1)]
    with profile(activities=["CPU"], with_stack=True) as prof:
        for length in lengths:
            clock.advance(50)
            function(length)
    calls = [event for event in prof.events() if event.name.endswith(": function")]
    assert [duration_ns(event) for event in calls] == lengths


def test_python_functions_last_as_long_as_their_calls() -> None:
    with_manual_clock(check_functions)


def check_operators(clock: ManualClock) -> None:
    matrix = torch.ones(8, 8)
    calls = []
    with profile(activities=["CPU"], record_shapes=True) as prof:
        for _ in range(ROUNDS):
            clock.advance(1_000)
            calls.append(clock.now_ns())
            _ = matrix @ matrix
            clock.advance(1_000)
    (start_ns,) = {calls[number] - 2_000 * number - 1_000 for number in range(ROUNDS)}
    for name in ("aten::matmul", "aten::mm"):
        # The clock stands still during the call, so that the operator is in it only if it begins and ends at that time.
        found = [(start_ns + event["start_ns"], event["duration_ns"]) for event in named(prof, name)]
        assert found == [(call, 0) for call in calls]


def test_operators_begin_and_end_within_their_calls() -> None:
    with_manual_clock(check_operators)


STEP_NS = 1_000


def check_device(clock: ManualClock) -> None:
    matrix = torch.ones(64, 64)
    on_npu = matrix.to("npu")
    torch.npu.synchronize()

    def between_events(work: Any) -> int:
        """Return the nanoseconds between two of the device's events, with some work between them."""
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        kept = work()
        end.record()
        end.synchronize()
        del kept
        milliseconds: float = begin.elapsed_time(end)
        return round(milliseconds * 1e6)

    with profile() as prof:
        products = [between_events(lambda: on_npu.mm(on_npu)) for _ in range(ROUNDS)]
        copies = [between_events(lambda: matrix.to("npu")) for _ in range(ROUNDS)]
    kernels = named(prof, "gemm")
    copied = named(prof, "Memcpy HtoD (Pageable -> Device)")
    assert len(kernels) == len(copied) == ROUNDS
    for event, elapsed in zip([*kernels, *copied], [*products, *copies], strict=True):
        # Every reading moves the clock: the device reads it before, at both ends of the work, and after.
        assert STEP_NS <= duration_ns(event) <= elapsed - 2 * STEP_NS
    row = averages(prof)["gemm"]
    assert row.count == ROUNDS
    assert round(row.device_time_total * 1000) == sum(map(duration_ns, kernels))
    launchers = averages(prof)["aten::mm"]
    assert round(launchers.self_device_time_total * 1000) == sum(map(duration_ns, kernels))


def test_kernels_and_copies_run_between_the_devices_events_around_them() -> None:
    with_manual_clock(check_device, step_ns=STEP_NS)
