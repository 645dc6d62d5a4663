"""Files."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def prof() -> profile:
    with profile() as prof, record_function("outer"):
        prof.step()
        with record_function("inner"):
            pass
    return prof


def test_spans_are_complete_events_with_the_times_that_events_have(
    prof: profile, exported: Callable[[profile], dict[str, Any]]
) -> None:
    trace = exported(prof)
    (start,) = [event["ts"] for event in trace["traceEvents"] if event.get("cat") == "Trace"]
    spans = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    assert trace["traceEvents"][0]["ph"] == "X"
    for span, event in zip(spans, prof.events(), strict=True):
        assert (span["name"], span["ph"]) == (event.name, "X")
        assert (span["pid"], span["tid"]) == (os.getpid(), threading.get_native_id())
        assert round((span["ts"] - start) * 1000) == event["start_ns"]
        assert round(span["dur"] * 1000) == event["duration_ns"]
        assert (span["args"]["device_type"], span["args"]["step"]) == ("CPU", event["step"])


def test_an_event_has_one_number_in_the_list_and_in_the_file(
    prof: profile, exported: Callable[[profile], dict[str, Any]]
) -> None:
    spans = [event for event in exported(prof)["traceEvents"] if event.get("cat") == "user_annotation"]
    assert [span["args"]["External id"] for span in spans] == [event["correlation_id"] for event in prof.events()]


def test_can_be_exported_again_and_from_the_handler(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    with profile(on_trace_ready=lambda prof: prof.export_chrome_trace(first)) as prof, record_function("work"):
        pass
    prof.export_chrome_trace(str(second))
    prof.export_chrome_trace(str(second))
    traces = [json.loads(path.read_text(encoding="utf-8")) for path in (first, second)]
    assert traces[0]["traceEvents"] == traces[1]["traceEvents"]


def test_a_path_that_ends_in_gz_is_compressed(prof: profile, tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        assert "traceEvents" in json.load(file)


@pytest.mark.parametrize(
    ("path", "error"),
    [("no/such/directory/t.json", FileNotFoundError), (".", IsADirectoryError), ("file/t.json", NotADirectoryError)],
)
def test_a_refused_file_is_an_os_error_that_keeps_the_data(
    prof: profile, tmp_path: Path, path: str, error: type[OSError]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error) as raised:
        prof.export_chrome_trace(tmp_path / path)
    assert isinstance(raised.value.filename, str)
    assert Path(raised.value.filename) == tmp_path / path
    assert raised.value.strerror == os.strerror(raised.value.errno or 0)
    prof.export_chrome_trace(tmp_path / "good.json")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "good.json"]


def test_a_full_disk_is_an_os_error(prof: profile) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        prof.export_chrome_trace("/dev/full")


def test_a_path_of_another_type_is_a_type_error(prof: profile) -> None:
    with pytest.raises(TypeError):
        prof.export_chrome_trace(5)  # type: ignore[arg-type]


class BytesPath:
    def __init__(self, path: bytes) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return self.path


@pytest.mark.parametrize("given_as", [os.fsdecode, bytes, BytesPath])
def test_a_path_may_have_any_bytes_and_be_bytes(
    prof: profile, tmp_path: Path, given_as: Callable[[bytes], str | bytes | os.PathLike[bytes]]
) -> None:
    directory = os.fsencode(tmp_path)
    prof.export_chrome_trace(given_as(directory + b"/caf\xe9 \xff.json"))
    assert os.listdir(directory) == [b"caf\xe9 \xff.json"]  # noqa: PTH208
    (path,) = tmp_path.iterdir()
    assert "traceEvents" in json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ["a\0b.json", b"a\0b.json"])
def test_a_path_with_a_null_byte_is_a_value_error(prof: profile, path: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"^embedded null byte$"):
        prof.export_chrome_trace(path)


def test_an_empty_recording_is_a_valid_file(exported: Callable[[profile], dict[str, Any]]) -> None:
    with profile() as prof:
        pass
    assert isinstance(exported(prof)["traceEvents"], list)
