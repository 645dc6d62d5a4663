"""``_KinetoProfile``: a profiler that is started and stopped, without steps."""

from __future__ import annotations

import copy
import os

from mindtorch_v2._torch import _values
from mindtorch_v2._torch._hook import imported
from mindtorch_v2.autograd import profiler as _engine
from mindtorch_v2.profiler._bound import Bound
from mindtorch_v2.profiler._changes import Changes
from mindtorch_v2.profiler._errors import NotStartedError
from mindtorch_v2.profiler._metadata import TraceMetadata
from mindtorch_v2.profiler._trace_files import TraceFiles
from mindtorch_v2.profiler._warnings import warn_user
from mindtorch_v2.profiler.activities import ParsedActivities, ProfilerActivity, device_name, has_device

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NoReturn, Protocol

    from typing_extensions import Unpack

    from mindtorch_v2 import _core
    from mindtorch_v2._core import Results
    from mindtorch_v2.autograd.profiler_util import EventList
    from mindtorch_v2.profiler._configs import ProfilerActivityConfig, _ExperimentalConfig
    from mindtorch_v2.profiler._filters import FilterArguments
    from mindtorch_v2.profiler._memory_profiler import MemoryProfile, MemoryProfileTimeline
    from mindtorch_v2.profiler._overhead import Overhead
    from mindtorch_v2.profiler._trace import Trace
    from mindtorch_v2.profiler._trace_files import Path, Target
    from mindtorch_v2.profiler.activities import Activities

    class TraceObserver(Protocol):
        """What an execution trace observer has to be able to do."""

        def start(self) -> object: ...
        def stop(self) -> object: ...
        def cleanup(self) -> object: ...


