"""What a running profiler adds to a program: to small additions, and to the steps of a training.

A turn is: without a profiler, with one, without. What the profiler adds is the difference between the middle and the
mean of its neighbours. Counted is the processor time of the process, with all its threads, so that what other programs
do meanwhile is not; the time on the clock is in the file beside it.

Not counted are making, starting and stopping the profiler, its first hundred operators, and freeing the recording: all
that lies between the timed parts. The recording of one part is freed before the next, so that its memory is used again
and no page is touched for the first time. Where a row says fresh memory, all recordings are kept, so that every page
is. The file has the number of page faults.
"""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benches.costs.figure import Goal, Row
from benches.costs.library import MODES, MODULES, Library
from benches.costs.machine import ROOT
from benches.costs.worker import order, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benches.costs.effort import Effort

Part = tuple[int, int, int]
"""Nanoseconds of processor time, those on the clock, and page faults."""

OFF = "no profiler"
GOALS = {"plain": 60, "shapes": 100, "stack": 250, "memory": 100, "all": 350}
ADDITIONS = 10_000


class Added:
    """Work that is done with a profiler and without, in a worker."""

    def __init__(self, library: Library, work: str, **size: int) -> None:
        self.library = library
        self.work: Callable[[], None] = getattr(self, work)(**size)
        self.kept: list[Any] = []

    def additions(self, count: int) -> Callable[[], None]:
        """Return work that is nothing but small operators."""
        small = self.library.torch.ones(4, 4)

        def work() -> None:
            for _ in range(count):
                small + small

        return work

    def training(self, batch: int, length: int) -> Callable[[], None]:
        """Return a step of the training of a GPT, with some sequences of some length."""
        sys.path.append(str(ROOT / "examples"))
        from models import TASKS, Training  # noqa: PLC0415 (its place is known now)

        # A rate of 0 keeps the numbers as they are. Those of a model that has learnt its batch become denormal, which
        # are slow.
        run = Training(self.library.torch, replace(TASKS["gpt"], rate=0.0))
        inputs, classes = (each[:batch, :length] for each in run.batch(0))
        return lambda: run.step(inputs, classes)

    def operators(self) -> int:
        """Return how many operators the profiler sees in one piece of work, such as is timed: a first may have more."""
        self.work()
        prof = self.library.profile()
        prof.start()
        self.work()
        prof.stop()
        return len(prof.events())

    def turn(self, modes: list[str], keep: bool = False) -> list[Part]:
        """Work without a profiler, in the first mode, without, in the second, and so on."""
        parts = [self.without()]
        for mode in modes:
            parts += [self.part(mode, keep), self.without()]
        return parts

    def without(self) -> Part:
        """Time work without a profiler.

        What comes just before it is the same work, not timed: whatever is timed, with a profiler or without, finds
        caches and memory as work without one leaves them, not as the last profiler or the other library did.
        """
        gc.collect()
        self.work()
        return self.part(OFF)

    def part(self, mode: str, keep: bool = False) -> Part:
        """Time one piece of work."""
        gc.collect()
        prof = None
        if mode != OFF:
            prof = self.library.profile(mode)
            prof.start()
        self.library.add(100)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        clock, processor = time.perf_counter_ns(), time.process_time_ns()
        self.work()
        processor, clock = time.process_time_ns() - processor, time.perf_counter_ns() - clock
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        if prof is not None:
            prof.stop()
            if keep:
                self.kept.append(prof)
        return processor, clock, faults


