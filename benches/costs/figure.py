"""``Figure``: a median with its spread. ``Goal``: what it should be. ``Row``: one line of the table."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Samples = Mapping[str, Sequence[float]]
    """What was measured, by the name of the library: ``ours`` or ``torch``."""


@dataclass(frozen=True)
class Figure:
    """What was measured, so many times."""

    median: float
    low: float
    """The first quartile; of fewer than four measurements the least."""
    high: float
    count: int
    """How many measurements there were; 0 if it is known without."""

    @property
    def error(self) -> float:
        """Return how far the true median may well be from this one: the notch of a box plot."""
        quartiles = self.high - self.low
        return 1.57 * quartiles / self.count**0.5 if self.count >= 4 else quartiles

    @property
    def is_something(self) -> bool:
        """Say whether it can be told from nothing."""
        return self.median > self.error

    @classmethod
    def of(cls, samples: Sequence[float]) -> Figure:
        """Sum up measurements."""
        low, high = min(samples), max(samples)
        if len(samples) >= 4:
            low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(statistics.median(samples), low, high, len(samples))

    @classmethod
    def exact(cls, value: float) -> Figure:
        """Return a figure that is known: a size, say."""
        return cls(value, value, value, 0)

    @classmethod
    def read(cls, data: dict[str, Any] | None) -> Figure | None:
        """Return the figure that was stored, if there was one."""
        return None if data is None else cls(**data)


@dataclass(frozen=True)
class Goal:
    """A limit for our figure, or for how many times as good as the peer's it is."""

    most: float | None = None
    least: float | None = None
    """Of a rate."""
    ratio: float | None = None

    def is_met(self, row: Row) -> bool | None:
        """Say whether the row keeps to it, as precisely as rows are printed; nothing if the row says nothing."""
        if row.ours is None or not row.ours.is_something:
            return None
        if self.most is not None:
            return significant(row.ours.median) <= significant(self.most)
        if self.least is not None:
            return significant(row.ours.median) >= significant(self.least)
        return row.ratio is not None and self.ratio is not None and row.ratio >= self.ratio


@dataclass(frozen=True)
class Row:
    """What something costs with ours, and with PyTorch or another peer."""

    section: str
    what: str
    unit: str
    """``ns``, ``B`` or ``%``, of which less is better; ``B/s`` or ``/s``, of which more is."""
    ours: Figure | None = None
    peer: Figure | None = None
    goal: Goal | None = None
    details: dict[str, float] = field(default_factory=dict)
    """Other figures, for who reads the file."""
    heading: str = "torch"
    """Who the peer is: ``torch``, or ``peer`` if each row names its own."""

    @classmethod
    def of(cls, section: str, what: str, unit: str, samples: Samples, goal: Goal | None = None) -> Row:
        """Sum up what was measured with each library; one that has nothing has no figure."""
        ours, peer = (Figure.of(found) if (found := samples.get(side)) else None for side in ("ours", "torch"))
        return cls(section, what, unit, ours, peer, goal)

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells it from other rows."""
        return self.section, self.what

    @property
    def is_rate(self) -> bool:
        """Say whether more is better."""
        return self.unit.endswith("/s")

    @property
    def ratio(self) -> float | None:
        """Return how many times as good as the peer's figure ours is, if both are something."""
        if self.ours is None or self.peer is None or not (self.ours.is_something and self.peer.is_something):
            return None
        ratio = self.peer.median / self.ours.median
        return 1 / ratio if self.is_rate else ratio

    def data(self) -> dict[str, Any]:
        """Return it for a file."""
        return {**asdict(self), "ratio": self.ratio, "goal_met": None if self.goal is None else self.goal.is_met(self)}

    @classmethod
    def read(cls, data: dict[str, Any]) -> Row:
        """Return the row that was stored."""
        goal = None if data["goal"] is None else Goal(**data["goal"])
        ours, peer = Figure.read(data["ours"]), Figure.read(data["peer"])
        return cls(data["section"], data["what"], data["unit"], ours, peer, goal, data["details"], data["heading"])


def significant(value: float) -> float:
    """Round to the three digits that are printed."""
    return float(f"{value:.3g}")