class _KinetoProfile(TraceMetadata, TraceFiles):
    """Records what the program does, on all of its threads, from ``start()`` to ``stop()``.

    ``profile`` is made of it, and adds steps, schedules, handlers and the ``with`` statement. See there for the
    arguments.

    >>> from mindtorch_v2.profiler import _KinetoProfile, record_function
    >>> prof = _KinetoProfile()
    >>> prof.start()
    >>> with record_function("work"):
    ...     pass
    >>> prof.stop()
    >>> [event.name for event in prof.events()]
    ['work']
    """

    def __init__(
        self,
        *,
        activities: Activities | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: TraceObserver | None = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        max_bytes: int | None = None,
        when_full: str = "spill",
        spill_dir: str | os.PathLike[str] | None = None,
        spool_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        parsed = ParsedActivities(activities)
        self.activities: set[ProfilerActivity] = parsed.members
        self.activity_configs: dict[ProfilerActivity, ProfilerActivityConfig] = parsed.configs
        for name in parsed.absent:
            warn_user(f"{name} is not available, disabling {name} profiling")
        if _values.is_torchs(experimental_config, "_ExperimentalConfig"):
            experimental_config = _values.experimental_config(experimental_config)
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.bound = Bound(max_bytes, when_full, spill_dir, spool_dir)
        self.use_device = device_name() if ProfilerActivity.NPU in self.activities else None
        self.has_cudagraphs = False
        self.mem_tl: MemoryProfileTimeline | None = None
        self.profiler: _engine.profile | None = None
        # Whether the next recording has its profiler and its trace id.
        self._is_prepared = False
        self._changes = Changes()
        self._check_extensions()
        if with_stack and experimental_config is not None and experimental_config.trace_only:
            warn_user(
                "trace_only=True is incompatible with with_stack=True (stack traces require event post-processing). "
                "Disabling trace_only."
            )
            self.experimental_config = copy.copy(experimental_config)
            self.experimental_config.trace_only = False
        if execution_trace_observer is None and os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") == "1":
            from mindtorch_v2.profiler.execution_trace import ExecutionTraceObserver  # noqa: PLC0415 (few need it)

            self.execution_trace_observer = ExecutionTraceObserver.build_execution_trace_obs_from_env()

    def _check_extensions(self) -> None:
        kinds = {type(config).__name__ for item in self.activity_configs.values() for config in item.profiler_configs}
        if "CuspyConfig" in kinds:
            if ProfilerActivity.CPU not in self.activities:
                raise ValueError("Cuspy currently requires CPU activity")
        elif self.experimental_config is not None and "cuspy_async_export" in (
            self.experimental_config.custom_profiler_config
        ):
            raise ValueError("cuspy_async_export is only supported with the cuspy backend")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle {type(self).__name__!r} object: it belongs to this process. "
            "Pickle its events() or key_averages(), or export its trace."
        )

    def start(self) -> None:
        """Start to record. What an earlier recording holds is let go, unless ``acc_events`` is set.

        Raises:
            RuntimeError: it is recording already, and goes on.
        """
        self._changes.make(self._start)

    def stop(self) -> None:
        """End the recording. Stopping again does nothing.

        Raises:
            AssertionError: it was never started.
        """
        self._changes.make(self._stop)

    def _start(self) -> None:
        if self._is_recording:
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        self.prepare_trace()
        self.start_trace()

    def _stop(self) -> None:
        self.stop_trace()

    @property
    def _is_recording(self) -> bool:
        return self.profiler is not None and self.profiler._is_recording

    def prepare_trace(self) -> None:
        """Make ready what the next recording needs, its id among it."""
        if self.profiler is None or not self.acc_events:
            self.profiler = self._new_profiler()
        self.profiler.custom_trace_id_callback = self.custom_trace_id_callback
        self.profiler._prepare_trace()
        self._is_prepared = True

    def _new_profiler(self) -> _engine.profile:
        if any(config.profiler_configs for config in self.activity_configs.values()):
            raise RuntimeError("Cuspy and hardware counters are not supported: this build has no CUDA devices")
        if ProfilerActivity.MTIA in self.activities:
            raise AssertionError("Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices.")
        return _engine.profile(
            use_cpu=ProfilerActivity.CPU in self.activities,
            use_device=self.use_device if self.use_device is not None and has_device() else None,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
            use_kineto=True,
            experimental_config=self.experimental_config,
            acc_events=self.acc_events,
            custom_trace_id_callback=self.custom_trace_id_callback,
            post_processing_timeout_s=self.post_processing_timeout_s,
            activity_filters={key: config.activity_types for key, config in self.activity_configs.items()},
            bound=self.bound,
        )

    def start_trace(self) -> None:
        """Start to record what was prepared."""
        profiler = self._profiler("starting trace")
        if profiler._is_recording:
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        try:
            self._start_engine(profiler)
        except BaseException:
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.stop()
            raise
        self._is_prepared = False
        if imported("torch.distributed") is not None:
            self._note_process_groups()

    def _note_process_groups(self) -> None:
        import json  # noqa: PLC0415 (few need it, and the package is to be imported quickly)

        from mindtorch_v2._torch._program import distributed_info  # noqa: PLC0415

        if info := distributed_info():
            self._trace_metadata["distributedInfo"] = json.dumps(info, default=str)

    def _start_engine(self, profiler: _engine.profile) -> None:
        profiler._start_trace()

    def stop_trace(self) -> None:
        """End the recording and keep it. If it has ended already, this does nothing."""
        profiler = self._profiler("stopping trace")
        try:
            if self.execution_trace_observer is not None and profiler._is_recording:
                self.execution_trace_observer.stop()
        finally:
            # An observer that fails does not cost the recording.
            profiler._stop_trace()

    def _profiler(self, purpose: str) -> _engine.profile:
        if self.profiler is None:
            why = ": its schedule has not come to a step that is recorded" if self._was_started else ""
            raise NotStartedError(f"Profiler must be initialized before {purpose}{why}")
        return self.profiler

    @property
    def _was_started(self) -> bool:
        return False

    def events(self) -> EventList:
        """Return every event, in the order of time. While recording: those so far.

        With ``acc_events`` the events of all cycles, in the order of time and on one clock.
        """
        return self._profiler("accessing events").function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
        *,
        subtract_overhead: bool = False,
    ) -> EventList:
        """Return the events grouped by name, with sums and averages. While recording: those so far.

        Args:
            group_by_input_shape: tell apart calls with inputs of other shapes.
            group_by_stack_n: tell apart calls that differ in that many innermost frames of their stacks.
            group_by_overload_name: tell apart overloads of an op.
            include_python_functions: show Python functions, too.
            subtract_overhead: leave out of all times on the host what recording took in them, as far as it is known
                (``docs/overhead.md``). Each average says how much that was, as ``overhead_time_total`` and
                ``self_overhead_time_total``; the list, in all, as ``overhead_time_total``.
        """
        return self._profiler("getting key averages").key_averages(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            subtract_overhead=subtract_overhead,
        )

    def overhead(self) -> Overhead:
        """Return what recording an event costs, for each kind of event, and all those of the last cycle together.

        It is measured when it is first asked for, in some milliseconds, on a machine that should have nothing else to
        do. See ``docs/overhead.md`` for what it covers.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> prof.overhead().total_ns == prof.overhead().annotation.total_ns
        True
        """
        from mindtorch_v2.profiler._overhead import Overhead  # noqa: PLC0415 (few need it)

        return Overhead._of(self._results("asking for its overhead"))

    def export_chrome_trace(
        self,
        path: Target,
        use_python_export: bool = False,
        cuda_graph_annotations: Mapping[int, Any] | None = None,
        graph_lanes: str = "none",
        default_stream: int = 7,
        **filters: Unpack[FilterArguments],
    ) -> None:
        """Write a trace of the last cycle for chrome://tracing or ui.perfetto.dev.

        It can be written any number of times, and while recording, with what is there so far.

        Args:
            path: the file, compressed if the name ends in ``.gz``; or a binary file that is open.
            use_python_export: accepted, as in PyTorch; there is one exporter.
            cuda_graph_annotations: names for nodes of CUDA graphs, of which there are none here.
            graph_lanes: ``"none"``, or ``"all"`` with annotations; it changes nothing without CUDA graphs.
            default_stream: the stream of CUDA graphs; not used.
            filters: which events to write, so that a long run gives a small file: ``activities``, ``name``,
                ``min_duration_us``, ``time_range_us``, ``thread``, ``max_depth``; see ``Trace.filtered``.

        Raises:
            OSError: the file cannot be written. The recording is kept.

        >>> import tempfile
        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        ...     prof.export_chrome_trace(file.name)
        """
        self._profiler("exporting chrome trace").export_chrome_trace(
            path,
            {**self.preset_metadata, **self._trace_metadata},
            use_python_export,
            cuda_graph_annotations,
            graph_lanes,
            default_stream,
            **filters,
        )

    def trace(self) -> Trace:
        """Return the last cycle's recording, with what was added to it; so far, while recording.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof, record_function("work"):
        ...     pass
        >>> [event.name for event in prof.trace().events()]
        ['work']
        """
        from mindtorch_v2.profiler._trace import Trace  # noqa: PLC0415 (few need it)

        return Trace(self._results("looking at its trace"), self._head())

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows: the timeline and the largest of the averages; None if nothing was recorded."""
        try:
            return self.trace()._repr_html_()
        except NotStartedError:
            return None

    def _results(self, purpose: str) -> Results:
        return self._profiler(purpose)._results(purpose)

    def _all_results(self, purpose: str) -> Results:
        return self._profiler(purpose)._all_results(purpose)

    def _head(self, metadata: Mapping[str, str] | None = None) -> dict[str, Any]:
        added = {**self.preset_metadata, **self._trace_metadata, **(metadata or {})}
        return self._profiler("exporting it")._head(added)

    def export_stacks(self, path: Target, metric: str = "self_cpu_time_total") -> None:
        """Write each stack with the time that was spent in it, for a flame graph: ``main;train;forward 1200``.

        Args:
            path: the file.
            metric: ``self_cpu_time_total``, or one of the others that stand for time on the device; in microseconds.

        Raises:
            AssertionError: stacks were not recorded.
            ValueError: there is no such metric.
        """
        self._profiler("exporting stacks").export_stacks(path, metric)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity | str]) -> None:
        """Pause (False) or resume (True) the collection of activities, for the rest of the recording.

        Raises:
            RuntimeError: it is not running.
        """
        if self.profiler is None:
            raise NotStartedError("Profiler must be running to toggle what it collects: call start() first")
        self.profiler.toggle_collection_dynamic(enable, activities)

    def export_memory_timeline(self, path: Path, device: str | _core.device | None = None) -> None:
        """Write how much memory was in use for what, over time, in the last cycle.

        The name decides on the form. ``.html`` is a page to look at, which needs nothing else. ``.raw.json`` is a list
        of all that happened to blocks: ``[nanoseconds since the epoch or -1, action, bytes, category]``. Anything else
        is ``[times, sizes]``: microseconds since the epoch, and for each the bytes of the categories, after a 0:
        parameters, optimiser state, inputs, temporary, activations, gradients, autograd detail, unknown. What ends in
        ``.gz`` is compressed.

        Args:
            path: the file.
            device: ``"cpu"``, ``"npu:0"``; by default the accelerator, if it was recorded and had any memory.

        Raises:
            ValueError: not all of record_shapes, profile_memory and with_stack are set, or there is no such device.
            OSError: the file cannot be written.

        >>> import json, pathlib, tempfile
        >>> import mindtorch_v2 as torch
        >>> from mindtorch_v2.profiler import profile
        >>> model = torch.nn.Linear(100, 10)
        >>> with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        ...     loss = model(torch.ones(8, 100)).sum()
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = pathlib.Path(directory, "memory.json")
        ...     prof.export_memory_timeline(path, "cpu")
        ...     times, sizes = json.loads(path.read_text())
        >>> sizes[-1][1] >= (100 * 10 + 10) * 4
        True
        """
        from mindtorch_v2.profiler import _memory_profiler  # noqa: PLC0415 (few need it)

        profile = self._memory_profile()
        wanted = _memory_profiler.default_device(profile._result) if device is None else device
        self.mem_tl = _memory_profiler.MemoryProfileTimeline(profile)
        self.mem_tl._export(path, wanted, None)

    def _memory_profile(self) -> MemoryProfile:
        from mindtorch_v2.profiler._memory_profiler import MemoryProfile  # noqa: PLC0415 (few need it)

        needed = ("record_shapes", "profile_memory", "with_stack")
        missing = [f"{name}=True" for name in needed if not getattr(self, name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} required for memory profiling.")
        results = None if self.profiler is None else self.profiler.kineto_results
        if results is None:
            raise NotStartedError("Profiler and kineto_results must be initialized for memory profiling")
        return MemoryProfile(results)

    def wait_for_exports(self) -> None:
        """Wait until files are written; they are when an export returns."""

    def take_pending_cuspy_export(self) -> None:
        """Return None: there is no Cuspy here."""
