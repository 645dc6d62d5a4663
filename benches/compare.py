"""What got worse between two runs of ``benches.costs``: ``python -m benches.compare OLD NEW``.

Our figure of a row is worse if the middle half of its measurements lies above that of the old run, and its median by
more than a margin; below it, where more is better. The status is 1 if any is, and 2 for files that cannot be compared.
What became of the peer's figure says whether it may be the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.costs.figure import Row
from benches.costs.table import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.costs.figure import Figure

MARGIN = 0.05
# What was measured less often has no quartiles, and its range says little.
ENOUGH, FEW_MARGIN = 4, 0.25
# If these differ, so may the figures.
CIRCUMSTANCES = ("processor", "cores", "memory", "python", "torch")


@dataclass(frozen=True)
class Change:
    """A row that both runs have, with a figure of ours in each."""

    what: str
    unit: str
    is_rate: bool
    old: Figure
    new: Figure
    peer: float | None
    """How many times its old figure the peer's is."""

    @property
    def is_worse(self) -> bool:
        """Say whether ours rose, or fell if more is better."""
        return is_above(self.old, self.new) if self.is_rate else is_above(self.new, self.old)

    @property
    def is_better(self) -> bool:
        """Say whether ours fell, or rose if more is better."""
        return is_above(self.new, self.old) if self.is_rate else is_above(self.old, self.new)

    def __str__(self) -> str:
        old, new = (amount(figure.median, self.unit) for figure in (self.old, self.new))
        times = factor(self.old, self.new)
        ours = "" if times is None else f", {times:.2f} times"
        peer = "" if self.peer is None else f" (the peer's: {self.peer:.2f} times)"
        return f"{self.what}: {old} to {new}{ours}{peer}"


def is_above(figure: Figure, other: Figure) -> bool:
    """Say whether a figure is above another, beyond the spread of both and the margin."""
    is_rough = any(0 < each.count < ENOUGH for each in (figure, other))
    margin = (FEW_MARGIN if is_rough else MARGIN) * abs(other.median)
    return figure.low > other.high and figure.median - other.median > margin


def factor(old: Figure | None, new: Figure | None) -> float | None:
    """Return how many times the old figure the new one is, if both are something."""
    if old is None or new is None or not (old.is_something and new.is_something):
        return None
    return new.median / old.median


def changes(old: Sequence[Row], new: Sequence[Row]) -> list[Change]:
    """Return the rows that both have, in the order of the new ones."""
    known = {row.key: row for row in old}
    found = []
    for row in new:
        before = known.get(row.key)
        if before is not None and before.ours is not None and row.ours is not None:
            what = f"{row.section}: {row.what}"
            found.append(Change(what, row.unit, row.is_rate, before.ours, row.ours, factor(before.peer, row.peer)))
    return found


def gone(old: Sequence[Row], new: Sequence[Row]) -> list[str]:
    """Return the rows that only the old run has."""
    known = {row.key for row in new}
    return [f"{row.section}: {row.what}" for row in old if row.key not in known]


def report(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, bool]:
    """Return what to say about two runs, and whether anything got worse."""
    before, after = ([Row.read(row) for row in run["rows"]] for run in (old, new))
    found = changes(before, after)
    worse = [change for change in found if change.is_worse]
    better = [change for change in found if change.is_better]
    lines = [
        f"{name}: {old['machine'].get(name)} before, {new['machine'].get(name)} now"
        for name in CIRCUMSTANCES
        if old["machine"].get(name) != new["machine"].get(name)
    ]
    if old["quick"] or new["quick"]:
        lines.append("a quick run is a rough one")
    lines += [f"worse   {change}" for change in worse]
    lines += [f"better  {change}" for change in better]
    lines += [f"gone    {what}" for what in gone(before, after)]
    lines.append(f"{len(found)} rows: {len(worse)} worse, {len(better)} better, the others within their spread")
    return "\n".join(lines), bool(worse)


def stored(path: str) -> dict[str, Any]:
    """Return what a run has written; what is no such file is an error of the command line."""
    try:
        run: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        report(run, run)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path} has no figures that benches.costs wrote as it is now: run it again, with --out"
        raise argparse.ArgumentTypeError(message) from error
    return run


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two files."""
    parser = argparse.ArgumentParser(prog="python -m benches.compare", description=__doc__)
    parser.add_argument("old", type=stored)
    parser.add_argument("new", type=stored)
    options = parser.parse_args(arguments)
    text, is_worse = report(options.old, options.new)
    print(text)
    return int(is_worse)


if __name__ == "__main__":
    sys.exit(main())
