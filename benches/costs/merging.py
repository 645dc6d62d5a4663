"""How fast ``mtprof merge`` puts the traces of many ranks together, beside a copy of the same files into one.

Speeds are bytes a second of what is read, which the system has in memory. What a command has written may not be on the
disk when it ends; so the time until it is there is measured, too.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benches.costs.command import MTPROF, Runs
from benches.costs.effort import short
from benches.costs.figure import Figure, Goal, Row
from benches.costs.machine import ROOT
from benches.costs.traces import RANKS, write_ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

SECTION = "mtprof merge"
COPY = ["sh", "-c", 'exec cat "$@" > "$0"']
GOAL = 300e6
"""Or as fast as the disk is."""


class Speeds:
    """How fast a command reads its files and writes another."""

    def __init__(self) -> None:
        self.runs = Runs()
        self.written: list[float] = []
        self.on_disk: list[float] = []

    def add(self, command: list[str], size: int, target: Path) -> None:
        """Run it once more, and remove what it wrote."""
        self.runs.add(command)
        begin = time.perf_counter_ns()
        with target.open("rb") as file:
            os.fsync(file.fileno())
        took = self.runs.times[-1]
        self.written.append(size / took * 1e9)
        self.on_disk.append(size / (took + time.perf_counter_ns() - begin) * 1e9)
        target.unlink()


def rows(effort: Effort) -> Iterator[Row]:
    """Yield speeds, and the memory that it takes."""
    events = 20_000 if effort.quick else 200_000
    effort.say(f"{SECTION} of {RANKS} ranks of {short(events)} events")
    merge, copy, alone = Speeds(), Speeds(), Runs()
    # A directory for temporary files may be in memory.
    place = ROOT / "bench-output"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        paths = [str(path) for path in write_ranks(Path(folder), events)]
        size = sum(Path(path).stat().st_size for path in paths)
        target = Path(folder, "merged")
        os.sync()
        for _ in range(effort.rounds(full=5, quick=2)):
            merge.add([*MTPROF, "merge", *paths, "--output", str(target)], size, target)
            copy.add([*COPY, str(target), *paths], size, target)
            alone.add([*MTPROF, "summary", paths[0]])
    what = f"{RANKS} ranks of {short(events)} events"
    speeds = Figure.of(merge.written), Figure.of(copy.written)
    yield Row(SECTION, f"{what}, beside a copy of the files", "B/s", *speeds, heading="peer")
    speeds = Figure.of(merge.on_disk), Figure.of(copy.on_disk)
    goal = Goal(least=min(GOAL, speeds[1].median))
    yield Row(SECTION, f"{what}, until all is on the disk, beside a copy", "B/s", *speeds, goal, heading="peer")
    peaks = Figure.of(merge.runs.peaks), Figure.of(alone.peaks)
    yield Row(SECTION, f"{what}: memory, beside a summary of one", "B", *peaks, heading="peer")
