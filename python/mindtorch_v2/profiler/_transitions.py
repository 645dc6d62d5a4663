"""The state machine of a profiler: what is done on the way from one step's action to the next one's."""

from __future__ import annotations

from mindtorch_v2.profiler._schedule import ProfilerAction

NONE, WARMUP, RECORD = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD
SAVE, STOPPED = ProfilerAction.RECORD_AND_SAVE, ProfilerAction.DEVICE_STOPPED

PREPARE, START, STOP, READY = "prepare_trace", "start_trace", "stop_trace", "_trace_ready"
STEP, LEAVE, WARN = "_step_recording", "_leave", "_warn_incorrect"

# What ends something, rather than begins it.
ENDINGS = frozenset({STOP, LEAVE, READY})

# The names of the profiler's methods to call; None is the end.
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[str, ...]] = {
    (NONE, NONE): (),
    (NONE, WARMUP): (PREPARE,),
    (NONE, RECORD): (PREPARE, START),
    (NONE, SAVE): (PREPARE, START),
    (NONE, STOPPED): ("_unreachable",),
    (NONE, None): (LEAVE,),
    (WARMUP, NONE): (WARN, START, STOP),
    (WARMUP, WARMUP): (),
    (WARMUP, RECORD): (START,),
    (WARMUP, SAVE): (START,),
    (WARMUP, STOPPED): (START, STOP, READY),
    (WARMUP, None): (START, STOP, LEAVE),
    (RECORD, NONE): (WARN, STOP),
    # Prepared, unlike in PyTorch: what comes next records too.
    (RECORD, WARMUP): (WARN, STOP, PREPARE),
    (RECORD, RECORD): (),
    (RECORD, SAVE): (),
    (RECORD, STOPPED): (STOP, READY),
    (RECORD, None): (STOP, LEAVE, READY),
    (SAVE, NONE): (STOP, READY),
    (SAVE, WARMUP): (STOP, READY, PREPARE),
    (SAVE, RECORD): (STOP, READY, PREPARE, START),
    (SAVE, SAVE): (STOP, READY, PREPARE, START),
    (SAVE, STOPPED): ("_unreachable",),
    (SAVE, None): (STOP, LEAVE, READY),
    (STOPPED, NONE): (),
    (STOPPED, WARMUP): (PREPARE,),
    (STOPPED, RECORD): (PREPARE, START),
    (STOPPED, SAVE): (PREPARE, START),
    (STOPPED, STOPPED): (),
    (STOPPED, None): (LEAVE,),
}
