"""One rank of a run with a straggler, under both profilers in turn: ``torchrun rank_program.py DIRECTORY``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from mindtorch_v2 import profiler as ours

WARM_UP = 1
STEPS = 6
STRAGGLER = 1
# Some 100 ms a step, after the other rank has said that it begins its collective.
PRODUCTS = 200


def train(rank: int, profiler: Any, path: Path) -> None:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    matrix = torch.randn(256, 256)
    store = dist.distributed_c10d._get_default_store()
    with profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=0, warmup=WARM_UP, active=STEPS),
        on_trace_ready=lambda recorded: recorded.export_chrome_trace(str(path)),
    ) as prof:
        for step in range(WARM_UP + STEPS):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 32)).sum()
            is_next = f"{profiler.__name__}: the other rank is in step {step}"
            if rank == STRAGGLER:
                # Busy, since the other rank is to be the one that is idle.
                while not store.check([is_next]):
                    torch.mm(matrix, matrix)
                for _ in range(PRODUCTS):
                    torch.mm(matrix, matrix)
            else:
                store.set(is_next, "yes")
            loss.backward()
            optimizer.step()
            prof.step()


def main(directory: Path) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    train(rank, torch.profiler, directory / "torch" / f"rank{rank}.json")
    train(rank, ours, directory / "ours" / f"rank{rank}.json.gz")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
