"""What files of a recording cost: to write, in size and memory, and to read.

Every file is of a recording of its own, and the first thing that is asked of it, since PyTorch can write one file a
recording; so ours include making the trace. No file is there before: to replace one, some file systems first write it
to the disk. The clock stops when the export returns, which may be before the system has written it there.
"""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.costs.effort import short
from benches.costs.figure import Goal, Row
from benches.costs.library import MODULES, Library
from benches.costs.recordings import LONG, MANY, WARM_UP, timed
from benches.costs.usage import peak, peak_begins
from benches.costs.worker import once, order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

SECTION = "files"
CHROME, COMPRESSED, PERFETTO = "trace.json", "trace.json.gz", "trace.pftrace"
FORMATS = {CHROME: "Chrome trace", COMPRESSED: "Chrome trace .gz", PERFETTO: "Perfetto trace"}
CHROME_GOAL = 150
# Shares of what the plain Chrome trace takes.
TIME_SHARES = {COMPRESSED: 3.0, PERFETTO: 1.0}
SIZE_SHARES = {PERFETTO: 0.2}
PEAK_GOAL = 64 * 2**20
LOAD_RATIO = 10


class Files:
    """Recordings that become files, in a worker."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def write(self, path: str, events: int) -> dict[str, float]:
        """Record and export; return time and size an event, and by how much the process grew at most."""
        self.export(self.stopped(WARM_UP), path)
        prof = self.stopped(events)
        took, growth = self.export(prof, path)
        answer = {"time": took / events, "size": Path(path).stat().st_size / events, "peak": growth}
        if self.library.side == "ours":
            took, growth = self.export(prof, path)
            answer |= {"time again": took / events, "peak again": growth}
        return answer

    def stopped(self, events: int) -> Any:
        """Return a profiler that has recorded."""
        prof = self.library.recorded(events)
        prof.stop()
        return prof

    def export(self, prof: Any, path: str) -> tuple[int, int]:
        """Write the format that the path says; return how long it took and by how much the process grew at most."""
        export = prof.export_perfetto_trace if path.endswith(PERFETTO) else prof.export_chrome_trace
        Path(path).unlink(missing_ok=True)
        before = peak_begins()
        took, _ = timed(lambda: export(path))
        return took, peak() - before

    def load(self, path: str, events: int) -> float:
        """Return how long an event takes to read: with ours into a trace, else into what Python makes of JSON."""
        read = self.library.profiler.Trace.load if self.library.side == "ours" else parse
        took, _ = timed(lambda: read(path))
        return took / events


def parse(path: str) -> Any:
    """Read a Chrome trace as programs do that have nothing better."""
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    return json.loads(Path(path).read_text(encoding="utf-8"))


class Samples:
    """What was measured of the files of one size, by format."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, side: str, form: str, values: dict[str, float]) -> None:
        """Take what a worker has answered."""
        for name, value in values.items():
            self.found[form, name][side].append(value)

    def row(self, what: str, form: str, name: str, unit: str = "ns", goal: Goal | None = None) -> Row:
        """Return both sides' figures."""
        return Row.of(SECTION, f"{what}, {short(self.size)}", unit, self.found[form, name], goal)

    def goal(self, form: str, name: str, shares: dict[str, float]) -> Goal | None:
        """Return a share of what our plain Chrome trace takes."""
        plain = statistics.median(self.found[CHROME, name]["ours"])
        return Goal(most=shares[form] * plain) if form in shares else None


def rows(effort: Effort) -> Iterator[Row]:
    """Yield what was measured, formats first; then what is known of the largest that both have written."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {side: Path(folder, side) for side in MODULES}
        for path in paths.values():
            path.mkdir()
        measured = {}
        for size in effort.sizes["ours"]:
            effort.say(f"{SECTION} of {short(size)} events")
            measured[size] = written(effort, size, paths)
            if size == effort.sizes["torch"][-1]:
                loads = list(load_rows(effort, size, paths))
    for form, name in FORMATS.items():
        for samples in measured.values():
            goal = Goal(most=CHROME_GOAL) if form == CHROME else samples.goal(form, "time", TIME_SHARES)
            yield samples.row(f"{name}, an event", form, "time", goal=goal)
    samples = measured[effort.sizes["torch"][-1]]
    yield samples.row("Chrome trace written again, an event", CHROME, "time again")
    for form, name in FORMATS.items():
        yield samples.row(f"size of a {name}, an event", form, "size", "B", samples.goal(form, "size", SIZE_SHARES))
    yield samples.row("memory to write a Chrome trace", CHROME, "peak", "B")
    yield samples.row("memory to write it again", CHROME, "peak again", "B", Goal(most=PEAK_GOAL))
    yield from loads


def written(effort: Effort, size: int, paths: dict[str, Path]) -> Samples:
    """Have every file written some times."""
    samples = Samples(size)
    sides = tuple(side for side in MODULES if size in effort.sizes[side])
    for number in range(effort.rounds(full=5 if size < LONG else 3, quick=2 if size < MANY else 1)):
        for form in FORMATS:
            able = ("ours",) if form == PERFETTO or (size >= LONG and number > 0) else sides
            for side in order(number, able):
                samples.add(side, form, once(side, Files, "write", path=str(paths[side] / form), events=size))
    return samples


def load_rows(effort: Effort, size: int, paths: dict[str, Path]) -> Iterator[Row]:
    """Yield how fast files are read, beside ``json.load``."""
    effort.say(f"reading files of {short(size)} events")
    files = {
        "torch's": paths["torch"] / CHROME,
        "ours": paths["ours"] / CHROME,
        "ours .gz": paths["ours"] / COMPRESSED,
    }
    for name, path in files.items():
        rounds = {"ours": effort.rounds(full=3, quick=2), "torch": 1}
        samples = {
            side: [once(side, Files, "load", path=str(path), events=size) for _ in range(times)]
            for side, times in rounds.items()
        }
        goal = Goal(ratio=LOAD_RATIO) if path.is_relative_to(paths["torch"]) else None
        what = f"Trace.load of {name} (beside json.load), an event, {short(size)}"
        yield Row.of(SECTION, what, "ns", samples, goal)
