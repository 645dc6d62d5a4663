"""How often `mtprof diff` finds an operator that takes 10 % longer, and reports something between equal runs.

Recordings of a small model that trains are made in turns, each in a process of its own: equal ones, and ones in which
`aten::exp` computes a tenth more numbers. Each try takes some of them at random for both sides.

    python -m benches.diff_tries --tries 20 --recordings 8
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, schedule

SLOWED = "aten::exp"


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

    for _ in range(50):
        step()
    plan = schedule(wait=0, warmup=1, active=steps, repeat=1)
    with profile(schedule=plan, on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:
        for _ in range(steps + 1):
            step()
            prof.step()


def record(folder: Path, name: str, rows: int, steps: int) -> Path:
    path = folder / f"{name}.json.gz"
    arguments = ["--record", str(path), "--rows", str(rows), "--steps", str(steps)]
    subprocess.run([sys.executable, "-m", "benches.diff_tries", *arguments], check=True)
    return path


def diff(folder: Path, a: list[Path], b: list[Path]) -> dict[str, object]:
    """Compare two sides, each a folder of links to its recordings."""
    for name, paths in (("a", a), ("b", b)):
        side = folder / name
        shutil.rmtree(side, ignore_errors=True)
        side.mkdir()
        for path in paths:
            (side / path.name).symlink_to(path)
    command = [sys.executable, "-m", "mindtorch_v2.profiler", "diff", "--json", str(folder / "a"), str(folder / "b")]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def changed(answer) -> set[str]:
    """The names of what was reported."""
    rows = {row["key"]["name"]: row["verdict"] for row in answer["rows"]} | {"(step)": answer["step"]["verdict"]}
    return {name for name, verdict in rows.items() if verdict not in {"unchanged", "untested"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--recordings", type=int, default=8, help="a side")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000, help=argparse.SUPPRESS)
    parser.add_argument("--record", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.record:
        train(given.record, given.rows, given.steps)
        return
    chance = random.Random(0)  # noqa: S311 - a choice of recordings, no secret
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        equal: list[Path] = []
        slower: list[Path] = []
        for turn in range(2 * given.recordings):
            equal += [record(folder, f"equal{turn}-{again}", given.rows, given.steps) for again in range(2)]
            slower.append(record(folder, f"slower{turn}", given.rows * 11 // 10, given.steps))
        false_alarms = found = 0
        for _ in range(given.tries):
            pair = chance.sample(equal, 2 * given.recordings)
            false_alarms += bool(changed(diff(folder, pair[: given.recordings], pair[given.recordings :])))
            chosen = chance.sample(slower, given.recordings)
            found += SLOWED in changed(diff(folder, pair[: given.recordings], chosen))
        print(f"{false_alarms} of {given.tries} equal pairs reported anything")
        print(f"{found} of {given.tries} slower ones were found")


if __name__ == "__main__":
    main()