class Differences:
    """What each mode adds with one library, from all its turns."""

    def __init__(self, operators: int) -> None:
        self.operators = operators
        self.parts: dict[str, list[list[Part]]] = defaultdict(list)

    def take(self, modes: list[str], turn: list[Part]) -> None:
        """Take a turn apart: each mode, between what was before and after it."""
        for at, mode in enumerate(modes):
            self.parts[mode].append(turn[2 * at : 2 * at + 3])

    def added(self, mode: str, column: int = 0) -> list[float]:
        """Return the middle less the mean of its neighbours, turn by turn."""
        return [on[column] - (before[column] + after[column]) / 2 for before, on, after in self.parts[mode]]

    def an_operator(self, mode: str, column: int = 0) -> list[float]:
        """Return what the mode adds to each operator that this library records."""
        return [each / self.operators for each in self.added(mode, column)]

    def share(self, mode: str) -> list[float]:
        """Return what the mode adds, in percent of the work."""
        offs = [part[0] for parts in self.parts.values() for before, _, after in parts for part in (before, after)]
        work = statistics.median(offs)
        return [100 * each / work for each in self.added(mode)]


def measured(
    rounds: int, modes: list[str], keep: bool = False, sides: Sequence[str] = tuple(MODULES), **work: Any
) -> dict[str, Differences]:
    """Take turns, after a first one of both that is not counted."""
    with workers(Added, sides, **work) as asked:
        found = {side: Differences(worker.ask("operators")) for side, worker in asked.items()}
        for worker in asked.values():
            worker.ask("turn", modes=modes)
        for number in range(rounds):
            # Each mode comes first as often as any other.
            start = number % len(modes)
            rotated = modes[start:] + modes[:start]
            for side in order(number, sides):
                found[side].take(rotated, asked[side].ask("turn", modes=rotated, keep=keep))
    return found


def rows_of(section: str, found: dict[str, Differences], modes: list[str], suffix: str = "") -> Iterator[Row]:
    """Yield what every mode adds to an operator."""
    for mode in modes:
        samples = {name: side.an_operator(mode) for name, side in found.items()}
        goal = Goal(most=GOALS[mode]) if mode in GOALS else None
        row = Row.of(section, f"{label(mode)}{suffix}", "ns", samples, goal)
        for name, side in found.items():
            row.details[f"{name} ns on the clock"] = statistics.median(side.an_operator(mode, 1))
            row.details[f"{name} page faults"] = statistics.median(side.an_operator(mode, 2))
            row.details[f"{name} operators"] = side.operators
        yield row


def share_rows(section: str, found: dict[str, Differences], modes: list[str]) -> Iterator[Row]:
    """Yield what every mode adds as a share of the work."""
    for mode in modes:
        samples = {name: side.share(mode) for name, side in found.items()}
        yield Row.of(section, f"{label(mode)}, of the step", "%", samples)


def label(mode: str) -> str:
    """Return how a row says it: without a profiler nothing should be added."""
    return f"{mode} (control)" if mode == OFF else mode


def operator_rows(effort: Effort) -> Iterator[Row]:
    """Yield what is added to small additions."""
    section = "added to an operator, 4x4 add"
    effort.say(section)
    modes = [OFF, *MODES]
    found = measured(effort.rounds(full=61, quick=9), modes, work="additions", count=ADDITIONS)
    if any(side.operators != ADDITIONS for side in found.values()):
        raise RuntimeError("an addition is not one event")
    yield from rows_of(section, found, modes)
    # Few rounds, since all that they record is kept.
    rounds = effort.rounds(full=15, quick=4)
    modes = ["plain", "all"]
    found = measured(rounds, modes, keep=True, work="additions", count=ADDITIONS)
    yield from rows_of(section, found, modes, ", fresh memory")


def training_rows(effort: Effort) -> Iterator[Row]:
    """Yield what is added to the steps of a training.

    A step's time changes by more than a profiler adds. The same step with one short sequence has the same operators
    but little work in each, so that what they cost is seen; but what they need is then more often in the caches.
    """
    modes = [OFF, *MODES]
    section = "added to an operator, GPT training step, 8 x 128 bytes"
    effort.say(section)
    found = measured(effort.rounds(full=100, quick=8), modes, work="training", batch=8, length=128)
    yield from rows_of(section, found, modes)
    yield from share_rows(section, found, modes)
    section = "added to an operator, GPT training step, 1 x 8 bytes"
    effort.say(section)
    found = measured(effort.rounds(full=120, quick=20), modes, work="training", batch=1, length=8)
    yield from rows_of(section, found, modes)
