"""Two ranks of a real run, recorded by PyTorch and by ours, are merged and summed up, and the straggler is named."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.commands import mtprof
from tests.torch import rank_program
from tests.torch.rank_program import PRODUCTS, STEPS, STRAGGLER

PROFILERS = ("torch", "ours")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ranks")
    for profiler in PROFILERS:
        (directory / profiler).mkdir()
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run([*launch, rank_program.__file__, str(directory)], check=True, env=environment)
    return directory


@pytest.mark.parametrize("profiler", PROFILERS)
def test_ranks_are_merged_and_the_straggler_is_named(recorded: Path, tmp_path: Path, profiler: str) -> None:
    merged = tmp_path / "merged.json"
    told = mtprof("merge", recorded / profiler, "-o", merged)
    first, second = told["ranks"]
    assert (first["rank"], first["compared_by"]) == (0, "reference")
    assert (second["rank"], second["compared_by"]) == (1, "collectives")
    # Every step has the collective that averages the gradients. Both ranks have one clock, but on a busy machine a
    # collective can end later in one of them.
    assert second["shared"] >= STEPS
    assert abs(second["offset_ns"]) < 1_000_000_000
    check_straggler(told["stragglers"])
    check_merged(
        json.loads(merged.read_text("utf-8")), [recorded / profiler / Path(row["file"]).name for row in told["ranks"]]
    )


@pytest.mark.parametrize("profiler", PROFILERS)
def test_a_summary_of_ranks_tells_them_apart(recorded: Path, profiler: str) -> None:
    told = mtprof("summary", recorded / profiler)
    assert [row["rank"] for row in told["ranks"]] == [0, 1]
    assert [row["steps"] for row in told["ranks"]] == [STEPS, STEPS]
    assert told["ranks"][STRAGGLER]["top"]["name"] == "aten::mm"
    # The other waits for it.
    assert told["idle_ns"]["highest"]["rank"] == 1 - STRAGGLER
    check_straggler(told["stragglers"])


def check_straggler(told: dict[str, Any]) -> None:
    assert told["by"] == "collectives"
    straggler = told["straggler"]
    assert straggler["rank"] == STRAGGLER
    # The last collective may end after the recording does.
    assert straggler["of"] in {STEPS - 1, STEPS}
    # The machine may have stopped the other rank for longer in a step or two.
    assert straggler["last_in"] > STEPS // 2
    assert straggler["caused_ns"] > 0


def check_merged(file: dict[str, Any], files: list[Path]) -> None:
    """That every span of each rank is there, in the rank's process, and as long as it was."""
    products = []
    for rank, path in enumerate(files):
        pid = (rank + 1) * 100_000
        spans = [event for event in file["traceEvents"] if event.get("pid") == pid and event["ph"] == "X"]
        told = file["ranks"][rank]
        assert (told["rank"], told["head"]["distributedInfo"]["rank"]) == (rank, rank)
        assert {span["tid"] for span in spans} == threads_of(path)
        products.append(sum(span["name"] == "aten::mm" for span in spans))
    assert products[STRAGGLER] >= products[1 - STRAGGLER] + STEPS * PRODUCTS


def threads_of(path: Path) -> set[int]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = json.loads(text)["traceEvents"]
    return {event["tid"] for event in events if event["ph"] == "X" and isinstance(event["pid"], int)}
