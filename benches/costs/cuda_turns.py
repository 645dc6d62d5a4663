"""Products of matrices on a GPU, recorded by one profiler whenever a line comes in, until there are no more.

usage: cuda_turns.py ours|torch

Writes a line for each: how long the kernels took, in microseconds, as JSON.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import mindtorch_v2.profiler as ours

torch: Any = import_module("torch")
PROFILERS: dict[str, Any] = {"ours": ours, "torch": torch.profiler}
# Before each window, so that the GPU is at its pace, and in it.
WARMUP, PRODUCTS = 5, 10
SIZE = 4096


def main(library: str) -> None:
    profiler = PROFILERS[library]
    kinds = profiler.ProfilerActivity
    one = torch.ones(SIZE, SIZE, device="cuda")
    product = torch.empty_like(one)

    def multiply(times: int) -> None:
        for _ in range(times):
            torch.mm(one, one, out=product)
        torch.cuda.synchronize()

    for _ in sys.stdin:
        multiply(WARMUP)
        with profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as prof:
            multiply(PRODUCTS)
        kernels = [
            event for event in prof.events() if event.device_type.name == "CUDA" and not event.is_user_annotation
        ]
        sys.stdout.write(json.dumps([event.time_range.elapsed_us() for event in kernels]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
