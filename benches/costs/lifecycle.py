"""What starting, stepping and stopping cost a program, on the clock.

The first profiler of a process is that of a new process each time, after the library's first operator. PyTorch 2.15
loads its compiler at that moment, if nobody has before: there is a row for each case. A start is the making of the
object and ``start()``. The steps are those of a schedule that waits, warms up and records for two steps each, cycle
after cycle, with no handler; between them are some additions.
"""

from __future__ import annotations

import gc
import time
from importlib import import_module
from typing import TYPE_CHECKING

from benches.costs.figure import Row
from benches.costs.library import MODULES, Library
from benches.costs.worker import once, order, workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

SECTION = "starting, stepping, stopping"
EVENTS = 1_000
STEP_EVENTS = 100
STEPS = (
    "step(), waiting",
    "step() to warming up",
    "step(), warming up",
    "step() to recording",
    "step(), recording",
    f"step() that ends a cycle of {2 * STEP_EVENTS} events",
)


class Lifecycle:
    """Profilers that start and stop, in a worker."""

    def __init__(self, library: Library) -> None:
        self.library = library
        library.add(1)

    def first(self, loaded: str | None) -> tuple[int, int]:
        """Return the times of the first profiler, after PyTorch has loaded a module."""
        if loaded and self.library.side == "torch":
            import_module(loaded)
        return self.once()

    def once(self) -> tuple[int, int]:
        """Return how long a start and a stop took."""
        gc.collect()
        start = time.perf_counter_ns()
        prof = self.library.profile()
        prof.start()
        started = time.perf_counter_ns() - start
        self.library.add(EVENTS)
        start = time.perf_counter_ns()
        prof.stop()
        return started, time.perf_counter_ns() - start

    def later(self, count: int) -> list[tuple[int, int]]:
        """Return the times of some profilers, less the first, which finds the caches full of other programs' data."""
        return [self.once() for _ in range(count + 1)][1:]

    def cycles(self, count: int) -> list[list[int]]:
        """Return how long each step took, for every cycle after the first."""
        phase = len(STEPS) // 3
        schedule = self.library.profiler.schedule(wait=phase, warmup=phase, active=phase)
        times = []
        prof = self.library.profile(schedule=schedule)
        prof.start()
        for _ in range((count + 1) * len(STEPS)):
            self.library.add(STEP_EVENTS)
            start = time.perf_counter_ns()
            prof.step()
            times.append(time.perf_counter_ns() - start)
        prof.stop()
        return [times[at : at + len(STEPS)] for at in range(len(STEPS), len(times), len(STEPS))]


def rows(effort: Effort) -> Iterator[Row]:
    """Yield starts, steps and stops."""
    effort.say(SECTION)
    for name, loaded in {"": None, ", torch._inductor loaded": "torch._inductor"}.items():
        first: dict[str, list[float]] = {side: [] for side in MODULES}
        for number in range(effort.rounds(full=9, quick=3)):
            for side in order(number):
                first[side].append(once(side, Lifecycle, "first", loaded=loaded)[0])
        yield Row.of(SECTION, f"start of the first in a process{name}", "ns", first)
    later: dict[str, list[tuple[int, int]]] = {side: [] for side in MODULES}
    steps: dict[str, list[list[int]]] = {side: [] for side in MODULES}
    with workers(Lifecycle) as asked:
        for worker in asked.values():
            worker.ask("once")
        for number in range(effort.rounds(full=20, quick=4)):
            for side in order(number):
                later[side] += asked[side].ask("later", count=5)
                steps[side] += asked[side].ask("cycles", count=5)
    for at, name in enumerate(("start of a later one", f"stop() after {EVENTS:,} events")):
        yield Row.of(SECTION, name, "ns", {side: [times[at] for times in later[side]] for side in MODULES})
    for at, name in enumerate(STEPS):
        yield Row.of(SECTION, name, "ns", {side: [times[at] for times in steps[side]] for side in MODULES})
