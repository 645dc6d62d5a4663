"""Prints for how many microseconds the device was idle; sums up operators and kernels: ``… FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd

events = json.loads(Path(sys.argv[1]).read_bytes())["traceEvents"]
frame = pd.DataFrame([event for event in events if event["ph"] == "X"])
operators = frame[frame["cat"] == "cpu_op"].groupby("name")["dur"].agg(["count", "sum"])
work = frame[frame["cat"].isin(("kernel", "gpu_memcpy", "gpu_memset"))].sort_values("ts")
kernels = work.groupby("name")["dur"].agg(["count", "sum"])
begins, ends = work["ts"].to_numpy(), (work["ts"] + work["dur"]).cummax().to_numpy()
gaps = (begins[1:] - ends[:-1]).clip(min=0)
print(gaps.sum())
