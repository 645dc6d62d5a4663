"""The truth about times: programs that know by a clock of their own how long they take, and what is told of them.

A program reads its clock just before and just after a scope begins, and the same where it ends. The scope lies between
these readings, always. If they are close together, the program knows how long it was; if not, something else had the
processor in between. So each scope is held to what is known of it, and the best of many rounds to 1 %. A machine that
does other things does not make this fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, in_thread, named, spans, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOLERANCE = 0.01
ROUNDS = 60
# Shorter ones nobody promises.
LONG_NS = 100_000


def be_busy(us: int) -> None:
    """Do nothing for a while, and keep the processor."""
    until = perf_counter_ns() + us * 1000
    while perf_counter_ns() < until:
        pass


@dataclass
class Known:
    """What a program knows of something that it did: how long it took, at least and at most, in nanoseconds."""

    name: str
    least: int = 0
    most: int = 0

    def holds(self, told: int) -> bool:
        """Return whether that is possible, as far as two clocks agree."""
        return self.least * (1 - TOLERANCE) <= told <= self.most * (1 + TOLERANCE)

    def error(self, told: int) -> float:
        """Return by what part that is off at most."""
        bounds = [self.least, self.most] if self.least else [self.most]
        return max(abs(told / bound - 1) for bound in bounds)


def assert_true(rounds: list[tuple[Known, int]]) -> None:
    """Assert that all that was told of one thing is possible, and the best of it within 1 %."""
    for known, told in rounds:
        assert known.most > LONG_NS
        assert known.holds(told), (known, told)
    assert min(known.error(told) for known, told in rounds) < TOLERANCE, rounds


def duration_ns(event: Any) -> int:
    us: float = event.time_range.elapsed_us()
    return round(us * 1000)


@dataclass
class Part:
    """A part of a program: what it is called, for how many microseconds it is busy itself, and its parts."""

    name: str
    busy: int
    parts: list[Part] = field(default_factory=list)

    def run(self) -> list[Known]:
        """Run it, and return what is known of it and of its parts, in the order in which they begin."""
        known = [Known(self.name)]
        before = perf_counter_ns()
        with record_function(self.name):
            begun = perf_counter_ns()
            be_busy(self.busy // 2)
            for part in self.parts:
                known += part.run()
            be_busy(self.busy // 2)
            known[0].least = perf_counter_ns() - begun
        known[0].most = perf_counter_ns() - before
        return known

    def names(self, around: str | None = None) -> list[tuple[str, str | None]]:
        """Return its name and those of its parts, each with the name of what contains it."""
        inside = [name for part in self.parts for name in part.names(self.name)]
        return [(self.name, around), *inside]


# Long enough that beginning and ending a scope is far less than 1 % of it, also when a machine is slow.
PROGRAM = Part(
    "train",
    320,
    [
        Part("load", 600),
        Part("forward", 240, [Part("layer", 400), Part("layer", 260), Part("loss", 300, [Part("reduce", 220)])]),
        Part("backward", 800),
    ],
)


@pytest.mark.parametrize("options", [{}, {"with_stack": True, "record_shapes": True, "profile_memory": True}])
def test_scopes_take_as_long_as_the_programs_clock_says(options: dict[str, Any]) -> None:
    with profile(activities=["CPU"], **options) as prof:
        known = [PROGRAM.run() for _ in range(ROUNDS)]
    told = [event for event in prof.events() if event.is_user_annotation]
    names = PROGRAM.names()
    assert len(told) == ROUNDS * len(names)
    rounds = [told[start : start + len(names)] for start in range(0, len(told), len(names))]
    for place, (name, _) in enumerate(names):
        assert [events[place].name for events in rounds] == [name] * ROUNDS
        assert_true([(of[place], duration_ns(events[place])) for of, events in zip(known, rounds, strict=True)])


def scope_around(event: Any) -> str | None:
    """Return the name of the innermost scope around an event."""
    around = event.cpu_parent
    while around is not None and not around.is_user_annotation:
        around = around.cpu_parent
    return None if around is None else around.name


def test_what_is_told_in_other_ways_is_the_same(tmp_path: Path) -> None:
    with profile(activities=["CPU"]) as prof:
        for _ in range(3):
            PROGRAM.run()
    events = prof.events()
    assert [(event.name, scope_around(event)) for event in events] == PROGRAM.names() * 3
    for event in events:
        inside = sum(duration_ns(child) for child in event.cpu_children)
        assert round(event.self_cpu_time_total * 1000) + inside == duration_ns(event)
    for row in prof.key_averages():
        of_name = named(prof, row.key)
        assert row.count == len(of_name) == 3 * [name for name, _ in PROGRAM.names()].count(row.key)
        assert round(row.cpu_time_total * 1000) == sum(map(duration_ns, of_name))
        assert round(row.self_cpu_time_total * 1000) == sum(
            round(event.self_cpu_time_total * 1000) for event in of_name
        )
    outermost = sum(map(duration_ns, named(prof, "train")))
    assert round(prof.key_averages().self_cpu_time_total * 1000) == outermost
    written = spans(trace_of(prof, tmp_path), "user_annotation")
    assert [(span["name"], round(span["dur"] * 1000)) for span in written] == [
        (event.name, duration_ns(event)) for event in events
    ]


def test_threads_keep_their_own_time() -> None:
    known: list[list[Known]] = []
    with profile(activities=["CPU"]) as prof:
        for _ in range(2):
            in_thread(lambda: known.extend(PROGRAM.run() for _ in range(ROUNDS // 2)))
    told = [duration_ns(event) for event in named(prof, "backward")]
    assert len({event.thread for event in named(prof, "backward")}) == 2
    assert_true([(of[-1], duration) for of, duration in zip(known, told, strict=True)])


def test_python_functions_take_as_long_as_their_own_clock_says() -> None:
    def function() -> int:
        begun = perf_counter_ns()
        be_busy(200)
        return perf_counter_ns() - begun

    known = []
    with profile(activities=["CPU"], with_stack=True) as prof:
        for _ in range(ROUNDS):
            before = perf_counter_ns()
            least = function()
            known.append(Known("function", least, perf_counter_ns() - before))
    told = [event for event in prof.events() if event.name.endswith(": function")]
    assert_true([(of, duration_ns(event)) for of, event in zip(known, told, strict=True)])


def timed(work: Callable[[], object]) -> int:
    begin = perf_counter_ns()
    work()
    return perf_counter_ns() - begin


def matrix_to_multiply() -> Any:
    """Return a matrix whose product with itself takes long enough to be told, whatever the machine."""
    matrix = torch.ones(64, 64)
    while min(timed(partial(torch.mm, matrix, matrix)) for _ in range(3)) < 10 * LONG_NS:
        matrix = torch.ones(2 * len(matrix), 2 * len(matrix))
    return matrix


def test_an_op_takes_as_long_as_its_call() -> None:
    matrix = matrix_to_multiply()
    with profile(activities=["CPU"], record_shapes=True) as prof:
        # The call contains the op: at least, it takes no time at all.
        known = [Known("matmul", most=timed(lambda: matrix @ matrix)) for _ in range(ROUNDS)]
    for name in ("aten::matmul", "aten::mm"):
        told = map(duration_ns, named(prof, name))
        assert_true(list(zip(known, told, strict=True)))


def between_events(work: Callable[[], object], before: Callable[[], object]) -> Known:
    """Return what the device's events say of what lies between them. What is asked before keeps the device busy."""
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    before()
    begin.record()
    kept = work()
    end.record()
    end.synchronize()
    del kept
    return Known("between", most=round(begin.elapsed_time(end) * 1e6))


