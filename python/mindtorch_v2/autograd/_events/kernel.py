"""A kernel that an operation launched."""

from __future__ import annotations

from typing import NamedTuple


class Kernel(NamedTuple):
    """A kernel: its name, the device's index, and its duration in microseconds.

    >>> Kernel("add", 0, 1.5).duration
    1.5
    """

    name: str
    device: int
    duration: float
