"""What profiling itself took."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class _ProfilerStats:
    """How long a recording was, and how long the profiler needed for it."""

    profiling_window_duration_sec: float = 0
    number_of_events: int = 0
    profiler_prepare_call_duration_us: int = 0
    profiler_enable_call_duration_us: int = 0
    profiler_disable_call_duration_us: int = 0
    # Zero until the events are asked for: the first to ask has them made.
    parse_kineto_call_duration_us: int = 0
    function_events_build_tree_call_duration_us: int = 0
    # By thread: how many of its events were dropped so that the recording stayed within max_bytes.
    dropped_events: dict[int, int] = field(default_factory=dict)
    # Why recording ended before the profiler was stopped.
    ended_early: str | None = None
