"""``nothing()``: a context manager in C that does nothing, built with the compiler at hand.

What a ``with`` takes with it is what the interpreter itself takes, and the least that any other type can.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SOURCE = Path(__file__).with_name("nothing.c")


def nothing() -> Any:
    """Return the type.

    Raises:
        RuntimeError: there is no compiler, or it fails.
    """
    with TemporaryDirectory() as directory:
        library = Path(directory, "nothing.so")
        headers = sysconfig.get_path("include")
        command = [*compiler(), "-O2", "-fPIC", "-shared", f"-I{headers}", str(SOURCE), "-o", str(library)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise RuntimeError(f"{SOURCE} cannot be built, for which Python's headers are needed:\n{built.stderr}")
        loader = ExtensionFileLoader(SOURCE.stem, str(library))
        module: Any = loader.create_module(ModuleSpec(SOURCE.stem, loader, origin=str(library)))
        loader.exec_module(module)
    return module.Nothing


def compiler() -> list[str]:
    """Return the C compiler with its arguments, of which CC may have some."""
    names = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    for name in names:
        program, *arguments = shlex.split(name)
        if path := shutil.which(program):
            return [path, *arguments]
    raise RuntimeError(f"there is no C compiler ({', '.join(names)}). Install one, or say where it is in CC")
