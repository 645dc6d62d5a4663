"""``Effort``: how long to measure."""

from __future__ import annotations

import sys
import time

from benches.costs.machine import memory

# What PyTorch takes for each event when it makes objects of them, with room to spare.
BYTES_AN_EVENT = 10_000


SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


class Effort:
    """A full run or a quick one, and how it goes on."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.started = time.monotonic()
        sizes = SIZES[:-1] if quick else SIZES
        available = memory("MemAvailable")
        bearable = tuple(size for size in sizes[:-1] if size * BYTES_AN_EVENT < available)
        self.sizes: dict[str, tuple[int, ...]] = {"ours": sizes, "torch": bearable}
        """How many events to record: with PyTorch fewer, since it takes too long, and too much memory."""

    def rounds(self, full: int, quick: int) -> int:
        """Return how often to measure."""
        return quick if self.quick else full

    def say(self, message: str) -> None:
        """Tell who waits what happens now."""
        print(f"{time.monotonic() - self.started:6.0f} s  {message}", file=sys.stderr, flush=True)


def short(size: int) -> str:
    """Return a number of events as people say it.

    >>> short(10_000), short(10_000_000)
    ('10k', '10M')
    """
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1_000}k"
