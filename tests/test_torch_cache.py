"""The cache of the libraries between PyTorch and the recorder. Neither PyTorch nor a compiler is needed here."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2._torch import _build, _cache

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_S = 120
# Larger than a page, so that a part of it can be missing.
CONTENTS = b"library " * 10_000

# Stands for PyTorch: the cache needs to know its version and where it is.
FAKE_TORCH = SimpleNamespace(
    __version__="2.0.0+fake",
    __file__="/nowhere/torch/__init__.py",
    version=SimpleNamespace(git_version="0"),
    _C=SimpleNamespace(),
)
PROGRAM = """
from types import SimpleNamespace
from mindtorch_v2._torch import _build
torch = SimpleNamespace(
    __version__="2.0.0+fake",
    __file__="/nowhere/torch/__init__.py",
    version=SimpleNamespace(git_version="0"),
    _C=SimpleNamespace(),
)
print("started", flush=True)
print(_build.library_for(torch), flush=True)
"""


class Compiler:
    """A script in the place of the compiler: it notes each call, and copies a file to its output."""

    def __init__(self, directory: Path, then: str = "") -> None:
        self.output, self._calls = directory / "output", directory / "calls"
        self.output.write_bytes(CONTENTS)
        self.script = directory / "compiler"
        self.script.write_text(f"""#!/bin/sh
        while [ "$1" != -o ]; do shift; done
        echo called >> "{self._calls}"
        {then}
        cp "{self.output}" "$2"
        """)
        self.script.chmod(0o700)

    @property
    def calls(self) -> int:
        return len(self._calls.read_text().splitlines()) if self._calls.exists() else 0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mindtorch_v2"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    compiler = Compiler(tmp_path)
    monkeypatch.setenv("CXX", str(compiler.script))
    return compiler


def libraries(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.so"))


def test_a_library_is_built_once(cache: Path, compiler: Compiler) -> None:
    library = _build.library_for(FAKE_TORCH)
    assert library.read_bytes() == CONTENTS
    assert _build.library_for(FAKE_TORCH) == library
    assert compiler.calls == 1
    assert sorted(cache.iterdir()) == sorted([library, cache / "lock"])
    assert all(file.stat().st_mode & 0o077 == 0 for file in [cache, *cache.iterdir()])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda contents: contents[: len(contents) // 2], id="truncated"),
        pytest.param(lambda contents: contents[:4096] + bytes(4096) + contents[8192:], id="hole"),
        pytest.param(lambda _contents: b"", id="empty"),
    ],
)
def test_a_damaged_library_is_built_again(cache: Path, compiler: Compiler, damage: Callable[[bytes], bytes]) -> None:
    library = _build.library_for(FAKE_TORCH)
    library.write_bytes(damage(CONTENTS))
    assert _build.library_for(FAKE_TORCH).read_bytes() == CONTENTS
    assert compiler.calls == 2
    assert len(libraries(cache)) == 1


def test_a_damaged_library_is_deleted_when_the_new_one_differs(cache: Path, compiler: Compiler) -> None:
    _build.library_for(FAKE_TORCH).write_bytes(b"")
    compiler.output.write_bytes(b"another build")
    library = _build.library_for(FAKE_TORCH)
    assert library.read_bytes() == b"another build"
    assert libraries(cache) == [library]


def test_a_library_that_another_process_has_built_meanwhile_is_kept(cache: Path) -> None:
    """Without locks both build, and one may delete nothing that the other is about to load."""
    one = _cache.Cache().add("name", lambda path: _write(path, b"one"))
    other = _cache.Cache().add("name", lambda path: _write(path, b"other"))
    assert libraries(cache) == sorted([one, other])
    assert _cache.Cache().find("name") in {one, other}


def _write(path: Path, contents: bytes) -> None:
    path.write_bytes(contents)


class Loader:
    """Loads libraries with the right contents only."""

    def __init__(self, right: bytes) -> None:
        self.tried: list[bytes] = []
        self._right = right

    def __call__(self, library: Path) -> None:
        self.tried.append(library.read_bytes())
        if self.tried[-1] != self._right:
            raise ImportError("cannot load it")


def test_a_library_that_does_not_load_is_built_again(cache: Path, compiler: Compiler) -> None:
    """It may have been built on another machine with the same home directory."""
    _build.library_for(FAKE_TORCH)
    compiler.output.write_bytes(b"for this machine")
    loader = Loader(b"for this machine")
    _build.load_library(FAKE_TORCH, loader)
    assert loader.tried == [CONTENTS, b"for this machine"]
    _build.load_library(FAKE_TORCH, loader)
    assert compiler.calls == 2
    assert len(libraries(cache)) == 1


def test_a_new_library_that_does_not_load_is_not_built_again(cache: Path, compiler: Compiler) -> None:
    with pytest.raises(ImportError, match="cannot load it"):
        _build.load_library(FAKE_TORCH, Loader(b"something else"))
    assert compiler.calls == 1
    # The next program tries once more.
    with pytest.raises(ImportError, match="cannot load it"):
        _build.load_library(FAKE_TORCH, Loader(b"something else"))
    assert compiler.calls == 2


def test_a_library_that_another_process_has_replaced_is_kept(cache: Path, compiler: Compiler) -> None:
    """Of many processes that cannot load a library, one builds it again, and the others load the new one."""
    library = _build.library_for(FAKE_TORCH)

    def load(tried: Path) -> None:
        if len(loads) == 0:
            loads.append(tried)
            # Meanwhile another process builds it again.
            tried.unlink()
            _build.library_for(FAKE_TORCH)
            raise ImportError("cannot load it")
        loads.append(tried)

    loads: list[Path] = []
    _build.load_library(FAKE_TORCH, load)
    assert loads == [library, library]
    assert compiler.calls == 2


def test_the_contents_are_on_the_disk_before_the_name(
    cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(handle: int) -> None:
        calls.append(f"fsync {Path(f'/proc/self/fd/{handle}').resolve().suffix or 'directory'}")
        fsync(handle)

    def noted_replace(path: Path, target: Path) -> Path:
        calls.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    _build.library_for(FAKE_TORCH)
    assert calls == ["fsync .part", "rename", "fsync directory"]


@pytest.mark.parametrize("value", ["relative", "./relative", "", "~/cache"])
def test_a_relative_cache_home_is_ignored(
    tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")
    assert _build.library_for(FAKE_TORCH).parent == tmp_path / "home" / ".cache" / "mindtorch_v2"
    assert list((tmp_path / "working").iterdir()) == []


def refuse(*_args: Any, **_options: Any) -> Any:
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_read_only_cache_is_read(cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    library = _build.library_for(FAKE_TORCH)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert _build.library_for(FAKE_TORCH) == library


def test_a_library_in_a_read_only_cache_that_does_not_load_is_an_import_error(
    cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build.library_for(FAKE_TORCH)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ImportError, match="cannot load it"):
        _build.load_library(FAKE_TORCH, Loader(b"something else"))


def test_a_read_only_cache_without_the_library_is_a_build_error(
    cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(_cache.BuildError, match=r"cannot be written to: .*Read-only.* in XDG_CACHE_HOME"):
        _build.library_for(FAKE_TORCH)


def test_a_file_system_without_locks(cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_args: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert _build.library_for(FAKE_TORCH).read_bytes() == CONTENTS


def test_a_lock_that_is_never_released(cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that holds it may be stopped. The clock and the waiting are simulated."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(_cache, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    with _cache.Cache().lock():
        assert _build.library_for(FAKE_TORCH).read_bytes() == CONTENTS
    assert now >= _cache.LOCK_TIMEOUT_S


def start() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def built_by(process: subprocess.Popen[str]) -> Path:
    output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    return Path(output.strip())


# Makes a compiler wait until a file is there.
WAIT = 'while [ ! -e "{}" ]; do sleep 0.01; done'


def test_many_processes_build_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one's compiler ends when all others need the library."""
    released = tmp_path / "released"
    compiler = Compiler(tmp_path, WAIT.format(released))
    monkeypatch.setenv("CXX", str(compiler.script))
    processes = [start() for _ in range(6)]
    released.touch()
    [library] = {built_by(process) for process in processes}
    assert library.read_bytes() == CONTENTS
    assert compiler.calls == 1


def test_a_process_that_dies_while_it_builds(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that waits for it builds. The first compiler kills the process that has called it."""
    released, killed = tmp_path / "released", tmp_path / "killed"
    then = f'{WAIT.format(released)}\nif [ ! -e "{killed}" ]; then touch "{killed}"; kill -9 $PPID; exit 1; fi'
    compiler = Compiler(tmp_path, then)
    monkeypatch.setenv("CXX", str(compiler.script))
    first = start()
    wait_for(lambda: compiler.calls == 1)
    second = start()
    released.touch()
    assert built_by(second).read_bytes() == CONTENTS
    assert first.wait(timeout=TIMEOUT_S) == -9
    assert compiler.calls == 2
    assert first.stdout is not None
    first.stdout.close()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
