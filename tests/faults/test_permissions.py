"""Permissions: the umask decides for new files, a file that is replaced keeps its own, recordings are private."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, FORK, TIMELINE, in_child, recorded
from tests.profiler.support import scope

from mindtorch_v2 import _core
from mindtorch_v2.profiler import (
    ExecutionTraceObserver,
    Trace,
    flight_recorder,
    profile,
    tensorboard_trace_handler,
)
from mindtorch_v2.profiler.__main__ import main as mtprof

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]

DATA = Path(__file__).parents[2] / "crates" / "mtprof" / "tests" / "data"
UMASKS = [0o022, 0o077, 0o002]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_exports(folder: Path) -> None:
    prof = recorded()
    for number, export in enumerate(EXPORTS.values()):
        export.write(prof, folder / f"{number}{export.suffix}")
    prof.export_stacks(folder / "stacks.txt.gz")
    prof.trace().export(folder / "trace.json")
    Trace.load(folder / "trace.json").export_stacks(folder / "loaded.txt")
    # The name goes through a link that leads to no file yet.
    (folder / "link.json").symlink_to("linked.json")
    prof.export_chrome_trace(folder / "link.json")


def write_by_itself(folder: Path) -> None:
    with flight_recorder(path=folder / "flight.json.gz") as recorder:
        scope("work")
        recorder.dump()
    for use_gzip in (False, True):
        handler = tensorboard_trace_handler(folder / "logs" / f"deep{use_gzip:d}", "worker", use_gzip=use_gzip)
        with profile(on_trace_ready=handler):
            scope("work")
    for name in ("et.json", "et.json.gz"):
        observer = ExecutionTraceObserver()
        observer.set_extra_resource_collection(True)
        observer.register_callback(folder / name)
        observer.start()
        scope("work")
        observer.cleanup()


def write_by_commands(folder: Path) -> None:
    # Input files have their own permissions, so they are in another directory.
    data = folder.with_name("data")
    data.mkdir()
    ranks = [str(shutil.copy(DATA / f"rank{number}.json", data)) for number in range(3)]
    for format_suffix in ("pftrace", "json.gz", "svg", "folded", "parquet", "speedscope.json"):
        assert mtprof(["convert", "-q", str(DATA / "train.json"), str(folder / f"converted.{format_suffix}")]) == 0
    assert mtprof(["filter", "-q", str(DATA / "train.json"), str(folder / "filtered.json"), "--kind", "op"]) == 0
    assert mtprof(["merge", "-q", *ranks, "-o", str(folder / "merged.json")]) == 0
    assert mtprof(["convert", "-q", str(data), str(folder / "dataset"), "--to", "parquet"]) == 0
    assert mtprof(["report", "-q", str(DATA / "train.json"), "-o", str(folder / "report.html")]) == 0
    baseline = str(folder / "baseline.json")
    assert mtprof(["check", "-q", str(DATA / "train.json"), "--write-baseline", baseline]) == 0
    prof = profile(spool_dir=data / "spool")
    prof.start()
    scope("work")
    assert mtprof(["recover", "-q", str(data / "spool"), "-o", str(folder / "recovered.json")]) == 0


WRITERS: dict[str, tuple[Callable[[Path], None], int]] = {
    "exports": (write_exports, len(EXPORTS) + 4),
    "by themselves": (write_by_itself, 5),
    "commands": (write_by_commands, 15),
}


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
@pytest.mark.parametrize("writer", WRITERS)
def test_new_files_and_directories_have_the_permissions_that_the_umask_leaves(
    writer: str, umask: int, tmp_path: Path
) -> None:
    write, count = WRITERS[writer]
    folder = tmp_path / "written"

    def work() -> None:
        os.umask(umask)
        folder.mkdir()
        write(folder)

    assert in_child(work) == 0
    made = sorted(path for path in folder.rglob("*") if not path.is_symlink())
    files = [path for path in made if path.is_file()]
    assert {path.name: oct(mode(path)) for path in files} == {path.name: oct(0o666 & ~umask) for path in files}
    directories = [path for path in made if path.is_dir()]
    assert {path.name: oct(mode(path)) for path in directories} == dict.fromkeys(
        (path.name for path in directories), oct(0o777 & ~umask)
    )
    assert len(files) == count


def test_recordings_are_private_whatever_the_umask(tmp_path: Path) -> None:
    def work() -> None:
        os.umask(0)
        prof = profile(spool_dir=tmp_path / "spool")
        prof.start()
        scope("work")
        (spool,) = (tmp_path / "spool").iterdir()
        assert mode(spool) == 0o700
        assert {mode(path) for path in spool.iterdir()} == {0o600}

    assert in_child(work) == 0


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o604])
def test_a_file_that_is_replaced_is_never_readable_for_others_than_before(bits: int, tmp_path: Path) -> None:
    path = tmp_path / "private.txt"
    path.touch()
    path.chmod(bits)
    seen: set[int] = set()

    def pieces() -> Iterator[bytes]:
        yield bytes(1 << 20)
        # The file that is being written has a name in this directory, or only a descriptor.
        seen.update(mode(link) for link in Path("/proc/self/fd").iterdir() if str(tmp_path) in os.path.realpath(link))
        yield b"end"

    before = os.umask(0)
    try:
        write: Any = _core._write_file
        write(str(path), pieces())
    finally:
        os.umask(before)
    assert seen == {0o600}
    assert mode(path) == bits
    assert path.stat().st_size > 1 << 20
