"""Traces of ranks that were made up: what there is to find out about them is known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

RANKS = 3
STEPS = 8
STEP_US = 1000.0
LATE = 1  # this rank comes to the first collective of a step
LATE_US = 200.0  # so much later than the others
BASE_NS = 1_790_857_026_000_000_000


@dataclass
class Rank:
    """A rank whose clock is off, with a GPU, memory, and two collectives in a step."""

    number: int

    @property
    def ahead_ns(self) -> int:
        return self.number * 3_000_017

    def write(self, directory: Path) -> None:
        """Write its trace, as PyTorch does."""
        told = {"backend": "nccl", "rank": self.number, "world_size": RANKS}
        head = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": told, "host_name": f"node{self.number}"}
        file = {
            **head,
            "baseTimeNanoseconds": BASE_NS + self.ahead_ns,
            "traceEvents": [event for step in range(STEPS) for event in self.step(step)],
        }
        (directory / f"trace.{self.number}.pt.trace.json").write_text(json.dumps(file), encoding="utf-8")

    def step(self, step: int) -> list[dict[str, Any]]:
        """Return the events of a step."""
        start = 1_000_000.0 + step * STEP_US
        late = LATE_US if self.number == LATE else 0.0
        noise = (step * 7 + self.number * 13) % 11 / 10  # no two ranks leave a collective at the same moment
        first, second = step * 10 + 1, step * 10 + 2
        return [
            span("user_annotation", f"ProfilerStep#{step}", start, STEP_US - 1),
            span("cpu_op", "aten::linear", start + 10, 60 + late, **{"External id": first}),
            span("cpu_op", "aten::addmm", start + 12, 40 + late, **{"External id": second}),
            span("cuda_runtime", "cudaLaunchKernel", start + 15, 5, correlation=second, **{"External id": second}),
            work("gemm", start + 30, 50 + late, stream=7, correlation=second, **{"External id": second}),
            work("copy", start + 60, 30, cat="gpu_memcpy", stream=8, bytes=64),
            work("ncclDevKernel_AllReduce_Sum_f32(Args)", start + 300 + late, 500 - late + noise, stream=9),
            work("ncclDevKernel_AllReduce_Sum_f32(Args)", start + 850, 100 + noise, stream=9),
            memory(start + 20, 1000 + 100 * self.number, 512 + 1000 + 100 * self.number),
            memory(start + 900, -1000 - 100 * self.number, 512),
        ]


def span(cat: str, name: str, ts: float, dur: float, **args: object) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 4711, "tid": 4711, "ts": ts, "dur": dur, "args": args}


def work(name: str, ts: float, dur: float, *, stream: int, cat: str = "kernel", **args: object) -> dict[str, Any]:
    args = {"device": 0, "stream": stream, **args}
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur, "args": args}


def memory(ts: float, size: int, total: int) -> dict[str, Any]:
    args = {"Total Allocated": total, "Bytes": size, "Device Id": 0, "Device Type": 1, "Addr": 4096}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 4711, "tid": 4711, "ts": ts, "args": args}


def write_all(directory: Path) -> None:
    directory.mkdir()
    for number in range(RANKS):
        Rank(number).write(directory)
