"""Prints for how many microseconds the device was idle; sums up operators and kernels: ``… FILE``."""

from __future__ import annotations

import logging
import sys
import warnings

logging.disable()
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402 (it warns when it is imported)

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
breakdown = analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.t.decode_symbol_ids(use_shorten_name=False)
spans = analysis.t.get_trace(0)
spans[spans["s_cat"] == "cpu_op"].groupby("s_name")["dur"].agg(["count", "sum"])
print(breakdown["idle_time(us)"][0])
