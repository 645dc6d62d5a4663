"""What tests of faults need: all that a recording can be written as, children with a time limit, interruptions."""

from __future__ import annotations

import dis
import functools
import os
import select
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.profiler.support import square

from mindtorch_v2.profiler import ProfilerAction, profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import CodeType, FrameType

# A process with threads that forks is told so from Python 3.12 on.
FORK = "ignore:.*multi-threaded, use of fork:DeprecationWarning"
TIMELINE = "ignore:.export_memory_timeline. is deprecated:FutureWarning"

TIME_LIMIT_S = 60

NONE, WARMUP, RECORD, SAVE = (
    ProfilerAction.NONE,
    ProfilerAction.WARMUP,
    ProfilerAction.RECORD,
    ProfilerAction.RECORD_AND_SAVE,
)


class Export(NamedTuple):
    """A way to write a recording to a file."""

    suffix: str
    write: Callable[[Any, Any], object]


def changed(found: Any) -> Any:
    """Return the list after a change, from which on it is written by other code."""
    found.reverse()
    return found


EXPORTS: dict[str, Export] = {
    "chrome trace": Export(".json", lambda prof, path: prof.export_chrome_trace(path)),
    "compressed": Export(".json.gz", lambda prof, path: prof.export_chrome_trace(path)),
    "perfetto": Export(".pftrace", lambda prof, path: prof.export_perfetto_trace(path)),
    "speedscope": Export(".speedscope.json", lambda prof, path: prof.export_speedscope(path)),
    "flame graph": Export(".svg", lambda prof, path: prof.export_flame_graph(path)),
    "report": Export(".html", lambda prof, path: prof.export_report(path)),
    "stacks": Export(".txt", lambda prof, path: prof.export_stacks(path)),
    "parquet": Export(".parquet", lambda prof, path: prof.export_parquet(path)),
    "averages": Export(".parquet", lambda prof, path: prof.key_averages().export_parquet(path)),
    "memory page": Export(".html", lambda prof, path: prof.export_memory_timeline(path, "cpu")),
    "memory timeline": Export(".json", lambda prof, path: prof.export_memory_timeline(path, "cpu")),
    "list": Export(".json", lambda prof, path: prof.events().export_chrome_trace(path)),
    "compressed list": Export(".json.gz", lambda prof, path: prof.events().export_chrome_trace(path)),
    "stacks of a list": Export(
        ".txt", lambda prof, path: changed(prof.trace().events()).export_stacks(path, "self_cpu_time_total")
    ),
}


def recorded() -> Any:
    """Return a profile that can be written in every way."""
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(10):
            with record_function("work"):
                square() @ square()
    return prof


def in_child(work: Callable[[], object], *, limit_s: float = TIME_LIMIT_S) -> int:
    """Do some work in a forked child and return its exit status: 0 if nothing was raised.

    What takes longer than the limit is killed, and its status is that of the signal.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    handle = os.pidfd_open(child)
    try:
        has_ended, _, _ = select.select([handle], [], [], limit_s)
        if not has_ended:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def names_in(folder: Path) -> list[str]:
    """Return what is in a directory, the hidden included."""
    return sorted(path.name for path in folder.iterdir())


class Interruption:
    """Does something in the middle of this package's code, where the interpreter would call a signal's handler.

    That is where a function begins, where a loop begins anew, and after a call.

    Args:
        after: how many such places to pass first.
        act: what to do then. What it raises comes out of the code that is interrupted.
    """

    def __init__(self, after: int, act: Callable[[], object]) -> None:
        self.after = after
        self.act = act
        self.happened = False

    def __enter__(self) -> Interruption:
        # Python 3.12 tells of instructions only if someone has asked before.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if "mindtorch_v2" not in frame.f_code.co_filename:
            return None
        if event == "call":
            # Python 3.13 takes the wish for instructions from a frame that has a function to tell.
            frame.f_trace_lines, frame.f_trace_opcodes, frame.f_trace = False, True, self._trace
        if event == "opcode" and not self.happened and frame.f_lasti in _places(frame.f_code):
            if self.after == 0:
                self.happened = True
                self.act()
            self.after -= 1
        return self._trace


@functools.cache
def _places(code: CodeType) -> frozenset[int]:
    """Return the offsets of the instructions before which the interpreter looks for signals."""
    found = {0}
    after_call = False
    for instruction in dis.get_instructions(code):
        if after_call or instruction.opname in {"RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE"}:
            found.add(instruction.offset)
        after_call = instruction.opname.startswith("CALL")
    return frozenset(found)
