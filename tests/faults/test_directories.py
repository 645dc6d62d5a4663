"""Directories that may not be written, or are gone."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import EXPORTS, FORK, TIMELINE, in_child, names_in, recorded
from tests.profiler.support import named, output_of, scope, scopes, spans, square, trace_of

from mindtorch_v2.profiler import ExecutionTraceObserver, profile, schedule, tensorboard_trace_handler

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.filterwarnings(FORK), pytest.mark.filterwarnings(TIMELINE)]

NOBODY = 65534


@pytest.fixture
def places() -> Iterator[tuple[Path, Path]]:
    """Two directories that everyone may enter: one that nobody but root may write to, and one that everyone may."""
    # Not in that of the tests, which is for one user.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    closed, opened = folder / "closed", folder / "open"
    closed.mkdir(mode=0o555)
    opened.mkdir()
    opened.chmod(0o777)
    yield closed, opened
    closed.chmod(0o755)
    shutil.rmtree(folder)


def give_up_root() -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


@pytest.mark.parametrize("name", EXPORTS)
def test_a_directory_that_may_not_be_written(name: str, places: tuple[Path, Path]) -> None:
    closed, opened = places
    path = closed / f"trace{EXPORTS[name].suffix}"

    def child() -> None:
        prof = recorded()
        EXPORTS[name].write(prof, "/dev/null")  # imports what it needs
        give_up_root()
        with pytest.raises(PermissionError) as raised:
            EXPORTS[name].write(prof, path)
        assert raised.value.filename == str(path)
        EXPORTS[name].write(prof, opened / path.name)
        assert names_in(closed) == []
        assert names_in(opened) == [path.name]

    assert in_child(child) == 0


def test_a_file_of_someone_elses_is_replaced_where_the_directory_may_be_written(places: tuple[Path, Path]) -> None:
    _, opened = places
    path = opened / "trace.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o400)

    def child() -> None:
        prof = recorded()
        give_up_root()
        prof.export_chrome_trace(path)

    assert in_child(child) == 0
    assert path.stat().st_size > 100
    assert stat.S_IMODE(path.stat().st_mode) == 0o400


def test_a_directory_that_may_not_be_entered(places: tuple[Path, Path]) -> None:
    closed, opened = places
    closed.chmod(0o000)

    def child() -> None:
        prof = recorded()
        give_up_root()
        for path in (closed / "trace.json", closed / "deeper" / "trace.json"):
            with pytest.raises(PermissionError) as raised:
                prof.export_chrome_trace(path)
            assert raised.value.filename == str(path)
        prof.export_chrome_trace(opened / "trace.json")

    assert in_child(child) == 0


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_an_execution_trace_in_a_directory_that_may_not_be_written(name: str, places: tuple[Path, Path]) -> None:
    closed, opened = places

    def child() -> None:
        give_up_root()
        observer = ExecutionTraceObserver()
        with pytest.raises(PermissionError) as raised:
            observer.register_callback(closed / name)
        assert raised.value.filename == str(closed / name)
        assert not observer.is_registered
        observer.register_callback(opened / name).cleanup()
        assert names_in(opened) == [name]

    assert in_child(child) == 0


def test_a_tensorboard_directory_that_cannot_be_made_or_written(places: tuple[Path, Path]) -> None:
    closed, opened = places

    def child() -> None:
        give_up_root()
        for folder, error, words in (
            (closed / "logs", RuntimeError, f"Can't create directory: {closed / 'logs'}"),
            (closed, PermissionError, str(closed)),
        ):
            prof = profile(on_trace_ready=tensorboard_trace_handler(str(folder)))
            with pytest.raises(error, match=words), prof:
                scope("work")
            assert scopes(prof) == ["work"]
            tensorboard_trace_handler(str(opened))(prof)
        assert len(names_in(opened)) == 2

    assert in_child(child) == 0


@pytest.mark.parametrize("name", EXPORTS)
def test_a_directory_that_was_deleted(prof: Any, name: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    path = gone / f"trace{EXPORTS[name].suffix}"
    with pytest.raises(FileNotFoundError) as raised:
        EXPORTS[name].write(prof, path)
    assert raised.value.filename == str(path)
    gone.mkdir()
    EXPORTS[name].write(prof, path)
    assert names_in(gone) == [path.name]


def test_a_directory_that_is_deleted_between_two_cycles(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    prof = profile(
        schedule=schedule(wait=0, warmup=1, active=1),
        acc_events=True,
        on_trace_ready=lambda prof: prof.export_chrome_trace(folder / f"{prof.step_num}.json"),
    )
    folder.mkdir()
    failed = []
    with prof:
        for number in range(6):
            if number == 3:
                shutil.rmtree(folder)
            if number == 4:
                folder.mkdir()
            scope(f"work {number}")
            try:
                prof.step()
            except FileNotFoundError as error:
                failed.append(Path(error.filename).name)
    assert failed == ["4.json"]
    assert names_in(folder) == ["6.json"]
    assert [name for name in scopes(prof) if name.startswith("work")] == ["work 1", "work 3", "work 5"]


def test_the_working_directory_may_be_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = f"""
        import os
        import mindtorch_v2 as torch
        from mindtorch_v2.profiler import profile
        before = profile(with_stack=True, profile_memory=True, record_shapes=True)
        before.start()
        os.rmdir({str(gone)!r})
        torch.ones(2) + 1
        before.stop()
        with profile(with_stack=True) as after:
            torch.ones(2) + 1
        for prof in before, after:
            for path in "trace.json", "./trace.json.gz", "../trace.json":
                try:
                    prof.export_chrome_trace(path)
                except FileNotFoundError as error:
                    print(error)
            prof.export_chrome_trace({str(tmp_path / "trace.json")!r})
            print("aten::add" in [event.name for event in prof.events()])
    """
    paths = ["trace.json", "./trace.json.gz", "../trace.json"]
    errors = [f"[Errno 2] No such file or directory: '{path}'" for path in paths]
    assert output_of(program, directory=gone) == [*errors, "True"] * 2
    assert names_in(tmp_path) == ["trace.json"]


def test_a_recording_outlives_the_sources_it_names(tmp_path: Path) -> None:
    source = tmp_path / "vanishing.py"
    source.write_text("def call(make):\n    return make()\n", encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(source.read_text(encoding="utf-8"), source, "exec"), space)
    with profile(with_stack=True) as prof:
        space["call"](square)
    source.unlink()
    (op,) = named(prof, "aten::ones")
    assert any(frame.startswith(str(source)) for frame in op.stack)
    assert spans(trace_of(prof, tmp_path))
