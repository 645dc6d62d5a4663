"""Data frames without any library: the capsules of Arrow's C interface, looked at by hand."""

from __future__ import annotations

import ctypes
import gc
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent
from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

torch: Any = mindtorch_v2


class Schema(ctypes.Structure):
    """What a column is."""


class Array(ctypes.Structure):
    """Some rows of a column."""


class Stream(ctypes.Structure):
    """Batches, one after another."""


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", ctypes.c_void_p),
]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def stream_of(capsule: Any) -> Any:
    return ctypes.cast(_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(Stream))


def fields_of(schema: Any) -> dict[str, Any]:
    return {schema.children[at][0].name.decode(): schema.children[at][0] for at in range(schema.n_children)}


def starts(frame: Any) -> list[int]:
    """Read the column of start times, batch by batch."""
    capsule = frame.__arrow_c_stream__()
    stream, schema = stream_of(capsule), Schema()
    assert stream[0].get_schema(stream, schema) == 0
    place = list(fields_of(schema)).index("start_ns")
    found: list[int] = []
    while True:
        batch = Array()
        assert stream[0].get_next(stream, batch) == 0
        if not batch.release:
            break
        column = batch.children[place][0]
        found += ctypes.cast(column.buffers[1], ctypes.POINTER(ctypes.c_int64))[: column.length]
        batch.release(batch)
        assert not batch.release
    schema.release(schema)
    return found


@pytest.fixture
def prof() -> Any:
    with profile(record_shapes=True) as prof, record_function("work"):
        torch.ones(3).add(1)
    return prof


def test_a_list_of_events_is_a_stream(prof: Any) -> None:
    events = prof.events()
    assert "arrow_array_stream" in repr(events.__arrow_c_stream__())
    assert "arrow_schema" in repr(events.__arrow_c_schema__())
    assert starts(events) == [event["start_ns"] for event in events]
    assert starts(events.data_frame()) == starts(events)


def test_columns_have_types_that_all_readers_know(prof: Any) -> None:
    capsule = prof.events().__arrow_c_schema__()
    schema = ctypes.cast(_pointer(capsule, b"arrow_schema"), ctypes.POINTER(Schema))[0]
    assert schema.format == b"+s"
    fields = fields_of(schema)
    assert (fields["start_ns"].format, fields["start_ns"].flags) == (b"l", 0)
    assert (fields["name"].format, fields["name"].dictionary[0].format) == (b"i", b"u")
    assert (fields["input_shapes"].format, fields["input_shapes"].flags) == (b"+l", 2)
    assert fields["input_shapes"].children[0][0].children[0][0].format == b"l"
    assert fields["is_async"].format == b"b"


def test_a_schema_may_be_asked_for(prof: Any) -> None:
    events = prof.events()
    assert events.__arrow_c_stream__(requested_schema=events.__arrow_c_schema__()) is not None
    with pytest.raises(TypeError, match="requested_schema"):
        events.__arrow_c_stream__(events.__arrow_c_stream__())


def test_a_stream_outlives_the_list_and_the_profiler() -> None:
    with profile() as prof, record_function("work"):
        pass
    capsule = prof.events().__arrow_c_stream__()
    del prof
    gc.collect()
    stream, batch = stream_of(capsule), Array()
    assert stream[0].get_next(stream, batch) == 0
    del stream, capsule
    gc.collect()
    assert batch.length == 1
    batch.release(batch)


def test_averages_are_a_stream_too(prof: Any) -> None:
    averages = prof.key_averages()
    assert len(averages.data_frame()) == len(averages)
    capsule = averages.__arrow_c_schema__()
    schema = ctypes.cast(_pointer(capsule, b"arrow_schema"), ctypes.POINTER(Schema))[0]
    assert {"key", "count", "cpu_time_total", "self_device_time_total"} <= set(fields_of(schema))


def test_a_list_that_was_changed_has_what_it_holds(prof: Any) -> None:
    events = prof.events()
    events.reverse()
    assert starts(events) == [event["start_ns"] for event in events]
    del events[1:]
    assert starts(events) == [events[0]["start_ns"]]
    events.clear()
    assert starts(events) == []


def test_what_was_not_recorded_has_no_columns(prof: Any, tmp_path: Path) -> None:
    with profile() as another, record_function("another"):
        pass
    mixed = another.events()
    mixed.extend(prof.events())
    changed = prof.events()
    changed[1].name = "mine"
    made = EventList([FunctionEvent(1, "made", 1, 0, 5)])
    for events, why in ((changed, "item 1 .*was changed"), (made, "item 0 .*is not"), (mixed, "another recording")):
        with pytest.raises(TypeError, match=why):
            events.data_frame()
        with pytest.raises(TypeError, match="table of the items instead"):
            events.export_parquet(tmp_path / "events.parquet")
    assert not list(tmp_path.iterdir())


def test_parquet_files_are_whole_or_not_there(prof: Any, tmp_path: Path) -> None:
    prof.export_parquet(tmp_path / "profile.parquet")
    prof.events().export_parquet(tmp_path / "events.parquet")
    prof.key_averages().export_parquet(str(tmp_path / "averages.parquet"))
    for name in ("profile", "events", "averages"):
        content = (tmp_path / f"{name}.parquet").read_bytes()
        assert content[:4] == content[-4:] == b"PAR1"
    with pytest.raises(FileNotFoundError):
        prof.export_parquet(tmp_path / "missing" / "events.parquet")
