"""Commands in processes of their own: how long they take, and how much memory at most."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.costs.figure import Figure, Goal, Row
from benches.costs.machine import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MTPROF = [sys.executable, "-m", "mindtorch_v2.profiler", "--json"]
"""The command as the package has it, with the interpreter that this takes."""
READERS_PYTHON = os.environ.get("READERS_PYTHON", str(ROOT / ".venv-readers" / "bin" / "python"))
# It rounds beginnings up and ends down to microseconds, if it is not told otherwise.
EXACT = {"HTA_DISABLE_NS_ROUNDING": "1"}
TIME_RATIO = 10
MEMORY_RATIO = 5


def reader(program: str) -> list[str]:
    """Return the command that runs one of the programs in ``readers``."""
    return [READERS_PYTHON, "-m", f"benches.costs.readers.{program}"]


@dataclass
class Runs:
    """What a command took, each time that it ran."""

    times: list[float] = field(default_factory=list)
    """Nanoseconds."""
    peaks: list[float] = field(default_factory=list)
    """Bytes."""
    answer: str = ""
    """What it printed the last time."""

    def add(self, command: Sequence[str]) -> None:
        """Run it once more.

        The system counts the most memory that this process ever had as the other's, too: peaks are true only as long as
        this is the smaller one.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            begin = time.perf_counter_ns()
            process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **EXACT}, stdout=out)
            _, status, usage = os.wait4(process.pid, 0)
            self.times.append(time.perf_counter_ns() - begin)
            self.peaks.append(usage.ru_maxrss * 1024)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
            out.seek(0)
            self.answer = out.read()


def in_turns(rounds: int, commands: Mapping[str, Sequence[str]]) -> dict[str, Runs]:
    """Run each of the commands so many times."""
    runs = {name: Runs() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].add(command)
    return runs


def beside(section: str, what: str, runs: Mapping[str, Runs]) -> list[Row]:
    """Return what the first command takes beside each of the others."""
    (_, ours), *others = runs.items()
    found = []
    for name, other in others:
        times = Figure.of(ours.times), Figure.of(other.times)
        peaks = Figure.of(ours.peaks), Figure.of(other.peaks)
        found += [
            Row(section, f"{what}, beside {name}", "ns", *times, Goal(ratio=TIME_RATIO), heading="peer"),
            Row(section, f"{what}: memory, beside {name}", "B", *peaks, Goal(ratio=MEMORY_RATIO), heading="peer"),
        ]
    return found
