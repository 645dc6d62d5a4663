"""What several tests of the profiler need: short names, threads, strict reading of files, other processes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING, Any

import mindtorch_v2
from mindtorch_v2.profiler import record_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# The package is too dynamic for types to help in programs as small as these.
torch: Any = mindtorch_v2

# Of a profile that records several cycles; it is given once in a process, so any test may be the one that gets it.
CYCLES_CLEAR_EVENTS = "ignore:Warning. Profiler clears events at the end of each cycle"
NO_WARMUP = "ignore:Profiler won't be using warmup"

ODD_TEXTS = [
    "",
    'say "hi"',
    "a\\b",
    'x\\"y',
    "C:\\temp\\new",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "caf\u00e9",
    "\u65e5\u672c\u8a9e",
    "\U0001d11e",
    "a\x01b",
    "a\x00b",
    "a\x7fb",
    "\u2028",
    "</script>",
    "{}[],:",
    "%s%n{0}",
]


def scope(name: str) -> None:
    """Record a span in which nothing happens."""
    with record_function(name):
        pass


def square() -> Any:
    """Return a small matrix of ones."""
    return torch.ones(4, 4)


def events(prof: Any) -> list[Any]:
    """Return the events as a plain list."""
    return list(prof.events())


def names(prof: Any) -> list[str]:
    """Return the names of the events, in the order of time."""
    return [event.name for event in prof.events()]


def trace_names(prof: Any) -> list[str]:
    """Return the names of the events with the numbers of their steps."""
    return [event.trace_name for event in prof.events()]


def scopes(prof: Any) -> list[str]:
    """Return the names of the annotations, in the order of time."""
    return [event.trace_name for event in prof.events() if event.is_user_annotation]


def named(prof: Any, name: str) -> list[Any]:
    """Return the events of one name."""
    return [event for event in prof.events() if event.name == name]


def only(found: Iterable[Any]) -> Any:
    """Return the one item that there must be."""
    (item,) = found
    return item


def frames(prof: Any) -> list[Any]:
    """Return the events that are calls of Python functions."""
    return [event for event in prof.events() if event.is_python_function]


def averages(prof: Any, **options: Any) -> dict[str, Any]:
    """Return the averages by name."""
    return {row.key: row for row in prof.key_averages(**options)}


def ancestors(event: Any) -> list[str]:
    """Return the names of what contains an event, the nearest first."""
    found = []
    while event.cpu_parent is not None:
        event = event.cpu_parent
        found.append(event.name)
    return found


def in_thread(work: Callable[[], object], name: str | None = None) -> None:
    """Do some work on a new thread, and pass on what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def read_json(path: Path) -> Any:
    """Read a file as strictly as the JSON standard is: no constants of JavaScript, no key twice."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError(f"a key is there twice: {[key for key, _ in pairs]}")
    return fields


def trace_of(prof: Any, directory: Path, **options: Any) -> dict[str, Any]:
    """Export a Chrome trace and read it back."""
    path = directory / "trace.json"
    prof.export_chrome_trace(path, **options)
    trace: dict[str, Any] = read_json(path)
    return trace


def spans(trace: dict[str, Any], *categories: str) -> list[dict[str, Any]]:
    """Return the complete events of some categories: of all but the recording itself, if none is named."""
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] != "Trace"]
    return [event for event in complete if not categories or event["cat"] in categories]


def run_program(program: str, *, directory: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, where a warning is an error."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    return subprocess.run(
        command, cwd=directory, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=300
    )


def output_of(program: str, *, directory: Path | None = None, **environment: str) -> list[str]:
    """Return the lines that a program prints, which must end well and say nothing else."""
    run = run_program(program, directory=directory, **environment)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    return run.stdout.splitlines()


def in_child(work: Callable[[], object]) -> int:
    """Do some work in a forked child and return its exit status: 0 if nothing was raised."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Observer:
    """An execution trace observer that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def cleanup(self) -> None:
        self.calls.append("cleanup")
