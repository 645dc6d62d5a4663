"""A span of time."""

from __future__ import annotations


class Interval:
    """From ``start`` to ``end``, in microseconds.

    >>> Interval(2.0, 5.5).elapsed_us()
    3.5
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Return its length."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"
