"""Reads docs/differences.md: the differences from torch that are meant, by section and by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).parents[2] / "docs" / "differences.md"
NAMES = re.compile(r"(?:`([^`]+)`(?:, | and )?)")


@dataclass(frozen=True)
class Difference:
    """A row: what it is about, what torch does, what ours does, and why."""

    names: tuple[str, ...]
    torch: str
    ours: str
    why: str


def read(text: str) -> dict[str, list[Difference]]:
    """The rows of each section. The names are what the first cell starts with, each in backticks; `|` is escaped."""
    sections: dict[str, list[Difference]] = {}
    rows: list[Difference] = []
    for line in text.splitlines():
        if line.startswith("## "):
            rows = sections.setdefault(line[3:].strip(), [])
        elif line.startswith("| `"):
            first, ours, why = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))
            names, torch = leading_names(first)
            rows.append(Difference(names, torch, ours, why))
    return sections


def leading_names(cell: str) -> tuple[tuple[str, ...], str]:
    names: list[str] = []
    position = 0
    while match := NAMES.match(cell, position):
        names.append(match[1].replace("\\|", "|"))
        position = match.end()
    return tuple(names), cell[position:].lstrip(": ")


SECTIONS = read(PATH.read_text(encoding="utf-8"))


def names(section: str) -> frozenset[str]:
    """Every name that a section has a row for."""
    return frozenset(name for row in SECTIONS[section] for name in row.names)
