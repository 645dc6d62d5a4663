"""The library between PyTorch and the recorder: built once for each PyTorch, with the compiler at hand."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from mindtorch_v2._torch._cache import BuildError, Cache, identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_SOURCE = Path(__file__).parent / "shim" / "shim.cpp"
# What in the source takes PyTorch's private members.
_REACH = "Reach"
# How much of what a compiler says is shown.
_LAST_LINES = 12


def load_library(torch: Any, load: Callable[[Path], None]) -> None:
    """Load the library for this PyTorch. It is built if it is not in the cache, or does not load from there.

    Raises:
        BuildError: there is no compiler, it fails, or there is no place for the library.
        ImportError: ``load`` has raised it for a library that was just built.
    """
    cache = Cache()
    library, is_new = _find_or_build(torch, _SOURCE, cache)
    identity = identity_of(library)
    try:
        load(library)
    except ImportError:
        if is_new:
            raise
    else:
        return
    # It may have been built on another machine that has the same home directory.
    cache.discard(library, identity)
    library, _ = _find_or_build(torch, _SOURCE, cache)
    load(library)


def library_for(torch: Any, source: Path = _SOURCE) -> Path:
    """Return the library for this PyTorch, which is built if it was not yet.

    It is built for the very version that is there, down to its commit: another one's structs may differ, and would be
    misread in silence.

    Raises:
        BuildError: there is no compiler, it fails, or there is no place for the library.
    """
    library, _ = _find_or_build(torch, source, Cache())
    return library


def _find_or_build(torch: Any, source: Path, cache: Cache) -> tuple[Path, bool]:
    """Return the library, and whether this call has built it. Of many processes that need it, one builds."""
    commands = {_name(torch, source, command): command for command in _commands(torch, source)}
    found = _find(cache, commands)
    if found is not None:
        return found, False
    with cache.lock():
        found = _find(cache, commands)
        if found is not None:
            return found, False
        return _build(torch, cache, commands), True


def _find(cache: Cache, names: Iterable[str]) -> Path | None:
    return next((library for name in names if (library := cache.find(name)) is not None), None)


def _name(torch: Any, source: Path, command: list[str]) -> str:
    """Return the name in the cache of the library that the command builds."""
    build = "\0".join([torch.__version__, str(torch.version.git_version), platform.machine(), *command])
    files = b"\0".join(file.read_bytes() for file in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(files + build.encode()).hexdigest()[:16]
    return f"torch-{torch.__version__}-{key}"


def _build(torch: Any, cache: Cache, commands: dict[str, list[str]]) -> Path:
    """Build the first library, or the second if PyTorch does not have what that needs."""
    # Building takes seconds, which should not be a riddle. A daemon may have nowhere to say it.
    if sys.stderr is not None:
        sys.stderr.write(f"mindtorch_v2: building what records PyTorch {torch.__version__}, this once\n")
    (best, command), (plain, plain_command) = commands.items()
    try:
        return cache.add(best, lambda path: _compile(command, path))
    except BuildError as error:
        # What fails for another reason may not fail the next time.
        if _REACH not in str(error):
            raise
        return cache.add(plain, lambda path: _compile(plain_command, path))


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


def _compile(command: list[str], library: Path) -> None:
    done = subprocess.run([*command, "-o", str(library)], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
        raise BuildError(f"{command[0]} cannot build what records it:\n{said}")
