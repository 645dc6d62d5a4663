"""The profiler under ``mindtorch_v2.profiler``, with the API of ``torch.autograd.profiler``.

>>> from mindtorch_v2.autograd import profiler
>>> with profiler.profile() as prof:
...     with profiler.record_function("work"):
...         pass
>>> [event.name for event in prof.function_events]
['work']
"""

from __future__ import annotations

import os
from functools import partial
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _torch
from mindtorch_v2._core import Session, record_function
from mindtorch_v2.autograd import _collections
from mindtorch_v2.autograd._emit import EnforceUnique, emit_itt, emit_nvtx, load_nvprof, parse_nvprof_trace
from mindtorch_v2.autograd._events.device_type import DeviceType  # noqa: F401 (torch has it here)
from mindtorch_v2.autograd._profile_results import ProfileResults, us_since
from mindtorch_v2.autograd._profiler_config import ProfilerConfig, ProfilerState
from mindtorch_v2.autograd._recording import Recording, is_any_running
from mindtorch_v2.autograd._stats import _ProfilerStats
from mindtorch_v2.autograd._step_tracker import KinetoStepTracker
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent, MemRecordsAcc
from mindtorch_v2.profiler._activity_types import engine_types
from mindtorch_v2.profiler._bound import Bound
from mindtorch_v2.profiler._configs import _ExperimentalConfig
from mindtorch_v2.profiler._errors import NotStartedError
from mindtorch_v2.profiler._warnings import warn_once, warn_user
from mindtorch_v2.profiler.activities import (
    ProfilerActivity,
    device_name,
    has_device,
    kineto_available,  # noqa: F401 (torch has it here)
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from typing_extensions import Self


__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]

# A recording of nothing.
_NOTHING = partial(Session, cpu=False, device=False)

# Names of torch's, kept for who imports them.
MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

