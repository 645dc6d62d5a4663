"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Importing PyTorch takes long on a machine that has other things to do, and so does a compiler.
TIMEOUT_S = 300

# Prints the names of what PyTorch does in a recording, and goes on in any case.
SHOW = """
from mindtorch_v2.profiler import profile
with profile() as prof:
    torch.ones(2)
print([event.name for event in prof.events()])
print(torch.ones(2).sum().item())
"""
SEEN = ["['aten::ones', 'aten::empty', 'aten::fill_']", "2.0"]
UNSEEN = ["[]", "2.0"]


def start(program: str, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=os.environ | environment, stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    """What a program that ends well prints, line by line, and what it says on the side."""
    output, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    return output.splitlines(), said


def run(program: str, *arguments: str | Path, **environment: str) -> tuple[list[str], str]:
    return finish(start(program, *arguments, **environment))


def quiet(program: str, *arguments: str | Path, **environment: str) -> list[str]:
    """What a program prints that ends well and says nothing else, not even a warning."""
    output, said = run(program, *arguments, **environment)
    assert said == ""
    return output


def compiler_of(directory: Path, library: Path) -> str:
    """What takes the compiler's place, and has built this library."""
    script = directory / "compiler"
    script.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{library}" "$2"\n')
    script.chmod(0o700)
    return str(script)
