"""A program that computes on a GPU, recorded by one profiler: they cannot both have the GPU at once.

usage: cuda_program.py ours|torch OPTION,... OUT.json

Writes the Chrome trace, the averages and the warnings. Options are arguments of the profiler that are to be true, and
``sync``, which asks for waits.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

import mindtorch_v2.profiler as ours

PRODUCTS = 30
PROFILERS: dict[str, Any] = {"ours": ours, "torch": torch.profiler}


class Program:
    """Copies, sets, kernels on two streams, and a step of training, always the same."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        device = torch.device("cuda")
        self.model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 16)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.inputs = torch.randn(64, 256)
        self.pinned = torch.randn(1024, 1024).pin_memory()
        self.square = torch.randn(4096, 4096, device=device)
        self.product = torch.empty_like(self.square)
        self.side = torch.cuda.Stream()

    def run(self) -> None:
        with torch.profiler.record_function("copies"):
            on_device = self.inputs.to("cuda")
            other = self.pinned.to("cuda", non_blocking=True)
        with torch.profiler.record_function("training"):
            self.optimizer.zero_grad()
            loss = self.model(on_device).square().mean()
            loss.backward()
            self.optimizer.step()
        with torch.profiler.record_function("products"):
            for _ in range(PRODUCTS):
                torch.mm(self.square, self.square, out=self.product)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            total = other.add(1).sum()
        torch.cuda.current_stream().wait_stream(self.side)
        other.zero_()
        total.item()


def averages(prof: Any) -> list[dict[str, Any]]:
    rows = prof.key_averages()
    return [
        {
            "key": row.key,
            "count": row.count,
            "device": row.device_type.name,
            "self_device_time": row.self_device_time_total,
            "device_time": row.device_time_total,
        }
        for row in rows
    ]


def main(library: str, options: str, out: str) -> None:
    profiler = PROFILERS[library]
    wanted = {name for name in options.split(",") if name}
    program = Program()
    # What is made at the first time, such as cuBLAS's workspace, is made before.
    program.run()
    torch.cuda.synchronize()
    arguments: dict[str, Any] = dict.fromkeys(wanted - {"sync", "cpu"}, True)
    if "sync" in wanted:
        arguments["experimental_config"] = profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    kinds = profiler.ProfilerActivity
    activities = [kinds.CPU] if "cpu" in wanted else [kinds.CPU, kinds.CUDA]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with profiler.profile(activities=activities, **arguments) as prof:
            program.run()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "trace.json")
        prof.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
    results = {
        "trace": trace,
        "averages": averages(prof),
        "use_device": prof.use_device,
        "warnings": [str(warning.message) for warning in said],
        "table": prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=5),
    }
    Path(out).write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