_ACCELERATORS = ("npu", "cuda", "privateuseone")


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":
        return is_any_running()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class profile(ProfileResults):
    """Records one window: the part of the program in its ``with`` block, on all threads.

    ``mindtorch_v2.profiler.profile`` is more convenient; it makes one of these for each of its cycles.

    Args:
        enabled: False makes it do nothing.
        use_device: the device to record beside the host: ``"npu"``, or ``"cuda"``.
        record_shapes: keep the shapes, types and strides of the inputs of ops.
        with_flops: estimate the floating point operations of ops.
        profile_memory: attribute memory to the ops that allocate and free it.
        with_stack: record Python functions, and the stacks of ops.
        with_modules: deprecated.
        use_kineto: accepted; there is one engine.
        use_cpu: record the host.
        experimental_config: see ``_ExperimentalConfig``.
        acc_events: keep what earlier windows recorded.
        custom_trace_id_callback: returns the id of the next trace; without it ids are random.
        post_processing_timeout_s: see ``mindtorch_v2.profiler.profile``.
        activity_filters: the types of events to keep, by activity.
        bound: the memory that the recording may take; None is the default ``Bound``.

    >>> with profile(record_shapes=True) as prof, record_function("work"):
    ...     pass
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('work', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: _ExperimentalConfig | None = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Mapping[ProfilerActivity, Iterable[str] | None] | None = None,
        bound: Bound | None = None,
        _profiler_extensions: dict[str, str] | None = None,
    ) -> None:
        self.enabled = bool(enabled)
        if not self.enabled:
            return
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.use_cpu = use_cpu
        self.use_device = _checked_device(use_device)
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.experimental_config = _ExperimentalConfig() if experimental_config is None else experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters or {}
        self.bound = Bound() if bound is None else bound
        self._has_warned = False
        self.profiler_kind = ProfilerState.KINETO
        self.entered = False
        self.trace_id = ""
        self.profiling_start_time_ns = 0
        self.profiling_end_time_ns = 0
        self._stats = _ProfilerStats()
        self._recording = Recording(accumulates=acc_events)
        self._collections: Callable[[], object] | None = None
        # PyTorch, if its GPUs are recorded.
        self._cuda: Any = None
        if with_modules:
            warn_user(
                "with_modules is deprecated and will be removed in a future release. Use with_stack=True, which "
                "records the calls of modules.",
                FutureWarning,
            )
        if self.experimental_config.adjust_profiler_step:
            warn_user(
                "adjust_profiler_step is deprecated and ignored. It will be removed in a future release.", FutureWarning
            )
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if not self.kineto_activities:
            raise AssertionError("No activities specified for the profiler")

    def __getattr__(self, name: str) -> Any:
        why = "" if self.__dict__.get("enabled", True) else ": it was made with enabled=False"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")

    @property
    def kineto_activities(self) -> set[ProfilerActivity]:
        """What is recorded."""
        host = {ProfilerActivity.CPU} if self.use_cpu else set()
        return host if self.use_device is None else host | {ProfilerActivity.NPU}

    def __enter__(self) -> Self | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        if not self.enabled:
            return None
        self._stop_trace()
        return False

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object: pickle its events instead")

    def __repr__(self) -> str:
        return repr(self.function_events) if self.entered else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self.entered else "<unfinished torch.autograd.profile>"

    def _prepare_trace(self) -> None:
        start = perf_counter_ns()
        engine_types(self.activity_filters)  # to say now what is wrong with them
        self.trace_id = self.create_trace_id()
        self.entered = True
        self._stats = _ProfilerStats(profiler_prepare_call_duration_us=us_since(start))

    def _start_trace(self, *, record_steps: bool = False, first_step: int = 0, is_empty: bool = False) -> None:
        start = perf_counter_ns()
        self.entered = True
        self._has_warned = False
        self._recording.start(lambda: _NOTHING() if is_empty else self._new_session(record_steps, first_step))
        _torch.tell()
        if self.with_stack and self.experimental_config.record_python_gc_info:
            self._collections = _collections.watch(self._recording)
        self.profiling_start_time_ns = time_ns()
        self._stats.profiler_enable_call_duration_us = us_since(start)

    def _new_session(self, record_steps: bool, first_step: int) -> Session:
        activities = self.kineto_activities
        device = ProfilerActivity.NPU in activities and self.activity_filters.get(ProfilerActivity.NPU) != []
        _torch.attach()
        session = Session(
            cpu=ProfilerActivity.CPU in activities,
            device=device,
            record_shapes=bool(self.record_shapes),
            profile_memory=bool(self.profile_memory),
            with_stack=bool(self.with_stack),
            with_flops=bool(self.with_flops),
            overload_names=self.experimental_config.capture_overload_names,
            record_steps=record_steps,
            first_step=first_step,
            types=engine_types(self.activity_filters),
            accelerator="CUDA" if device and self._start_cuda() else None,
            max_bytes=self.bound.max_bytes,
            when_full=self.bound.when_full,
            spill_dir=self.bound.spill_dir,
            spool_dir=self.bound.spool_dir,
        )
        if (trouble := session.spill_trouble()) is not None:
            warn_once(f"The profiler's spill_dir does not save memory: {trouble}.")
        return session

    def _start_cuda(self) -> bool:
        """Have PyTorch's GPUs, if it has any, tell what they do; say whether they will."""
        self._cuda = _torch.with_cuda()
        if self._cuda is None:
            return False
        from mindtorch_v2._torch import _cuda  # noqa: PLC0415 (few need it)

        if not _cuda.start(self._cuda, waits=self.experimental_config.enable_cuda_sync_events):
            self._cuda = None
        return self._cuda is not None

    def _finish_cuda(self) -> None:
        """Wait for PyTorch's GPUs, if they are recorded."""
        if self._cuda is not None and self._recording.is_running:
            from mindtorch_v2._torch import _cuda  # noqa: PLC0415 (few need it)

            _cuda.finish(self._cuda)

    def _advance_to(self, step: int) -> None:
        """Be in this step, if something is being recorded."""
        self._recording.advance_to(step)
        self._warn_if_full()

    def _warn_if_full(self) -> None:
        session = self._recording.session
        if session is None or self._has_warned:
            return
        message = self.bound.warning(session)
        if message is not None:
            self._has_warned = True
            warn_user(message)

    def _stop_trace(self) -> bool:
        """End the recording; say whether it was running."""
        start = perf_counter_ns()
        if self._collections is not None:
            self._collections()
        try:
            # While it can still say whether its files have everything.
            self._warn_if_full()
            self._finish_cuda()
        finally:
            was_running = self._recording.finish()
            _torch.tell()
        if was_running:
            self.profiling_end_time_ns = time_ns()
            window = self.profiling_end_time_ns - self.profiling_start_time_ns
            self._stats.profiling_window_duration_sec = window / 1e9
            self._stats.profiler_disable_call_duration_us = us_since(start)
            if (session := self._recording.session) is not None:
                _, dropped, self._stats.ended_early = session.fullness()
                self._stats.dropped_events = dict(dropped)
            self._warn_if_full()
        return was_running

    @property
    def _is_recording(self) -> bool:
        return self.enabled and self._recording.is_running

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity | str]) -> None:
        """Pause (False) or resume (True) the collection of activities.

        Raises:
            RuntimeError: nothing is being recorded.
        """
        wanted = {parse(activity) for activity in activities} & self.kineto_activities
        cpu, device = ProfilerActivity.CPU in wanted, ProfilerActivity.NPU in wanted
        if device:
            # What they were asked to do so far is on this side of the change.
            self._finish_cuda()
            if enabled and self._cuda is not None:
                self._start_cuda()
        if not self._recording.toggle(bool(enabled), cpu=cpu, device=device):
            raise NotStartedError("Profiler must be running to toggle what it collects: call start() first")

    def default_trace_id(self) -> str:
        """Return a new random id: a UUID in 32 upper-case digits."""
        digits = bytearray(os.urandom(16))
        digits[6] = digits[6] & 0x0F | 0x40
        digits[8] = digits[8] & 0x3F | 0x80
        return digits.hex().upper()

    def create_trace_id(self) -> str:
        """Return the id for a new trace: what the callback returns, or a random one."""
        if self.custom_trace_id_callback is None:
            return self.default_trace_id()
        trace_id = self.custom_trace_id_callback()
        if not isinstance(trace_id, str):
            raise TypeError(f"custom_trace_id_callback must return a string, but it returned {trace_id!r}")
        return trace_id

    def config(self, create_trace_id: bool = False) -> ProfilerConfig:
        """Return the options and the id of the trace, which is a new one if ``create_trace_id`` is set."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return ProfilerConfig(
            self.profiler_kind,
            self.record_shapes,
            self.profile_memory,
            self.with_stack,
            self.with_flops,
            self.with_modules,
            self.experimental_config,
            self.trace_id,
        )


def _checked_device(name: str | None) -> str | None:
    """Return the device to record: the accelerator or none. What is not there is left out, with a warning."""
    if name is None:
        return None
    if name == "mtia":
        raise AssertionError("Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices.")
    if name in _ACCELERATORS:
        if has_device():
            return device_name()
        warn_user("NPU is not available, disabling NPU profiling")
    elif name in {"xpu", "hpu"}:
        warn_user(f"{name.upper()} is not available, disabling {name.upper()} profiling")
    else:
        warn_user(f"The {name} is not a valid device option.")
    return None
