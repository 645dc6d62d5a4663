"""Rows as text for a terminal, or as Markdown."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from benches.costs.figure import significant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benches.costs.figure import Figure, Row

SCALES = {
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "B": (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
    "%": (("%", 1.0),),
    "B/s": (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)),
    "/s": (("/s", 1.0),),
}
NOTHING = "-"


def text(rows: Iterable[Row]) -> str:
    """Return the rows in columns, section after section."""
    tables = list(sections(rows))
    widths = [max(map(len, column)) for column in zip(*(line for table in tables for line in table), strict=True)]

    def aligned(line: tuple[str, ...]) -> str:
        what, *cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        return "  ".join([what, *cells]).rstrip()

    return "\n\n".join(joined(table, aligned, "-" * (sum(widths) + 2 * len(widths))) for table in tables)


def markdown(rows: Iterable[Row]) -> str:
    """Return a table for each section."""

    def piped(line: tuple[str, ...]) -> str:
        return f"| {' | '.join(line)} |"

    return "\n\n".join(joined(table, piped, "|---" * len(table[0]) + "|") for table in sections(rows))


def joined(table: list[tuple[str, ...]], layout: Callable[[tuple[str, ...]], str], rule: str) -> str:
    """Return a section's lines, with a rule under its headings."""
    head, *lines = map(layout, table)
    return "\n".join([head, rule, *lines])


def sections(rows: Iterable[Row]) -> Iterable[list[tuple[str, ...]]]:
    """Yield the cells of each section, headings first."""
    for (section, peer), members in groupby(rows, attrgetter("section", "heading")):
        yield [(section, "ours", peer, "ratio", f"spread: ours; {peer}", "goal"), *map(cells, members)]


def cells(row: Row) -> tuple[str, ...]:
    """Return what stands in a row."""
    ratio = NOTHING if row.ratio is None else digits(row.ratio)
    figures = (row.ours, row.peer)
    is_measured = any(figure is not None and figure.count for figure in figures)
    return (
        row.what,
        NOTHING if row.ours is None else amount(row.ours.median, row.unit),
        NOTHING if row.peer is None else amount(row.peer.median, row.unit),
        ratio,
        "; ".join(spread(figure, row.unit) for figure in figures) if is_measured else "",
        goal(row),
    )


def spread(figure: Figure | None, unit: str) -> str:
    """Return where the middle half of the measurements lay."""
    if figure is None:
        return NOTHING
    if figure.count <= 1:
        return "once"
    name, size = scale(figure.median, unit)
    return f"{digits(figure.low / size)} to {digits(figure.high / size)} {name}"


def goal(row: Row) -> str:
    """Return the goal and whether it is met."""
    if row.goal is None:
        return ""
    verdict = {True: "ok", False: "missed", None: "unclear"}[row.goal.is_met(row)]
    if row.goal.most is not None:
        return f"<= {amount(row.goal.most, row.unit)}, {verdict}"
    if row.goal.least is not None:
        return f">= {amount(row.goal.least, row.unit)}, {verdict}"
    return f"ratio >= {row.goal.ratio:g}, {verdict}"


def amount(value: float, unit: str) -> str:
    """Return a number with a unit that suits it.

    >>> amount(61.26, "ns"), amount(38_049.0, "ns"), amount(6.4e9, "B"), amount(-0.004, "%")
    ('61.3 ns', '38 µs', '6.4 GB', '-0.004 %')
    """
    name, size = scale(value, unit)
    return f"{digits(value / size)} {name}"


def scale(value: float, unit: str) -> tuple[str, float]:
    """Return the largest unit that the number has one of, or the smallest."""
    scales = SCALES[unit]
    return next(((name, size) for name, size in scales if significant(abs(value)) >= size), scales[-1])


def digits(value: float) -> str:
    """Return a number with three digits, and without an exponent."""
    rounded = significant(value)
    return f"{rounded:.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
