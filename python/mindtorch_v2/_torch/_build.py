"""The library between PyTorch and the recorder: built once for each PyTorch, with the compiler at hand."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).parent / "shim" / "shim.cpp"
# What in the source takes PyTorch's private members.
_REACH = "Reach"
# How much of what a compiler says is shown.
_LAST_LINES = 12


class BuildError(Exception):
    """The library cannot be built."""


def library_for(torch: Any, source: Path = _SOURCE) -> Path:
    """Return the library for this PyTorch, which is built if it was not yet.

    It is built for the very version that is there, down to its commit: another one's structs may differ, and would be
    misread in silence.

    Raises:
        BuildError: there is no compiler, or it fails.
    """
    libraries = {_place(torch, source, command): command for command in _commands(torch, source)}
    built = next((library for library in libraries if library.exists()), None)
    return built or _build(torch, libraries)


def _place(torch: Any, source: Path, command: list[str]) -> Path:
    """Return where the library is that the command builds."""
    build = "\0".join([torch.__version__, str(torch.version.git_version), platform.machine(), *command])
    files = b"\0".join(file.read_bytes() for file in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(files + build.encode()).hexdigest()[:16]
    return _cache() / f"torch-{torch.__version__}-{key}.so"


def _build(torch: Any, libraries: dict[Path, list[str]]) -> Path:
    """Build the first library, or the second if PyTorch does not have what that needs."""
    # Building takes seconds, which should not be a riddle. A daemon may have nowhere to say it.
    if sys.stderr is not None:
        sys.stderr.write(f"mindtorch_v2: building what records PyTorch {torch.__version__}, this once\n")
    (best, command), (plain, plain_command) = libraries.items()
    try:
        _compile(command, best)
    except BuildError as error:
        # What fails for another reason may not fail the next time.
        if _REACH not in str(error):
            raise
        _compile(plain_command, plain)
        return plain
    return best


def _commands(torch: Any, source: Path) -> list[list[str]]:
    """Return what builds the library, but for the file that it is built to: the first that works is the best.

    PyTorch's private members, which are taken where that is faster, may not be there in another version.
    """
    command = _command(torch, source)
    return [[*command, "-DMINDTORCH_REACH"], command]


def _command(torch: Any, source: Path) -> list[str]:
    home = Path(torch.__file__).parent
    libraries = home / "lib"
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [
        *_compiler(),
        *("-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w"),
        # Without it PyTorch's structs would have members that they do not have.
        "-DNDEBUG",
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        f'-DMINDTORCH_BUILT_FOR="{torch.__version__}"',
        f"-I{home / 'include'}",
        f"-I{home / 'include' / 'torch' / 'csrc' / 'api' / 'include'}",
        str(source),
        *(f"-L{libraries}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{libraries}"),
    ]


def _compiler() -> list[str]:
    """Return the compiler with its arguments, of which CXX may have some."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    for name in names:
        program, *arguments = shlex.split(name)
        if path := shutil.which(program):
            return [path, *arguments]
    raise BuildError(f"there is no C++ compiler ({', '.join(names)}). Install one, or say where it is in CXX")


def _cache() -> Path:
    """Return a directory that only this user can write to: what is in it is loaded."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        cache = Path(base) / "mindtorch_v2"
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = cache.stat()
    except (OSError, RuntimeError) as error:  # the latter of a user without a home
        raise BuildError(f"there is no place for what is built: {error}. Say where, in XDG_CACHE_HOME") from error
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BuildError(f"{cache} can be written to by others, so that nothing is loaded from there")
    return cache


def _compile(command: list[str], library: Path) -> None:
    # Another process may build the same: each its own, and the last one's stays.
    handle, built = tempfile.mkstemp(dir=library.parent, prefix=library.stem, suffix=".part")
    os.close(handle)
    try:
        done = subprocess.run([*command, "-o", built], capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            said = "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
            raise BuildError(f"{command[0]} cannot build what records it:\n{said}")
        Path(built).chmod(0o700)
        Path(built).replace(library)
    finally:
        Path(built).unlink(missing_ok=True)
