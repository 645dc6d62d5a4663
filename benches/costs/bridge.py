"""What our profiler costs a program of PyTorch's, beside PyTorch's own.

As in ``added``, but both sides are PyTorch: the one with our profiler, the other with its own. For each mode there is
what it takes to be told of what that mode records and to read the clock as often: the least that any profiler can take.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from benches.costs import recordings
from benches.costs.added import ADDITIONS, OFF, label, measured
from benches.costs.effort import short
from benches.costs.figure import Goal, Row
from benches.costs.library import BRIDGE, MODES
from benches.costs.observer import OBSERVERS
from benches.costs.worker import once, order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.added import Differences
    from benches.costs.effort import Effort

SIDES = (BRIDGE, "torch")
# How many times as much PyTorch's profiler is to add.
RATIOS = {mode: 2.0 if mode in {"memory", "all"} else 2.5 for mode in MODES}
EVENTS = 100_000


def rows(effort: Effort) -> Iterator[Row]:
    """Yield what is added to operators of PyTorch's, and what a recording of them costs afterwards."""
    section = "PyTorch, added to an operator, 4x4 add"
    effort.say(section)
    modes = [OFF, *OBSERVERS, *MODES]
    found = measured(effort.rounds(full=61, quick=9), modes, sides=SIDES, work="additions", count=ADDITIONS)
    yield from _rows_of(section, found, modes)
    section = "PyTorch, added to an operator, GPT training step, 1 x 8 bytes"
    effort.say(section)
    found = measured(effort.rounds(full=60, quick=10), modes, sides=SIDES, work="training", batch=1, length=8)
    yield from _rows_of(section, found, modes)
    yield from _recording_rows(effort)


def _rows_of(section: str, found: dict[str, Differences], modes: list[str]) -> Iterator[Row]:
    for mode in modes:
        samples = {"ours": found[BRIDGE].an_operator(mode)}
        if mode not in OBSERVERS:
            samples["torch"] = found["torch"].an_operator(mode)
        goal = Goal(ratio=RATIOS[mode]) if mode in RATIOS else None
        yield Row.of(section, label(mode), "ns", samples, goal)


def _recording_rows(effort: Effort) -> Iterator[Row]:
    section = f"PyTorch, a recording of {short(EVENTS)} operators"
    effort.say(section)
    samples: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in range(effort.rounds(full=5, quick=1)):
        for side in order(number, SIDES):
            for method in ("objects", "averages"):
                for name, value in once(side, recordings.Recording, method, events=EVENTS).items():
                    samples[name]["ours" if side == BRIDGE else side].append(value)
    for name, unit in recordings.UNITS.items():
        limit = recordings.GOALS.get(name)
        yield Row.of(section, name, unit, samples[name], None if limit is None else Goal(most=limit))
