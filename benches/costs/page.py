"""What the report page of a large trace takes: to be written, to be drawn, and while someone moves in it."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benches.costs.answers import events
from benches.costs.command import MTPROF, Runs, reader
from benches.costs.effort import short
from benches.costs.figure import Figure, Row
from benches.costs.traces import write_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

SECTION = "report page, in Chromium"


def rows(effort: Effort) -> Iterator[Row]:
    """Yield what it takes to write, and what a browser shows."""
    effort.say(SECTION)
    writing, showing = Runs(), Runs()
    shown: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        trace, page = Path(folder, "trace.json"), Path(folder, "report.html")
        count = write_trace(trace, events(effort))
        for _ in range(effort.rounds(full=3, quick=1)):
            writing.add([*MTPROF, "report", str(trace), "--output", str(page)])
            showing.add([*reader("show_page"), str(page)])
            for what, unit, value in json.loads(showing.answer):
                shown[what, unit].append(value)
        size = page.stat().st_size
    written = f"of {short(events(effort))} events, read and written"
    yield Row(SECTION, written, "ns", Figure.of(writing.times), heading="peer")
    yield Row(SECTION, "memory at most to write it", "B", Figure.of(writing.peaks), heading="peer")
    yield Row(SECTION, "its size, an event", "B", Figure.exact(size / count), heading="peer")
    for (what, unit), values in shown.items():
        yield Row(SECTION, what, unit, Figure.of(values), heading="peer")
