"""The life of an execution trace observer and of its file."""

from __future__ import annotations

import errno
import gc
import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.execution_traces import nodes_of, observed
from tests.profiler.support import in_child, output_of, scope, torch

from mindtorch_v2.profiler import ExecutionTraceObserver, profile

if TYPE_CHECKING:
    from collections.abc import Callable

FORK = "ignore:.*multi-threaded, use of fork:DeprecationWarning"
SWITCH, EXTRAS = "ENABLE_PYTORCH_EXECUTION_TRACE", "ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.json"


def test_a_new_observer_has_nothing() -> None:
    observer = ExecutionTraceObserver()
    assert (observer.extra_resources_collection, observer.resources_dir) == (False, "")
    assert (observer.output_file_path, observer.output_file_path_observer) == ("", "")
    assert observer.get_output_file_path() is None
    assert observer.get_resources_dir() is None
    assert not observer.is_registered
    assert not observer.is_running()


def test_without_a_file_nothing_happens() -> None:
    observer = ExecutionTraceObserver()
    for call in (observer.start, observer.stop, observer.unregister_callback, observer.cleanup):
        call()
        assert not observer.is_running()


def test_the_states_of_an_observer(path: Path) -> None:
    observer = ExecutionTraceObserver()
    assert observer.register_callback(str(path)) is observer
    states = []
    for call in (observer.start, observer.start, observer.stop, observer.stop, observer.start, observer.cleanup):
        call()
        states.append((observer.is_registered, observer.is_running()))
    assert states == [(True, True), (True, True), (True, False), (True, False), (True, True), (False, False)]
    assert observer.get_output_file_path() == str(path)
    observer.start()
    assert not observer.is_running()


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_any_kind_of_path_will_do(path: Path, kind: Callable[[Path], Any]) -> None:
    observer = ExecutionTraceObserver().register_callback(kind(path))
    observer.cleanup()
    assert observer.get_output_file_path() == str(path)
    assert nodes_of(path).names() == []


def test_the_file_is_whole_at_any_time(path: Path) -> None:
    observer = ExecutionTraceObserver().register_callback(path)
    assert nodes_of(path).names() == []
    observer.start()
    x = torch.ones(1)
    # More than is kept in memory.
    for _ in range(1500):
        torch.relu(x)
    assert len(nodes_of(path).names()) > 100
    observer.stop()
    assert len(nodes_of(path).named("aten::relu")) == 1500
    observer.start()
    scope("last")
    observer.cleanup()
    assert nodes_of(path).names()[-1] == "last"


def test_a_longer_file_that_was_there_is_replaced(path: Path) -> None:
    path.write_text("x" * 100_000)
    with observed(path) as nodes:
        scope("new")
    assert nodes.names() == ["new"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("", IsADirectoryError), ("missing/trace.json", FileNotFoundError), ("missing/trace.json.gz", FileNotFoundError)],
)
def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path, name: str, error: type[OSError]) -> None:
    bad, good = tmp_path / name, tmp_path / "good.json"
    observer = ExecutionTraceObserver()
    with pytest.raises(error) as raised:
        observer.register_callback(bad)
    assert raised.value.filename == str(bad)
    assert not observer.is_registered
    assert list(tmp_path.iterdir()) == []
    assert observer.register_callback(good).is_registered
    observer.cleanup()
    assert nodes_of(good).names() == []


def test_a_directory_cannot_be_a_compressed_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.gz"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        ExecutionTraceObserver().register_callback(folder)


def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left") as raised:
        ExecutionTraceObserver().register_callback("/dev/full")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, "/dev/full")


def test_what_is_not_a_file_gets_the_trace_at_once() -> None:
    program = """
    import mindtorch_v2 as torch
    from mindtorch_v2.profiler import ExecutionTraceObserver
    observer = ExecutionTraceObserver().register_callback("/dev/stdout")
    observer.start()
    torch.relu(torch.ones(1))
    observer.stop()
    observer.cleanup()
    """
    text = "\n".join(output_of(program))
    assert "aten::relu" in {node["name"] for node in json.loads(text)["nodes"]}


