"""``profile``: which steps of a program to record, and what to do then."""

from __future__ import annotations

import os

from mindtorch_v2.autograd.profiler import KinetoStepTracker
from mindtorch_v2.profiler._base import _KinetoProfile
from mindtorch_v2.profiler._configs import (
    CuspyConfig,
    PerformanceMetricsConfig,
    ProfilerActivityConfig,
    _ExperimentalConfig,
)
from mindtorch_v2.profiler._errors import NotStartedError
from mindtorch_v2.profiler._handlers import tensorboard_trace_handler
from mindtorch_v2.profiler._schedule import ProfilerAction, always_record, checked, schedule
from mindtorch_v2.profiler._transitions import (
    ENDINGS,
    LEAVE,
    NONE,
    READY,
    RECORD,
    SAVE,
    START,
    STEP,
    STOP,
    STOPPED,
    TRANSITIONS,
    WARMUP,
    WARN,
)
from mindtorch_v2.profiler._warnings import warn_once, warn_user
from mindtorch_v2.profiler.activities import (
    ProfilerActivity,
    kineto_available,  # noqa: F401 (torch has it here)
    supported_activities,
)

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from mindtorch_v2.autograd import profiler as _engine
    from mindtorch_v2.autograd._stats import _ProfilerStats
    from mindtorch_v2.profiler._base import TraceObserver
    from mindtorch_v2.profiler.activities import Activities
    from mindtorch_v2.profiler.execution_trace import ExecutionTraceObserver

