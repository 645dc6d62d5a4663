"""Two ways of doing the same, timed in turns so that both see the same machine."""

import statistics
import time
import timeit
from dataclasses import dataclass

# A turn is timed in so many parts, so that a moment in which another program has the processor spoils one of them only.
PARTS = 5


@dataclass(frozen=True)
class Effort:
    rounds: int
    least_rounds: int
    turn: float
    """Seconds that one turn is to take; a statement that takes longer runs once."""
    limit: float
    """Seconds after which a case ends, if it has had its least rounds."""
    pause: float = 0.0
    """Seconds to sleep before each turn."""
    warmup: float = 0.0
    """Seconds to run before each turn is timed; half a turn at least."""


@dataclass(frozen=True)
class Comparison:
    first: float
    """Median seconds that the first takes."""
    second: float
    ratios: list[float]
    """The second's time over the first's, for each round."""

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def quartiles(self):
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return low, high


class Turns:
    """A statement's turns: in each it runs for about as long as the effort says."""

    def __init__(self, timer: timeit.Timer, effort: Effort):
        timer.timeit(1)
        count = 1
        while (seconds := min(timer.repeat(3, count))) < effort.turn / 4:
            count *= 2
        runs = max(1, round(effort.turn / seconds * count))
        self.parts = min(runs, PARTS)
        self.count = runs // self.parts
        self.timer = timer
        self.pause = effort.pause
        self.warmup = effort.warmup

    def take(self):
        """Return the seconds that one run of the statement takes, as the median of the turn's parts."""
        time.sleep(self.pause)
        # Not timed: it wakes threads, and brings back what the other one's turn drove from the caches.
        end = time.perf_counter() + self.warmup
        self.timer.timeit(max(1, self.count // 2))
        while time.perf_counter() < end:
            self.timer.timeit(self.count)
        return statistics.median(self.timer.timeit(self.count) for _ in range(self.parts)) / self.count


def compare(first: timeit.Timer, second: timeit.Timer, effort: Effort) -> Comparison:
    """Time both in every round, in changing order."""
    ones, others = Turns(first, effort), Turns(second, effort)
    times = []
    end = time.perf_counter() + effort.limit
    while len(times) < effort.least_rounds or (len(times) < effort.rounds and time.perf_counter() < end):
        if len(times) % 2:
            other, one = others.take(), ones.take()
        else:
            one, other = ones.take(), others.take()
        times.append((one, other))
    return Comparison(
        first=statistics.median(one for one, _ in times),
        second=statistics.median(other for _, other in times),
        ratios=[other / one for one, other in times],
    )