def test_registering_again_changes_nothing(path: Path, tmp_path: Path) -> None:
    observer = ExecutionTraceObserver().register_callback(path)
    observer.register_callback(path)
    with pytest.warns(UserWarning, match="is ignored"):
        observer.register_callback(tmp_path / "other.json")
    observer.cleanup()
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize("name", ["second.json", "second.json.gz"])
def test_a_second_observer_is_told_that_there_is_one(path: Path, tmp_path: Path, name: str) -> None:
    first, second = ExecutionTraceObserver().register_callback(path), ExecutionTraceObserver()
    with pytest.warns(UserWarning, match="another execution trace observer is registered"):
        assert second.register_callback(tmp_path / name) is second
    assert not second.is_registered
    second.start()
    second.cleanup()
    assert first.is_registered
    first.start()
    scope("of the first")
    first.cleanup()
    assert nodes_of(path).names() == ["of the first"]
    assert [file.name for file in tmp_path.iterdir()] == ["trace.json"]
    second.register_callback(tmp_path / "second.json").cleanup()
    assert nodes_of(tmp_path / "second.json").names() == []


def test_an_observer_can_be_used_again(path: Path, tmp_path: Path) -> None:
    observer = ExecutionTraceObserver()
    for name in ("a", "b"):
        observer.register_callback(tmp_path / name)
        observer.start()
        scope(name)
        observer.cleanup()
    assert [nodes_of(tmp_path / name).names() for name in ("a", "b")] == [["a"], ["b"]]


def test_a_name_that_ends_in_gz_is_compressed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, plain = tmp_path / "trace.json.gz", tmp_path / "plain.json"
    observer = ExecutionTraceObserver().register_callback(path)
    assert observer.get_output_file_path() == str(path)
    observer.start()
    scope("work")
    observer.stop()
    assert nodes_of(path).names() == ["work"]
    observer.start()
    scope("more work")
    observer.cleanup()
    assert list(tmp_path.iterdir()) == [path]
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert nodes_of(plain).names() == ["work", "more work"]
    assert capsys.readouterr() == ("", "")


def test_an_observer_that_is_let_go_ends_its_file(path: Path) -> None:
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    scope("work")
    del observer
    gc.collect()
    assert nodes_of(path).names() == ["work"]
    ExecutionTraceObserver().register_callback(path).cleanup()


def test_leaving_the_interpreter_ends_the_file(path: Path) -> None:
    program = f"""
    import mindtorch_v2 as torch
    from mindtorch_v2.profiler import ExecutionTraceObserver
    observer = ExecutionTraceObserver().register_callback({str(path)!r})
    observer.start()
    torch.relu(torch.ones(1))
    """
    assert output_of(program) == []
    assert "aten::relu" in nodes_of(path).names()


@pytest.mark.filterwarnings(FORK)
def test_a_forked_child_leaves_the_file_alone(path: Path, tmp_path: Path) -> None:
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    scope("parent")

    def child() -> None:
        scope("child")
        assert not observer.is_registered
        assert not observer.is_running()
        observer.stop()
        observer.cleanup()
        with observed(tmp_path / "child.json") as nodes:
            scope("of the child")
        assert nodes.names() == ["of the child"]

    assert in_child(child) == 0
    scope("parent again")
    observer.cleanup()
    assert nodes_of(path).names() == ["parent", "parent again"]


def test_resources_have_a_directory_beside_the_file(path: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "trace_resources")
    assert ExecutionTraceObserver.get_resources_dir_for_et_path(path) is None
    observer = ExecutionTraceObserver()
    observer.set_extra_resource_collection(True)
    assert observer.get_resources_dir(can_create=True) is None
    observer.register_callback(path)
    assert observer.resources_dir == observer.get_resources_dir() == folder
    assert ExecutionTraceObserver.get_resources_dir_for_et_path(path) == folder
    observer.set_extra_resource_collection(False)
    assert observer.get_resources_dir() is None
    observer.cleanup()
    with pytest.warns(UserWarning, match="cannot make the directory"):
        found = ExecutionTraceObserver.get_resources_dir_for_et_path(tmp_path / "no" / "t.json", create_dir=True)
    assert found is None


def test_the_environment_makes_an_observer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setenv(EXTRAS, "1")
    with profile() as prof:
        torch.relu(torch.ones(1))
    observer: Any = prof.execution_trace_observer
    written = Path(observer.get_output_file_path())
    assert written.parent == tmp_path
    assert written.name.endswith(".et.json")
    assert "aten::relu" in nodes_of(written).names()
    assert observer.resources_dir == str(written).removesuffix(".json") + "_resources"
    assert Path(observer.resources_dir).is_dir()
