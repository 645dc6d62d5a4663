"""An execution trace observer, the names of overloads, and the garbage collector's work."""

from __future__ import annotations

import gc
from typing import Any


def run_observed(torch: Any, path: str) -> Any:
    a = torch.ones(4, 4)
    observer = torch.profiler.ExecutionTraceObserver().register_callback(path)
    with (
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, execution_trace_observer=observer
        ) as prof,
        torch.profiler.record_function("outer", "some args"),
    ):
        torch.matmul(a, a)
    return prof


def run_overloads(torch: Any) -> Any:
    a = torch.ones(4, 4)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        experimental_config=torch.profiler._ExperimentalConfig(capture_overload_names=True),
    ) as prof:
        torch.add(a, a)
        torch.add(a, 1)
        torch.add(a, a, out=torch.empty(4, 4))
    return prof


def run_collecting(torch: Any, *, verbose: bool = False) -> Any:
    a = torch.ones(4, 4)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        with_stack=True,
        experimental_config=torch.profiler._ExperimentalConfig(record_python_gc_info=True, verbose=verbose),
    ) as prof:
        torch.add(a, a)
        gc.collect()
        torch.add(a, a)
    return prof
