"""The command line, for tests: ``python -m mindtorch_v2.profiler``, or the program that ``MTPROF`` names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def mtprof(*arguments: str | Path) -> Any:
    """Run a command, which must succeed, and return its answer."""
    program = os.environ.get("MTPROF")
    command = [program] if program else [sys.executable, "-m", "mindtorch_v2.profiler"]
    done = subprocess.run([*command, "--json", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
