"""What ``mtprof summary`` and ``mtprof diff`` take beside others that answer the same questions of the same files.

Each runs in a process of its own. The files are such as PyTorch writes; the system has them in memory. Answers have to
be equal, or it would be no comparison.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benches.costs.command import MTPROF, beside, in_turns, reader
from benches.costs.effort import short
from benches.costs.traces import write_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benches.costs.command import Runs
    from benches.costs.effort import Effort
    from benches.costs.figure import Row

SECTION = "mtprof, of traces of PyTorch's"
PANDAS, HOLISTIC = "json.load and pandas", "HolisticTraceAnalysis"
CLOSE_US = 0.01
SHORTER = "cudaLaunchKernel"
"""It contains nothing that would then reach beyond its end."""
WITHIN_ITSELF = {"aten::mse_loss_backward"}
"""Its inner time is in its outer; who adds up lengths counts it twice."""


def events(effort: Effort) -> int:
    """Return how many events the traces have."""
    return 100_000 if effort.quick else 1_000_000


def summary_rows(effort: Effort) -> Iterator[Row]:
    """Yield what a summary takes."""
    count = events(effort)
    effort.say(f"mtprof summary of {short(count)} events")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        write_trace(path, count)
        commands = {
            "ours": [*MTPROF, "summary", str(path)],
            PANDAS: [*reader("pandas_summary"), str(path)],
            HOLISTIC: [*reader("holistic_summary"), str(path)],
        }
        runs = in_turns(effort.rounds(full=3, quick=1), commands)
    (ours,) = json.loads(runs["ours"].answer)
    check_idle(ours["devices"][0]["idle_ns"] / 1000, runs)
    yield from beside(SECTION, f"summary of {short(count)} events", runs)


def check_idle(ours: float, runs: Mapping[str, Runs]) -> None:
    """See that all say the same of how long the device was idle."""
    for name in (PANDAS, HOLISTIC):
        theirs = float(runs[name].answer)
        if abs(ours - theirs) > CLOSE_US:
            raise RuntimeError(f"the device was idle for {ours} us, by {name} for {theirs} us")


def diff_rows(effort: Effort) -> Iterator[Row]:
    """Yield what a comparison takes."""
    count = events(effort)
    effort.say(f"mtprof diff of two traces of {short(count)} events")
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder, "a.json"), Path(folder, "b.json")
        write_trace(a, count, seed=0)
        write_trace(b, count, seed=1, shorter=SHORTER)
        commands = {
            "ours": [*MTPROF, "diff", str(a), str(b)],
            PANDAS: [*reader("pandas_diff"), str(a), str(b)],
        }
        runs = in_turns(effort.rounds(full=3, quick=1), commands)
    check_medians(runs)
    yield from beside(SECTION, f"diff of two of {short(count)} events", runs)


def check_medians(runs: Mapping[str, Runs]) -> None:
    """See that both say the same of what each name takes in the median step, and that the change was found."""
    answer = json.loads(runs["ours"].answer)
    found = {row["key"]["name"]: row for row in answer["rows"]}
    for side, medians in zip("ab", json.loads(runs[PANDAS].answer), strict=True):
        for name, theirs in medians.items():
            ours = found[name][side]["per_step"]["total_ns"] / 1000
            if abs(ours - theirs) > CLOSE_US and name not in WITHIN_ITSELF:
                raise RuntimeError(f"{name} takes {ours} us in the median step, by {PANDAS} {theirs} us")
    if found[SHORTER]["verdict"] != "faster":
        raise RuntimeError(f"{SHORTER} takes a tenth less, and is {found[SHORTER]['verdict']}")
