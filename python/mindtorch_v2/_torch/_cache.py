"""The cache of built libraries: files that are whole, or are built again.

A library's name ends in a checksum of its contents, so that one ``rename`` publishes both. A file that was cut short or
has a hole, as after a power cut, does not match its name. Loading it could kill the process, so it counts as absent.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How long to wait for another process that builds. Then this one builds as well, which costs time and nothing else.
LOCK_TIMEOUT_S = 300.0
_POLL_S = 0.05


class BuildError(Exception):
    """The library cannot be built, or not be kept."""


class Cache:
    """A directory that only this user can write to, because what is in it is loaded."""

    def __init__(self) -> None:
        try:
            self._directory = _base() / "mindtorch_v2"
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self._directory.stat()
        except (OSError, RuntimeError) as error:  # the latter of a user without a home
            why = f"there is no place for what is built: {error}. Say where, in XDG_CACHE_HOME"
            raise BuildError(why) from error
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise BuildError(f"{self._directory} can be written to by others, so that nothing is loaded from there")

    def find(self, name: str) -> Path | None:
        """Return the library that was built under this name, if its contents match its checksum."""
        return next((library for library in self._all(name) if _is_whole(library)), None)

    def _all(self, name: str) -> list[Path]:
        return [entry for entry in sorted(self._directory.iterdir()) if _name_of(entry) == name]

    def add(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the library that ``build`` writes to the path that it is called with.

        Damaged files of this name are deleted.

        Raises:
            BuildError: the library cannot be written.
        """
        try:
            handle, part = tempfile.mkstemp(dir=self._directory, prefix=name, suffix=".part")
            os.close(handle)
        except OSError as error:
            why = f"{self._directory} cannot be written to: {error}. Say where else it can, in XDG_CACHE_HOME"
            raise BuildError(why) from error
        built = Path(part)
        try:
            build(built)
            return self._publish(name, built)
        finally:
            built.unlink(missing_ok=True)

    def _publish(self, name: str, built: Path) -> Path:
        try:
            built.chmod(0o700)
            with built.open("rb") as file:
                checksum = _checksum(file.read())
                # Before the rename: after a power cut a file may have its new name and not its contents.
                os.fsync(file.fileno())
            library = self._directory / f"{name}.{checksum}.so"
            built.replace(library)
        except OSError as error:
            raise BuildError(f"{built} cannot be written: {error}") from error
        self._delete_damaged(name)
        self._sync_directory()
        return library

    def _delete_damaged(self, name: str) -> None:
        # The whole ones stay: without a lock another process may have built one meanwhile, and be about to load it.
        with suppress(OSError):
            for library in self._all(name):
                if not _is_whole(library):
                    library.unlink()

    def _sync_directory(self) -> None:
        # Some file systems cannot do this. Without it a power cut may cost the library, which is built again.
        with suppress(OSError):
            handle = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def discard(self, library: Path, identity: tuple[int, ...] | None) -> None:
        """Delete a library that does not load, unless another process has replaced it since it had this identity."""
        with self.lock(), suppress(OSError):
            if identity_of(library) == identity:
                library.unlink()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of this cache, of which the kernel rids a process that ends. Threads exclude each other, too.

        Where the file system has no locks, or the cache cannot be written to, nothing is held.
        """
        try:
            handle = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield
            return
        try:
            _wait_for(handle)
            yield
        finally:
            # A process that was forked in the meantime has the same lock: closing the file would leave it locked.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def identity_of(library: Path) -> tuple[int, ...] | None:
    """Return numbers that identify a file, so that a replacement is recognised, or None if there is no file."""
    try:
        status = library.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _base() -> Path:
    """Return the user's directory of caches. The specification has relative paths ignored."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return base if base.is_absolute() else Path.home() / ".cache"


def _name_of(library: Path) -> str | None:
    """Return the name that a library was added under, or None of other files."""
    name, _, rest = library.name.rpartition(".so")[0].rpartition(".")
    return name if name and rest else None


def _is_whole(library: Path) -> bool:
    try:
        return library.name.endswith(f".{_checksum(library.read_bytes())}.so")
    except OSError:
        return False


def _checksum(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:32]


def _wait_for(handle: int) -> None:
    """Take the lock, or give up after a time: its holder may be stopped."""
    end = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            is_held = error.errno in {errno.EWOULDBLOCK, errno.EACCES}
            if not is_held or time.monotonic() > end:
                return
        else:
            return
        time.sleep(_POLL_S)
