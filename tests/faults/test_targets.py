"""Targets of exports: links, pipes, devices, sockets, directories and existing files."""

from __future__ import annotations

import errno
import gzip
import json
import os
import socket
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, TIMELINE, names_in
from tests.profiler.execution_traces import nodes_of
from tests.profiler.support import read_json, scope, scopes, spans

from mindtorch_v2.profiler import ExecutionTraceObserver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(TIMELINE)


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Let new files be readable and writable for everyone, unless the permissions are set otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("bits", [0o644, 0o640, 0o444])
def test_a_file_that_was_there_keeps_its_permissions(prof: Any, name: str, bits: int, tmp_path: Path) -> None:
    path = tmp_path / f"old{EXPORTS[name].suffix}"
    path.touch()
    path.chmod(bits)
    EXPORTS[name].write(prof, path)
    assert path.stat().st_size > 0
    assert mode(path) == bits


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_an_execution_trace_that_was_there_keeps_its_permissions(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for bits in (0o666, 0o640):
        observer = ExecutionTraceObserver().register_callback(path)
        observer.start()
        scope("work")
        observer.cleanup()
        assert mode(path) == bits
        assert nodes_of(path).names() == ["work"]
        path.chmod(0o640)
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("name", EXPORTS)
def test_a_link_stays_a_link(prof: Any, name: str, tmp_path: Path) -> None:
    suffix = EXPORTS[name].suffix
    target, link, dangling = (tmp_path / f"{each}{suffix}" for each in ("target", "link", "dangling"))
    target.touch()
    link.symlink_to(target.name)
    dangling.symlink_to(f"made{suffix}")
    for path in (link, dangling):
        EXPORTS[name].write(prof, path)
        assert path.is_symlink()
        assert path.stat().st_size > 0
    assert len(names_in(tmp_path)) == 4


def loop(folder: Path, suffix: str) -> Path:
    (folder / f"a{suffix}").symlink_to(f"b{suffix}")
    (folder / f"b{suffix}").symlink_to(f"a{suffix}")
    return folder / f"a{suffix}"


def to_directory(folder: Path, suffix: str) -> Path:
    (folder / "directory").mkdir()
    (folder / f"link{suffix}").symlink_to("directory")
    return folder / f"link{suffix}"


def directory(folder: Path, suffix: str) -> Path:
    (folder / f"directory{suffix}").mkdir()
    return folder / f"directory{suffix}"


def listening(folder: Path, suffix: str) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / f"s{suffix}"))
    return folder / f"s{suffix}"


def into_file(folder: Path, suffix: str) -> Path:
    (folder / "file").touch()
    return folder / "file" / f"trace{suffix}"


def nowhere(folder: Path, suffix: str) -> Path:
    (folder / f"nowhere{suffix}").symlink_to(f"no/such/directory/trace{suffix}")
    return folder / f"nowhere{suffix}"


def observe(_: Any, path: Path) -> None:
    ExecutionTraceObserver().register_callback(path)


REFUSED: list[tuple[Any, int]] = [
    (loop, errno.ELOOP),
    (to_directory, errno.EISDIR),
    (directory, errno.EISDIR),
    (listening, errno.ENXIO),
    (into_file, errno.ENOTDIR),
    (nowhere, errno.ENOENT),
]


@pytest.mark.parametrize(("make", "number"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("name", [*EXPORTS, "execution trace", "compressed execution trace"])
def test_what_cannot_be_a_file_is_an_error_that_names_it(
    prof: Any, name: str, make: Any, number: int, tmp_path: Path
) -> None:
    suffix = EXPORTS[name].suffix if name in EXPORTS else ".json.gz" if "compressed" in name else ".json"
    path = make(tmp_path, suffix)
    before = names_in(tmp_path)
    write = EXPORTS[name].write if name in EXPORTS else observe
    with pytest.raises(OSError) as raised:  # noqa: PT011
        write(prof, path)
    assert (raised.value.errno, raised.value.filename) == (number, str(path))
    assert raised.value.strerror == os.strerror(number)
    assert names_in(tmp_path) == before
    if name in EXPORTS:
        EXPORTS[name].write(prof, tmp_path / f"good{suffix}")
        assert scopes(prof) == ["work"] * 10


class Reader:
    """Reads all that is written to a pipe, on a thread of its own."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.content = b""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        self.content = self.path.read_bytes()

    def read(self) -> bytes:
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.content


@pytest.mark.parametrize("name", EXPORTS)
def test_a_pipe_is_written_to_and_stays_a_pipe(prof: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / f"pipe{EXPORTS[name].suffix}"
    reader = Reader(path)
    EXPORTS[name].write(prof, path)
    content = reader.read()
    assert path.is_fifo()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    assert len(content) > 100
    if "json" in path.name:
        json.loads(content)
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_an_execution_trace_goes_to_a_pipe(suffix: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path / f"pipe{suffix}")
    observer = ExecutionTraceObserver().register_callback(reader.path)
    observer.start()
    scope("work")
    observer.stop()
    observer.cleanup()
    content = reader.read()
    text = gzip.decompress(content) if suffix.endswith(".gz") else content
    assert "work" in [node["name"] for node in json.loads(text)["nodes"]]
    assert reader.path.is_fifo()
    assert names_in(tmp_path) == [reader.path.name]


@pytest.mark.parametrize("name", EXPORTS)
def test_a_device_is_written_to_and_stays_a_device(prof: Any, name: str, tmp_path: Path) -> None:
    link = tmp_path / f"null{EXPORTS[name].suffix}"
    link.symlink_to("/dev/null")
    EXPORTS[name].write(prof, link)
    assert link.is_char_device()
    assert names_in(tmp_path) == [link.name]


def test_a_file_that_is_open_is_reached_by_its_number(prof: Any, tmp_path: Path) -> None:
    with (tmp_path / "trace.json").open("wb") as file:
        prof.export_chrome_trace(f"/dev/fd/{file.fileno()}")
    assert spans(read_json(tmp_path / "trace.json"))