def test_kernels_and_copies_take_as_long_as_the_devices_events_say() -> None:
    matrix = matrix_to_multiply()
    on_npu = matrix.to("npu")
    numbers = torch.ones(1 << 21)
    torch.npu.synchronize()

    # For as long as the rest takes to be launched.
    def keep_busy() -> None:
        for _ in range(3):
            on_npu.mm(on_npu)

    with profile() as prof:
        products = [between_events(lambda: on_npu.mm(on_npu), keep_busy) for _ in range(ROUNDS)]
        copies = [between_events(lambda: numbers.to("npu"), keep_busy) for _ in range(ROUNDS)]
    kernels = named(prof, "gemm")
    told = [duration_ns(event) for event in kernels[3 : 4 * ROUNDS : 4]]
    assert_true(list(zip(products, told, strict=True)))
    copied = named(prof, "Memcpy HtoD (Pageable -> Device)")
    assert_true([(of, duration_ns(event)) for of, event in zip(copies, copied, strict=True)])
    row = averages(prof)["gemm"]
    assert row.count == len(kernels) == 7 * ROUNDS
    assert round(row.device_time_total * 1000) == sum(map(duration_ns, kernels))
    launchers = averages(prof)["aten::mm"]
    assert round(launchers.self_device_time_total * 1000) == sum(map(duration_ns, kernels))
