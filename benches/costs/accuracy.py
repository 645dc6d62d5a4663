"""How far recorded times are from those that the program knows by a clock of its own.

In each of many rounds one interval lies within the recorded one, and another contains it. All rounds must keep to these
bounds, as far as two clocks agree. Another program can have had the processor between two readings, so the error is
that of the closest round.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from benches.costs import cuda_kernels
from benches.costs.figure import Figure, Goal, Row
from benches.costs.worker import once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.costs.effort import Effort
    from benches.costs.library import Library

SECTION = "accuracy of times"
TOLERANCE = 0.01
BUSY_NS = 1_000_000
CALLS = 300
Bounds = tuple[int, int]


def be_busy() -> None:
    """Keep the processor for a while."""
    until = perf_counter_ns() + BUSY_NS
    while perf_counter_ns() < until:
        pass


def timed(work: Callable[[], object]) -> int:
    """Return how long some work takes, in nanoseconds."""
    begin = perf_counter_ns()
    work()
    return perf_counter_ns() - begin


def error(bounds: list[Bounds], durations: list[int]) -> float:
    """Return the error of the closest round, in percent; a lower bound of 0 says nothing."""
    errors = []
    for (least, most), duration in zip(bounds, durations, strict=True):
        if not least * (1 - TOLERANCE) <= duration <= most * (1 + TOLERANCE):
            raise RuntimeError(f"{duration} ns were recorded of something that took {least} to {most} ns")
        errors.append(max(abs(duration / bound - 1) for bound in (least, most) if bound))
    return 100 * min(errors)


class Times:
    """Programs that know how long their parts take, in a worker."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def durations(self, prof: Any, name: str) -> list[int]:
        """Return the durations of the events whose names end so, in nanoseconds."""
        return [event["duration_ns"] for event in prof.events() if event.name.endswith(name)]

    def scopes(self, rounds: int) -> float:
        """Compare scopes with the program's clock."""
        bounds = []
        with self.library.profile() as prof:
            for _ in range(rounds):
                before = perf_counter_ns()
                with self.library.profiler.record_function("scope"):
                    least = timed(be_busy)
                bounds.append((least, perf_counter_ns() - before))
        return error(bounds, self.durations(prof, "scope"))

    def functions(self, rounds: int) -> float:
        """Compare Python functions with their callers' clock and their own."""

        def function() -> int:
            return timed(be_busy)

        bounds = []
        with self.library.profile("stack") as prof:
            for _ in range(rounds):
                before = perf_counter_ns()
                least = function()
                bounds.append((least, perf_counter_ns() - before))
        return error(bounds, self.durations(prof, ": function"))

    def operators(self, rounds: int) -> float:
        """Compare products of matrices with the calls."""
        matrix = self.library.torch.ones(512, 512)
        with self.library.profile() as prof:
            bounds = [(0, timed(lambda: matrix @ matrix)) for _ in range(rounds)]
        return error(bounds, self.durations(prof, "aten::mm"))

    def kernels(self, rounds: int) -> float:
        """Compare kernels with the device's events around them, which are recorded while the device is busy."""
        torch = self.library.torch
        matrix = torch.ones(512, 512).to("npu")
        bounds = []
        with self.library.profiler.profile() as prof:
            for _ in range(rounds):
                begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
                matrix.mm(matrix)
                begin.record()
                matrix.mm(matrix)
                end.record()
                end.synchronize()
                bounds.append((0, round(begin.elapsed_time(end) * 1e6)))
        return error(bounds, self.durations(prof, "gemm")[1::2])

    def remaining(self, mode: str, rounds: int) -> float:
        """Return how much of what a profiler adds remains once its overhead is subtracted, in percent."""
        number = self.library.torch.ones(1)

        def work() -> None:
            for _ in range(CALLS):
                number.neg()

        def nothing() -> None:
            pass

        def calls() -> None:
            for _ in range(CALLS):
                nothing()

        run = calls if mode == "stack" else work
        truths, recorded = [], []
        for _ in range(rounds):
            truths.append(timed(run))
            with self.library.profile(mode) as prof, self.library.profiler.record_function("around"):
                run()
            recorded.append(prof)

        def total(prof: Any, **options: bool) -> float:
            found = [row.cpu_time_total for row in prof.key_averages(**options) if row.key == "around"]
            return 1000.0 * float(found[0])

        # Other programs make a round slower, never quicker: the quickest counts.
        truth, prof = min(truths), min(recorded, key=total)
        left = abs(total(prof, subtract_overhead=True) - truth) / abs(total(prof) - truth)
        return 100 * left


def rows(effort: Effort) -> Iterator[Row]:
    """Yield how far off recorded times are."""
    effort.say(SECTION)
    rounds = effort.rounds(full=200, quick=60)
    cases = {
        "scopes of 1 ms": "scopes",
        "Python functions of 1 ms": "functions",
        "a product, beside its call": "operators",
        "a kernel, beside the events around it": "kernels",
    }
    for what, method in cases.items():
        off = once("ours", Times, method, rounds=rounds)
        yield Row(SECTION, what, "%", Figure.exact(off), goal=Goal(most=100 * TOLERANCE))
    for mode, what in {"stack": "calls", "shapes": "operators with shapes", "memory": "operators with memory"}.items():
        left = once("ours", Times, "remaining", mode=mode, rounds=rounds)
        yield Row(SECTION, f"overhead that subtracting leaves: {what}", "%", Figure.exact(left), goal=Goal(most=100))
    yield from cuda_kernels.rows(SECTION, effort)
