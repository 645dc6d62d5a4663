"""How often ``mtprof diff`` and ``mtprof check`` find an operator that takes 10 % longer, and report what is not there.

For each try, recordings of a small model that trains are made for three sides: two that are equal, and one in which
``aten::exp`` computes a tenth more numbers. They are made in turns, each in a process of its own. The first side is
then compared with both others, and so is a baseline of it.

    python -m benches.diff_tries --tries 20 --recordings 8 --workers 16

With ``--workers``, so many are made at a time, each on a processor of its own. Every processor records as much for each
side. The status is 0 if every slow-down was found, and nothing where there was none.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, schedule

SLOWED = "aten::exp"
ROWS = 1000
BEFORE, EQUAL, SLOWER = "before", "equal", "slower"
SIDES = {BEFORE: ROWS, EQUAL: ROWS, SLOWER: ROWS * 11 // 10}
WARM_UP = 50
BASELINE = "baseline.json"


def train(path: str, rows: int, steps: int) -> None:
    """Record steps of a model, and of `exp` on so many rows."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.LayerNorm(256), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, wanted, many = torch.randn(128, 128), torch.randn(128, 10), torch.randn(rows, 100)

    def step() -> None:
        optimizer.zero_grad()
        ((model(inputs) - wanted) ** 2).mean().backward()
        optimizer.step()
        for _ in range(4):
            many.exp()

    for _ in range(WARM_UP):
        step()
    plan = schedule(wait=0, warmup=1, active=steps, repeat=1)
    with profile(schedule=plan, on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:
        for _ in range(steps + 1):
            step()
            prof.step()


class Processors:
    """Those that recordings are made on, one each; or any, if nobody says how many."""

    def __init__(self, workers: int | None) -> None:
        known = sorted(os.sched_getaffinity(0))
        if workers is not None and workers > len(known):
            sys.exit(f"{workers} workers need a processor each, and there are {len(known)}")
        self.workers = workers or 1
        self.free: queue.Queue[int | None] = queue.Queue()
        for processor in known[:workers] if workers else [None]:
            self.free.put(processor)

    def record(self, folder: Path, number: int, steps: int) -> None:
        """Make a recording for every side, all on one processor, in an order that changes."""
        processor = self.free.get()
        try:
            order = list(itertools.permutations(SIDES))
            for side in order[number % len(order)]:
                arguments = ["--record", str(folder / side / f"{number}.json.gz"), "--rows", str(SIDES[side])]
                arguments += ["--steps", str(steps)]
                if processor is not None:
                    arguments += ["--processor", str(processor)]
                subprocess.run([sys.executable, "-m", "benches.diff_tries", *arguments], check=True)
        finally:
            self.free.put(processor)


def mtprof(*arguments: str | Path) -> Any:
    """Return the answer of a command, be it yes or no."""
    command = [sys.executable, "-m", "mindtorch_v2.profiler", "--json", *map(str, arguments)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    if done.returncode not in {0, 1}:
        raise subprocess.CalledProcessError(done.returncode, command)
    return json.loads(done.stdout)


@dataclass(frozen=True)
class Answer:
    """What a command says of two sides."""

    reported: dict[str, str]
    """What takes longer or less, and how much."""
    slowed: str
    """What is known of the operator, whether that is reported or not."""

    def __str__(self) -> str:
        reported = ", ".join(f"{name} {change}" for name, change in self.reported.items())
        return reported or f"nothing ({SLOWED} {self.slowed})"


def by_diff(folder: Path, side: str) -> Answer:
    """Compare a side with the first."""
    changes = all_changes(mtprof("diff", folder / BEFORE, folder / side))
    reported = {name: change for name, change in changes.items() if not change.startswith(("unchanged", "untested"))}
    return Answer(reported, changes[SLOWED])


def by_check(folder: Path, side: str) -> Answer:
    """Compare a side with the baseline of the first."""
    answer = mtprof("check", folder / side, "--baseline", folder / BASELINE)
    changes = all_changes(answer["diff"])
    lines = answer["slower"]
    reported = {name: change for name, change in changes.items() if any(line.startswith(f"{name}: ") for line in lines)}
    if len(reported) != len(lines) or answer["ok"] == bool(lines):
        raise RuntimeError(f"check has an answer that is not understood: {lines}")
    return Answer(reported, changes[SLOWED])


def all_changes(diff: dict[str, Any]) -> dict[str, str]:
    """Return what became of everything that was compared, in words."""
    rows = {row["key"]["name"]: (row["verdict"], row["cpu"] or row["device"]) for row in diff["rows"]}
    rows["step"] = (diff["step"]["verdict"], diff["step"])
    return {
        name: f"{verdict} {change['relative']:+.1%} (noise {change['noise']:.1%})" if change else verdict
        for name, (verdict, change) in rows.items()
    }


COMMANDS = {"diff": by_diff, "check": by_check}


@dataclass(frozen=True)
class Outcome:
    """What a command says of a try."""

    equal: Answer
    slower: Answer

    @property
    def is_found(self) -> bool:
        return SLOWED in self.slower.reported

    @property
    def is_false(self) -> bool:
        return bool(self.equal.reported)

    @property
    def has_others(self) -> bool:
        """Whether anything was reported of the slower side but the operator and the step, which contains it."""
        return not self.slower.reported.keys() <= {SLOWED, "step"}


def outcomes(folder: Path) -> dict[str, Outcome]:
    """Ask both commands about a try."""
    mtprof("check", folder / BEFORE, "--write-baseline", folder / BASELINE)
    return {name: Outcome(ask(folder, EQUAL), ask(folder, SLOWER)) for name, ask in COMMANDS.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benches.diff_tries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--recordings", type=int, default=8, help="of each side")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--workers", type=int, help="how many to make at a time, each on a processor of its own")
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--record", help=argparse.SUPPRESS)
    parser.add_argument("--processor", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.record:
        if given.processor is not None:
            os.sched_setaffinity(0, {given.processor})
        train(given.record, given.rows, given.steps)
        return 0
    processors = Processors(given.workers)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(processors.workers) as pool:
        folders = [Path(name, f"try{number}") for number in range(given.tries)]
        for folder, side in itertools.product(folders, SIDES):
            (folder / side).mkdir(parents=True)
        # All tries get their first recording, then all their second: whatever the machine does meanwhile is in all.
        made = [
            pool.submit(processors.record, folder, number, given.steps)
            for number in range(given.recordings)
            for folder in folders
        ]
        for recording in made:
            recording.result()
        count, took = len(SIDES) * len(made), time.monotonic() - begin
        say(f"{count} recordings of {given.steps} steps in {took:.0f} s; the load is {os.getloadavg()[0]:.1f}")
        found = []
        for of_try in pool.map(outcomes, folders):
            found.append(of_try)
            for command, outcome in of_try.items():
                say(f"try {len(found)}, {command}: equal: {outcome.equal}; slower: {outcome.slower}")
    return report(found)


def say(text: str) -> None:
    """Print a line at once: who stops this wants to have what there is."""
    print(text, flush=True)


def report(found: list[dict[str, Outcome]]) -> int:
    """Say how often each command was right; return the status."""
    tries = len(found)
    is_right = True
    for command in COMMANDS:
        answers = [of_try[command] for of_try in found]
        slow = sum(answer.is_found for answer in answers)
        false = sum(answer.is_false for answer in answers)
        others = sum(answer.has_others for answer in answers)
        say(f"{command}: {slow} of {tries} slow-downs found, {false} of {tries} false alarms")
        say(f"{command}: something else reported in {others} of {tries} tries with a slow-down")
        is_right &= slow == tries and false == 0
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
