"""Prints what each name takes in the median step of two traces, in microseconds, as JSON: ``… A B``.

A kernel is in the step that launched it. Whether a difference is more than noise is not asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

COLUMNS = ("name", "cat", "ts", "dur", "correlation")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def in_median_step(path: str) -> dict[str, float]:
    """Return what operators, calls and kernels take."""
    events = json.loads(Path(path).read_bytes())["traceEvents"]
    frame = pd.DataFrame([row(event) for event in events if event["ph"] == "X"], columns=COLUMNS)
    steps = frame[frame["name"].str.startswith("ProfilerStep#")].sort_values("ts")
    calls = frame[frame["cat"].isin(("cuda_runtime", "cuda_driver"))].set_index("correlation")["ts"]
    work = frame["cat"].isin(WORK)
    frame["at"] = frame["ts"].where(~work, frame["correlation"].map(calls[~calls.index.duplicated()]))
    frame["step"] = steps["ts"].searchsorted(frame["at"], side="right") - 1
    taken = frame[work | frame["cat"].isin(("cpu_op", "cuda_runtime", "cuda_driver"))]
    sums = taken.pivot_table(index="step", columns="name", values="dur", aggfunc="sum", fill_value=0.0)
    return sums.median().to_dict()


def row(event: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is asked of an event."""
    return event["name"], event["cat"], event["ts"], event["dur"], event.get("args", {}).get("correlation", -1)


print(json.dumps([in_median_step(path) for path in sys.argv[1:]]))
