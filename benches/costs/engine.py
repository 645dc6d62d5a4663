"""What a span costs a Rust program, from the file that ``cargo bench -p mindtorch-benches -- --json FILE`` writes.

Its cases take turns too, all in one process. The peers are those that the rows name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benches.costs.figure import Figure, Goal, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION = "Rust, native API"
ON, OFF = "A span while recording", "A span with no session"
MEMORY = "A span that allocates and frees, while recording"
OURS, OUR_LAYER = "mindtorch-profiler", "tracing, our layer"
GOALS = {ON: Goal(most=35), OFF: Goal(most=1)}
# A table, and in it ours and a peer.
PAIRS = (
    (ON, OURS, "two raw clock reads"),
    (ON, OURS, "fastrace"),
    (ON, OURS, "puffin"),
    (ON, OURS, "tracing-chrome"),
    (ON, OUR_LAYER, "tracing-chrome"),
    (MEMORY, OURS, "four raw clock reads"),
    (MEMORY, OURS, "four clock reads and four records of 32 bytes in an array"),
    (OFF, OURS, "an empty loop"),
    (OFF, OURS, "fastrace"),
    (OFF, OURS, "puffin"),
)


def rows(path: Path) -> Iterator[Row]:
    """Yield ours beside each of the others."""
    figures = {
        (table["title"], case.pop("name")): Figure(**case)
        for table in json.loads(path.read_text(encoding="utf-8"))
        for case in table["cases"]
    }
    for title, ours, peer in PAIRS:
        through = "" if ours == OURS else f" ({ours})"
        what = f"{title.lower()}{through}, beside {peer}"
        goal = GOALS.get(title) if ours == OURS else None
        yield Row(SECTION, what, "ns", figures[title, ours], figures[title, peer], goal, heading="peer")
