"""The durations of kernels on an NVIDIA GPU, by our profiler and by PyTorch's."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from benches.costs.figure import Figure, Goal, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

PROGRAM = Path(__file__).with_name("cuda_turns.py")
KERNEL = "a CUDA kernel, a product of 4096x4096"
DIFFERENCE = "a CUDA kernel, beside PyTorch's profiler"
MOST_PERCENT = 1.0


def has_gpu() -> bool:
    """Return whether PyTorch finds a GPU."""
    command = [sys.executable, "-c", "import torch; print(torch.cuda.is_available())"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "True"


class Turns:
    """A process in which one profiler records products of matrices, a window at a time."""

    def __init__(self, library: str) -> None:
        command = [sys.executable, str(PROGRAM), library]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.durations_ns: list[float] = []

    def take(self) -> list[float]:
        """Record a window, and return how long its kernels took, in nanoseconds."""
        questions, answers = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        questions.write("go\n")
        questions.flush()
        return [1000.0 * us for us in json.loads(answers.readline())]

    def leave(self) -> None:
        """End the process."""
        self._process.communicate()


def rows(section: str, effort: Effort) -> Iterator[Row]:
    """Yield the durations and their difference, or nothing without a GPU.

    The profilers take turns, because a GPU that has become warmer is slower.
    """
    if not has_gpu():
        return
    ours, theirs = Turns("ours"), Turns("torch")
    try:
        # The first window includes what happens only once, such as loading kernels.
        ours.take(), theirs.take()
        for _ in range(effort.rounds(full=32, quick=8)):
            ours.durations_ns += ours.take()
            theirs.durations_ns += theirs.take()
    finally:
        ours.leave()
        theirs.leave()
    yield Row(section, KERNEL, "ns", Figure.of(ours.durations_ns), Figure.of(theirs.durations_ns))
    mine, peers = (statistics.median(turns.durations_ns) for turns in (ours, theirs))
    difference = 100 * abs(mine / peers - 1)
    yield Row(section, DIFFERENCE, "%", Figure.exact(difference), goal=Goal(most=MOST_PERCENT))
