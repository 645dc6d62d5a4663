"""Run parts of tests in processes whose recorder uses a clock that the test moves, so that times are known exactly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
# Only a hang takes so long.
TIME_LIMIT_S = 300
PROGRAM = """
import sys
from importlib import import_module
from mindtorch_v2._core import _use_manual_clock
module, function, step_ns, *arguments = sys.argv[1:]
clock = _use_manual_clock(int(step_ns))
getattr(import_module(module), function)(clock, *arguments)
"""


def with_manual_clock(work: Callable[..., None], *arguments: str, step_ns: int = 0) -> None:
    """Call a function of a module in a new process, with the clock of that process and some texts.

    The clock moves only when it is told to, and by ``step_ns`` after each reading by the recorder.
    """
    command = [sys.executable, "-W", "error", "-c", PROGRAM, work.__module__, work.__name__, str(step_ns), *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S)
    assert run.returncode == 0, run.stderr
