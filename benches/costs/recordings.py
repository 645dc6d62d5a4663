"""What a recording costs afterwards: to stop, to look at its events, to sum them up, and the memory it holds.

Every recording is of small additions, in a process of its own, after a small one that both libraries need to come to
life. Times are on the clock, since ours uses the threads it likes. Memory is what the process has more than before the
profiler was started, each time after a collection of garbage and after giving back what is free.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from benches.costs.effort import short
from benches.costs.figure import Figure, Goal, Row
from benches.costs.library import MODULES, Library
from benches.costs.usage import held
from benches.costs.worker import once, order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.costs.effort import Effort

SECTION = "a recording"
STOP = "stop()"
FIRST = "events(), first touch, an event"
ALL = "events() and each one's name and time, an event"
AGAIN = "each one's name and time once more, an event"
AFTER = "key_averages() after events(), an event"
SCRATCH = "key_averages() from scratch, an event"
TABLE = "table() of the averages"
HELD = "memory after stop(), an event"
HELD_OBJECTS = "memory after each event was touched, an event"
UNITS = {
    STOP: "ns",
    FIRST: "ns",
    ALL: "ns",
    AGAIN: "ns",
    AFTER: "ns",
    SCRATCH: "ns",
    TABLE: "ns",
    HELD: "B",
    HELD_OBJECTS: "B",
}
GOALS = {FIRST: 100, SCRATCH: 50, HELD: 80, HELD_OBJECTS: 80}
# Stopping is to take as long for any number of events as for the smallest, or nearly.
STOP_GROWTH = 2
WARM_UP = 1_000
# PyTorch needs some seconds for so many, and most of a minute for so many.
MANY, LONG = 100_000, 1_000_000

Samples = dict[tuple[str, int], dict[str, list[float]]]


class Recording:
    """A recording, in a worker."""

    def __init__(self, library: Library) -> None:
        self.library = library
        prof = library.recorded(WARM_UP)
        prof.stop()
        prof.key_averages().table()

    def objects(self, events: int) -> dict[str, float]:
        """Record, stop, and look at every event."""
        before = held()
        prof = self.library.recorded(events)
        stop, _ = timed(prof.stop)
        stopped = held() - before

        def first_touch() -> Any:
            found = prof.events()
            found[0].name  # noqa: B018 (a touch)
            return found

        first, found = timed(first_touch)
        if len(found) != events:
            raise RuntimeError(f"{len(found)} events of {events}")

        def touch() -> None:
            for event in found:
                event.name, event.cpu_time_total  # noqa: B018

        touched, _ = timed(touch)
        touched_again, _ = timed(touch)
        objects = held() - before
        after, _ = timed(prof.key_averages)
        times = {FIRST: first, ALL: first + touched, AGAIN: touched_again, AFTER: after}
        each = {**times, HELD: stopped, HELD_OBJECTS: objects}
        return {STOP: stop, **{name: value / events for name, value in each.items()}}

    def averages(self, events: int) -> dict[str, float]:
        """Record, stop, and ask for nothing but averages."""
        prof = self.library.recorded(events)
        prof.stop()
        gc.collect()
        scratch, averages = timed(prof.key_averages)
        table, _ = timed(averages.table)
        return {SCRATCH: scratch / events, TABLE: table}


def timed(run: Callable[[], Any]) -> tuple[int, Any]:
    """Return how long it takes, and what it returns."""
    start = time.perf_counter_ns()
    result = run()
    return time.perf_counter_ns() - start, result


def rows(effort: Effort) -> Iterator[Row]:
    """Yield what was measured, each for all sizes."""
    samples: Samples = defaultdict(lambda: defaultdict(list))
    for size in effort.sizes["ours"]:
        effort.say(f"{SECTION} of {short(size)} events")
        sides = tuple(side for side in MODULES if size in effort.sizes[side])
        for number in range(effort.rounds(full=5 if size < LONG else 3, quick=2 if size < MANY else 1)):
            # What takes PyTorch so long is done once.
            for side in order(number, sides if size < LONG or number == 0 else ("ours",)):
                for method in ("objects", "averages"):
                    for name, value in once(side, Recording, method, events=size).items():
                        samples[name, size][side].append(value)
    for name, unit in UNITS.items():
        for size in effort.sizes["ours"]:
            limit = goal(name, samples, effort)
            yield Row.of(SECTION, f"{name}, {short(size)}", unit, samples[name, size], limit)


def goal(name: str, samples: Samples, effort: Effort) -> Goal | None:
    """Return what our figure should be at most."""
    if name == STOP:
        smallest = effort.sizes["ours"][0]
        return Goal(most=STOP_GROWTH * Figure.of(samples[name, smallest]["ours"]).median)
    return Goal(most=GOALS[name]) if name in GOALS else None
