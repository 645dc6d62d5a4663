"""Settings of a profiler beyond the arguments of ``profile``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class _ExperimentalConfig:
    """Settings that PyTorch calls experimental. All are accepted; this says which change anything here.

    Args:
        verbose: nothing to change: stacks are on events and in the trace whenever ``with_stack`` is.
        performance_events: of devices that are not supported here.
        enable_cuda_sync_events: show the waits for and on PyTorch's GPUs.
        adjust_profiler_step: deprecated and ignored, with a warning, as in PyTorch.
        disable_external_correlation: nothing to change on the host.
        profile_all_threads: nothing to change: all threads are always recorded.
        capture_overload_names: fill ``overload_name``, and add it to the names of ops in the trace.
        record_python_gc_info: with ``with_stack``, show the runs of Python's garbage collector.
        expose_kineto_event_metadata: nothing to change on the host.
        custom_profiler_config: a text for the profilers of other devices; not used here.
        adjust_timestamps: of devices that are not supported here.
        trace_only: do not offer ``events()`` and what is made of them, only the trace.

    >>> _ExperimentalConfig(trace_only=True).trace_only
    True
    """

    def __init__(
        self,
        verbose: bool = False,
        performance_events: Sequence[str] = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        if isinstance(performance_events, str) or not all(isinstance(name, str) for name in performance_events):
            raise TypeError(f"performance_events must be a list of names, not {performance_events!r}")
        if not isinstance(custom_profiler_config, str):
            raise TypeError(f"custom_profiler_config must be a string, not {custom_profiler_config!r}")
        self.verbose = bool(verbose)
        self.performance_events = list(performance_events)
        self.enable_cuda_sync_events = bool(enable_cuda_sync_events)
        self.adjust_profiler_step = bool(adjust_profiler_step)
        self.disable_external_correlation = bool(disable_external_correlation)
        self.profile_all_threads = bool(profile_all_threads)
        self.capture_overload_names = bool(capture_overload_names)
        self.record_python_gc_info = bool(record_python_gc_info)
        self.expose_kineto_event_metadata = bool(expose_kineto_event_metadata)
        self.custom_profiler_config = custom_profiler_config
        self.adjust_timestamps = bool(adjust_timestamps)
        self.trace_only = bool(trace_only)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"_ExperimentalConfig({settings})"


class _ProfilerExtensionConfig(ABC):
    """Settings of a part of the profiler that is specific to a device."""

    @abstractmethod
    def _to_config_entries(self) -> dict[str, str]:
        """Return the settings as names and values."""


@dataclass(frozen=True)
class CuspyConfig(_ProfilerExtensionConfig):
    """Settings of Cuspy, a profiler for CUDA devices. They can be made and kept, but a profiler refuses to start.

    >>> CuspyConfig(enable_environment_counters=True).enable_cuda_sync_events
    False
    """

    enable_cuda_sync_events: bool = False
    enable_environment_counters: bool = False
    enable_graph_dependencies: bool = False
    enable_event_node_ids: bool = False

    def _to_config_entries(self) -> dict[str, str]:
        return {}


@dataclass
class PerformanceMetricsConfig(_ProfilerExtensionConfig):
    """Which hardware counters to sample. It can be made and kept, but a profiler refuses to start: there are none here.

    Args:
        metric_names: the counters' names.
        sampling_interval_ms: the time from one sample to the next.
        lookback_window_ms: how long to keep samples.

    >>> PerformanceMetricsConfig(["sm__cycles_active.avg"]).metric_names
    ['sm__cycles_active.avg']
    """

    metric_names: list[str]
    sampling_interval_ms: float | None = None
    lookback_window_ms: float | None = None

    def _to_config_entries(self) -> dict[str, str]:
        name = "PERFORMANCE_METRICS"
        times = {"SAMPLING_INTERVAL_MS": self.sampling_interval_ms, "LOOKBACK_WINDOW_MS": self.lookback_window_ms}
        given = {f"{name}_{key}": str(value) for key, value in times.items() if value is not None}
        return {name: ",".join(self.metric_names), **given}


@dataclass
class ProfilerActivityConfig:
    """What to collect of an activity.

    Args:
        activity_types: the names of the types of events to keep, such as ``CPU_OP``; None keeps all, ``[]`` none.
        profiler_configs: settings that are specific to a device.

    >>> from mindtorch_v2.profiler import ProfilerActivity, profile, record_function
    >>> only_scopes = ProfilerActivityConfig(["USER_ANNOTATION"])
    >>> with profile(activities=[{ProfilerActivity.CPU: only_scopes}]) as prof, record_function("work"):
    ...     pass
    >>> [event.name for event in prof.events()]
    ['work']
    """

    activity_types: list[str] | None = None
    profiler_configs: list[_ProfilerExtensionConfig] = field(default_factory=list)
