"""What ``record_function`` costs, beside context managers that do nothing and one that keeps times in a list.

A figure is the processor time of one ``with`` statement, less one turn of the empty loop in the same round.
Starting and stopping the profiler is not timed. The first four cases have nothing to do with either library: that both
processes agree on them says that they can be compared. A type in C that does nothing takes what this interpreter itself
takes for a ``with`` statement; what is beyond it is what ``record_function`` costs.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

from benches.costs.figure import Goal, Row
from benches.costs.library import MODULES, Library
from benches.costs.nothing import nothing
from benches.costs.worker import order, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.costs.effort import Effort

SECTION = "record_function"
COUNT = 5_000
GOAL = 60
LOOP = "the loop"


class Empty:
    """A context manager that does nothing."""

    def __enter__(self) -> Empty:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Times(list[tuple[int, int]]):
    """The least that a profiler in Python does: two times a scope, in a list."""

    begin = 0

    def __enter__(self) -> Times:
        self.begin = time.perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        self.append((self.begin, time.perf_counter_ns()))


class Scopes:
    """Loops over scopes, in a worker."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.nothing = nothing()
        self.scope = library.profiler.record_function("x")
        self.decorated = library.profiler.record_function("x")(lambda: None)
        self.checking = False

    def loop(self) -> int:
        """Time the loop itself."""
        start = time.process_time_ns()
        for _ in range(COUNT):
            pass
        return time.process_time_ns() - start

    def entered(self, scope: Any) -> int:
        """Time a scope that is there already."""
        start = time.process_time_ns()
        for _ in range(COUNT):
            with scope:
                pass
        return time.process_time_ns() - start

    def constructed(self, scope: Any) -> int:
        """Time a scope that is made each time, as most programs write it."""
        start = time.process_time_ns()
        for _ in range(COUNT):
            with scope("x"):
                pass
        return time.process_time_ns() - start

    def called(self, function: Callable[[], None]) -> int:
        """Time calls of a function."""
        start = time.process_time_ns()
        for _ in range(COUNT):
            function()
        return time.process_time_ns() - start

    def profiled(self, case: Callable[..., int], *arguments: Any) -> int:
        """Time it while a profiler runs."""
        prof = self.library.profile()
        prof.start()
        took = case(*arguments)
        prof.stop()
        if self.checking and len(prof.events()) != COUNT:
            raise RuntimeError(f"{len(prof.events())} events of {COUNT} scopes")
        return took

    def turn(self, checking: bool = False) -> dict[str, float]:
        """Return nanoseconds for each case, and if asked for look whether every scope was recorded."""
        self.checking = checking
        record_function = self.library.profiler.record_function
        cases: dict[str, Callable[[], int]] = {
            LOOP: self.loop,
            "an empty context manager in Python": lambda: self.entered(Empty()),
            "times in a list, in Python": lambda: self.entered(Times()),
            "a type in C that does nothing, made each time": lambda: self.constructed(self.nothing),
            "a type in C that does nothing, an existing one": lambda: self.entered(self.nothing("x")),
            'with record_function("x"), no profiler': lambda: self.constructed(record_function),
            'with record_function("x"), profiler': lambda: self.profiled(self.constructed, record_function),
            "with an existing one, no profiler": lambda: self.entered(self.scope),
            "with an existing one, profiler": lambda: self.profiled(self.entered, self.scope),
            "a decorated call, no profiler": lambda: self.called(self.decorated),
            "a decorated call, profiler": lambda: self.profiled(self.called, self.decorated),
        }
        # Not timed: it brings back what the other library's turn drove from the caches.
        self.constructed(record_function)
        times = {}
        for name, case in cases.items():
            gc.collect()
            times[name] = case() / COUNT
        return times


def rows(effort: Effort) -> Iterator[Row]:
    """Yield what each case costs."""
    effort.say(SECTION)
    found: dict[str, list[dict[str, float]]] = {side: [] for side in MODULES}
    with workers(Scopes) as asked:
        for worker in asked.values():
            worker.ask("turn", checking=True)
        for number in range(effort.rounds(full=41, quick=9)):
            for side in order(number):
                found[side].append(asked[side].ask("turn"))
    for name in found["ours"][0]:
        if name != LOOP:
            samples = {side: [turn[name] - turn[LOOP] for turn in found[side]] for side in MODULES}
            goal = Goal(most=GOAL) if name.endswith("no profiler") and "decorated" not in name else None
            yield Row.of(SECTION, name, "ns", samples, goal)