__all__ = [
    "CuspyConfig",
    "ExecutionTraceObserver",
    "PerformanceMetricsConfig",
    "ProfilerAction",
    "ProfilerActivityConfig",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

PROFILER_STEP_NAME = "ProfilerStep"
NOT_RUNNING = "Profiler must be running to step: call start() first, or use a with statement"


def __getattr__(name: str) -> Any:
    if name == "ExecutionTraceObserver":
        from mindtorch_v2.profiler.execution_trace import ExecutionTraceObserver  # noqa: PLC0415 (few need it)

        return ExecutionTraceObserver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class profile(_KinetoProfile):
    """Records what the program does, on all of its threads, from start to stop or at the steps of a schedule.

    Any number may run at once, nested or overlapping, started, stepped and stopped on any threads; none disturbs
    another. A child that is forked does not record: there the profiler is over, and may be started anew.

    Args:
        activities: what to record: ``ProfilerActivity`` members, or ``"CPU"``, ``"NPU"``, ``"CUDA"``, ``"GPU"``; in a
            dict, with the list of the types of events to keep. None records all that this machine supports.
        schedule: says for each step whether to record it; see ``schedule``. None records all steps.
        on_trace_ready: called with this object when a recording has ended, once for each. What it raises reaches the
            caller of ``step()`` or ``stop()``, and the profiler goes on.
        record_shapes: keep the shapes, types and strides of the inputs of ops.
        profile_memory: attribute memory to the ops that allocate and free it.
        with_stack: record Python functions, and the stacks of ops and scopes.
        with_flops: estimate the floating point operations of ops.
        with_modules: deprecated: ``with_stack`` shows modules.
        experimental_config: see ``_ExperimentalConfig``.
        execution_trace_observer: an object whose ``start()`` and ``stop()`` are called with each recording, and
            ``cleanup()`` at the end of the ``with`` block.
        acc_events: let ``events()`` and ``key_averages()`` show all cycles, not the last one only. The memory that
            this takes grows with every cycle.
        custom_trace_id_callback: returns the id of the next trace; an empty one is not written. Without it, ids are
            random.
        max_bytes: how much memory the recording may take, at least 1 MiB. None is an eighth of the machine's memory,
            or of the limit of the process's control group (a container's) if that is lower, and no more than 2 GiB,
            with a warning when that is reached.
        when_full: what happens then. ``"spill"``: its oldest parts go to a file without a name, and come back when
            they are needed. ``"ring"``: they are dropped, and counted. ``"stop"``: recording ends, with a warning.
        spill_dir: the directory of that file. None is the system's for temporary files, or ``/var/tmp`` if that one is
            in memory (``tmpfs``); if both are, the recording ends instead. One that is given and in memory is used,
            with a warning.
        spool_dir: a directory to record to instead of memory, in files that outlive the process, however it ends:
            ``python -m mindtorch_v2.profiler recover`` reads them. They are removed with what was recorded, once that
            has been stopped and is let go. One profiler of a process at a time can have them.
        post_processing_timeout_s: 0 makes no events at all. Otherwise they are complete, and a warning is logged if
            making them took longer.

    >>> from mindtorch_v2.profiler import profile, record_function, schedule
    >>> def report(prof):
    ...     print(prof.step_num, [event.name for event in prof.events()])
    >>> with profile(schedule=schedule(wait=1, warmup=1, active=1), on_trace_ready=report) as prof:
    ...     for _ in range(3):
    ...         with record_function("work"):
    ...             pass
    ...         prof.step()
    3 ['ProfilerStep*', 'work']
    """

    def __init__(
        self,
        *,
        activities: Activities | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
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
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
            max_bytes=max_bytes,
            when_full=when_full,
            spill_dir=spill_dir,
            spool_dir=spool_dir,
        )
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = always_record if schedule is None else schedule
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        # PyTorch has the open step here. Steps belong to the recording, so that profilers do not see each other's.
        self.step_rec_fn: None = None
        self.current_action = self._prev_schedule_action = checked(self.schedule(0), 0)
        # The process in which this is running, and how often it was started.
        self._running_in: int | None = None
        self._starts = 0
        self._is_in_handler = False
        self._is_stepping = False
        self._transition: tuple[ProfilerAction, ProfilerAction | None] = (NONE, self.current_action)
        # What this transition has yet to do: nothing, unless an exception has cut it short.
        self._rest: tuple[str, ...] = ()
        KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    @property
    def _is_running(self) -> bool:
        return self._running_in == os.getpid()

    @property
    def action_map(self) -> dict[tuple[ProfilerAction, ProfilerAction | None], list[Callable[[], Any]]]:
        """What is done on the way from one action to the next; None is the end."""
        return {pair: [getattr(self, name) for name in names] for pair, names in TRANSITIONS.items()}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Start, at the step where an earlier recording of this object stopped.

        Raises:
            RuntimeError: it is running already, and goes on.
        """
        if self._is_running or (self._changes.are_under_way() and not self._is_asked_by_handler):
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        self._change(self._start)

    def stop(self) -> None:
        """End the recording, if there is one, and call ``on_trace_ready``. Stopping again does nothing.

        What an interrupt has kept it from doing, such as calling the handler, is done when it is called again.

        Raises:
            AssertionError: it was never started. It is a RuntimeError too.
        """
        self._change(self._stop_if_started if self._changes.are_under_way() else self._stop)

    def step(self) -> None:
        """Say that the next step of the program begins. Events carry the number of their step.

        Raises:
            RuntimeError: it is not running, or this was called by ``on_trace_ready``.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof:
        ...     for _ in range(2):
        ...         with record_function("work"):
        ...             pass
        ...         prof.step()
        >>> [(event["name"], event["step"]) for event in prof.events()]
        [('work', 0), ('work', 1)]
        """
        if self._is_asked_by_handler:
            if self._is_running:
                raise RuntimeError("on_trace_ready is called in the middle of a step: it cannot make another")
            raise NotStartedError(NOT_RUNNING)
        self._change(self._step_if_running if self._changes.are_under_way() else self._step)

    @property
    def _is_asked_by_handler(self) -> bool:
        return self._is_in_handler and self._changes.are_under_way()

    def _change(self, change: Callable[[], None]) -> None:
        """Make a change; at once if it is the handler that asks for it, which is called between two recordings."""
        if self._is_asked_by_handler:
            change()
            return

        def outermost() -> None:
            # An interrupt may have left it as it was.
            self._is_in_handler = False
            change()

        self._changes.make(outermost)

    def _start(self) -> None:
        self._complete_what_was_cut_short()
        if self._is_running:
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        transition = NONE, self.current_action
        self._transition, self._rest = transition, TRANSITIONS[transition]
        try:
            self._complete()
            self._running_in, self._starts = os.getpid(), self._starts + 1
        except BaseException:
            self._rest = ()
            self._end_recording()
            raise

    def _stop_if_started(self) -> None:
        if self._was_started:
            self._stop()

    def _stop(self) -> None:
        if not self._was_started:
            raise NotStartedError("Profiler must be initialized before stopping trace")
        if self._is_in_handler:
            # There is no recording to end, and none is to begin.
            self._running_in, self.current_action, self._rest = None, self._prev_schedule_action, ()
        elif not self._is_running or LEAVE in self._rest:
            self._complete_what_was_cut_short()
        else:
            transition = self.current_action, None
            cut_short = tuple(name for name in self._rest if name in ENDINGS)
            self._transition, self._rest = transition, cut_short + TRANSITIONS[transition]
            self.current_action = self._prev_schedule_action
            try:
                self._complete()
            except BaseException:
                if LEAVE in self._rest:
                    self._end_recording()
                    self._running_in = None
                raise

    def _end_recording(self) -> None:
        """Let nothing be recorded any more, if an exception has kept that from being done."""
        if self._is_recording:
            self.stop_trace()

    def _step_if_running(self) -> None:
        if self._is_running:
            self._step()

    def _step(self) -> None:
        self._complete_what_was_cut_short()
        if not self._is_running:
            raise NotStartedError(NOT_RUNNING)
        step = self.step_num + 1
        # Before anything changes, so that a schedule that fails changes nothing.
        scheduled = checked(self.schedule(step), step)
        transition = self.current_action, self._next_action(scheduled, step)
        rest = TRANSITIONS[transition]
        if STOP not in rest:
            rest = STEP, *rest
        # In this order: what is cut short after any of these can be completed.
        self._transition, self._rest, self.current_action = transition, rest, transition[1]
        self._prev_schedule_action, self.step_num = scheduled, step
        self._is_stepping = True
        try:
            self._complete()
        finally:
            self._is_stepping = False
            if os.environ.get("KINETO_USE_DAEMON"):
                KinetoStepTracker.increment_step(PROFILER_STEP_NAME)

    def _next_action(self, scheduled: ProfilerAction, step: int) -> ProfilerAction:
        """Return what comes next: what is scheduled, unless the device has stopped by itself."""
        action = self.current_action
        if action is STOPPED:
            is_next_cycle = self._prev_schedule_action is SAVE or scheduled is NONE
            return scheduled if is_next_cycle else STOPPED
        if action in {WARMUP, RECORD} and scheduled is not NONE and self.use_device and self._has_device_stopped():
            warn_user(
                f"Device profiling activity collection was stopped early at step {step}. Profiler schedule is "
                "proceeding until next cycle without actual profiler activity collection."
            )
            return STOPPED
        return scheduled

    def _has_device_stopped(self) -> bool:
        """Say whether the device has stopped to report what it does: the NPU never does."""
        return False

    def _complete(self) -> None:
        """Do what the transition has yet to do."""
        while self._rest:
            rest = self._rest
            try:
                self._do(rest[0])
            except BaseException:
                if self._rest is rest and self._is_over(rest[0]):
                    # Neither a handler nor an observer that fails keeps the next cycle from being recorded.
                    self._rest = rest[1:]
                    self._complete()
                raise
            # Else a handler has called stop(): there is nothing left to do, even if it started anew.
            if self._rest is rest:
                self._rest = rest[1:]

    def _complete_what_was_cut_short(self) -> None:
        """End what an earlier change was to end, and did not come to; what it was to begin is not begun."""
        self._rest = tuple(name for name in self._rest if name in ENDINGS)
        self._complete()

    def _do(self, name: str) -> None:
        if name == START and not self._is_prepared:
            # Preparing it has failed before.
            self.prepare_trace()
        # There is nothing to stop if starting it has failed.
        if name != STOP or self._is_recording:
            getattr(self, name)()

    def _is_over(self, name: str) -> bool:
        """Say whether something that has failed need not be done again, and nothing that follows needs it."""
        if name == READY:
            return not self._has_news
        return name in {STEP, WARN} or (name == STOP and not self._is_recording)

    def _step_recording(self) -> None:
        if self.profiler is not None:
            self.profiler._advance_to(self.step_num)

    def _leave(self) -> None:
        self._running_in = None

    def _warn_incorrect(self) -> None:
        before, after = self._transition
        warn_user(f"Incorrect schedule: {before.name} followed by {after.name if after is not None else 'the end'}")

    def _unreachable(self) -> None:
        before, after = self._transition
        after_name = None if after is None else after.name
        raise RuntimeError(f"Profiler internal error: {before.name} -> {after_name} should be unreachable")

    def prepare_trace(self) -> None:
        """Make ready what the next recording needs, its id among it."""
        if self._is_stepping and self.profiler is not None and not self.acc_events:
            warn_once(
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                "reported. To keep events across cycles, set acc_events=True."
            )
        super().prepare_trace()

    @property
    def _was_started(self) -> bool:
        return self._starts > 0

    def _start_engine(self, profiler: _engine.profile) -> None:
        # A schedule that ends while it warms up records nothing, not even the step.
        records = self._transition[1] in {RECORD, SAVE}
        record_steps = self.record_steps and records
        profiler._start_trace(record_steps=record_steps, first_step=self.step_num, is_empty=not records)

    @property
    def _has_news(self) -> bool:
        """Whether a recording has ended that the handler was not told of."""
        return self.on_trace_ready is not None and self.profiler is not None and self.profiler._recording.has_news

    def _trace_ready(self) -> None:
        if self._has_news and self.profiler is not None and self.on_trace_ready is not None:
            recording = self.profiler._recording
            session = recording.session
            try:
                self._is_in_handler = True
                # Not by a call, before or after which an interrupt could come: it is told once, and not never.
                recording.told_of = session
                self.on_trace_ready(self)
            finally:
                self._is_in_handler = False

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity | str]) -> None:
        """Pause (False) or resume (True) the collection of activities, for the rest of this recording.

        At a step that is not recorded this does nothing: a recording begins with all of its activities.

        Args:
            enable: whether to collect them.
            activities: members of ``ProfilerActivity``, or their names.

        Raises:
            RuntimeError: the profiler is not running.

        >>> from mindtorch_v2.profiler import profile, record_function
        >>> with profile() as prof:
        ...     prof.toggle_collection_dynamic(False, ["CPU"])
        ...     with record_function("setup"):
        ...         pass
        ...     prof.toggle_collection_dynamic(True, ["CPU"])
        ...     with record_function("work"):
        ...         pass
        >>> [event.name for event in prof.events()]
        ['work']
        """
        if not self._is_running:
            raise NotStartedError("Profiler must be running to toggle what it collects: call start() first")
        if self._is_recording:
            super().toggle_collection_dynamic(enable, activities)

    def get_trace_id(self) -> str | None:
        """Return the id of the current cycle's trace, or None before the first."""
        return None if self.profiler is None else self.profiler.trace_id

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Take the ids of traces from ``callback``, from the next cycle on."""
        self.custom_trace_id_callback = callback

    def _stats(self) -> _ProfilerStats | None:
        """Return what profiling itself took, or None before the first recording."""
        return None if self.profiler is None else self.profiler._stats
