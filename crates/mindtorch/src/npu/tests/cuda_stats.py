"""Writes cuda_stats.txt: what torch's CUDA allocator counts for a sequence that the tests replay on the NPU's.

Needs torch and a GPU: ``python cuda_stats.py > cuda_stats.txt``.
"""

from __future__ import annotations

import sys

import torch

# In the steps after these, which of two free blocks is taken depends on where they happen to lie.
STEPS = 2500
EVERY = 250
MIB = 1 << 20


class Random:
    """The generator that the tests use, too."""

    def __init__(self) -> None:
        self.state = 1

    def below(self, limit: int) -> int:
        """Return the next number, which is less than the limit."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def size(random: Random) -> int:
    """Return a size for which the allocator has a rule of its own."""
    match random.below(8):
        case 0 | 1 | 2:
            return 1 + random.below(MIB)
        case 3 | 4 | 5:
            return MIB + 1 + random.below(9 * MIB)
        case 6:
            return 10 * MIB + random.below(30 * MIB)
        case _:
            return 512 * (1 + random.below(64))


def main() -> None:
    """Write the statistics of some moments of the sequence, one line each."""
    random = Random()
    streams = [torch.cuda.default_stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    live: list[torch.Tensor] = []
    keys = [key for key in torch.cuda.memory_stats() if "bytes_by_private" not in key]
    sys.stdout.write(" ".join(keys) + "\n")
    for step in range(1, STEPS + 1):
        if not live or random.below(100) < 52:
            with torch.cuda.stream(streams[random.below(2)]):
                live.append(torch.empty(size(random), dtype=torch.uint8, device="cuda"))
        else:
            at = random.below(len(live))
            live[at], live[-1] = live[-1], live[at]
            live.pop()
        if step % 1111 == 0:
            torch.cuda.empty_cache()
        if step % EVERY == 0:
            stats = torch.cuda.memory_stats()
            sys.stdout.write(" ".join(str(stats[key]) for key in keys) + "\n")


if __name__ == "__main__":
    main()
