"""Data frames in the libraries that people read them with: every row says what the event says."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mindtorch_v2
from mindtorch_v2.autograd.profiler_util import EventList
from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable

torch: Any = mindtorch_v2
Rows = list[dict[str, Any]]


def everything() -> Any:
    """Profile a program with some of all that can be captured, on two threads and both devices."""

    def other_thread() -> None:
        with record_function("on a thread"):
            torch.ones(3).sum()

    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as prof:
        with record_function("forward"):
            x = torch.ones(4, 5, requires_grad=True)
            y = torch.cat([x @ torch.ones(5, 2), torch.zeros(1, 2)])
        y.sum().backward()
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
        torch.ones(8, device="npu").add(1).cpu()
    return prof


@pytest.fixture(scope="module")
def recorded() -> Any:
    return everything()


READERS: dict[str, Callable[[Any], Rows]] = {
    "polars": lambda frame: pl.DataFrame(frame).to_dicts(),
    "pandas": lambda frame: plain(pa.table(frame).to_pandas()),
    "pyarrow": lambda frame: pa.table(frame).to_pylist(),
    "duckdb": lambda frame: pa.table(duckdb.from_arrow(frame)).to_pylist(),
}
FILES: dict[str, Callable[[Path], Rows]] = {
    "polars": lambda path: pl.read_parquet(path).to_dicts(),
    "pandas": lambda path: plain(pd.read_parquet(path)),
    "pyarrow": lambda path: pq.read_table(path).to_pylist(),
    "duckdb": lambda path: pa.table(duckdb.sql(f"SELECT * FROM '{path}'")).to_pylist(),
}


def plain(frame: pd.DataFrame) -> Rows:
    """Return rows with None for what is missing, lists for arrays, and whole numbers where nothing else can be."""

    def value(item: Any) -> Any:
        if item is None or item is pd.NA or (isinstance(item, float) and item != item):  # noqa: PLR0124
            return None
        if hasattr(item, "tolist"):
            item = item.tolist()
        return [value(part) for part in item] if isinstance(item, list) else item

    return [{key: value(item) for key, item in row.items()} for row in frame.to_dict("records")]


def flat_shapes(event: Any) -> list[list[int]]:
    """Return a shape for each tensor and each other input; a list of tensors has one for each of its tensors."""
    shapes: list[list[int]] = []
    for shape in event.structured_input_shapes:
        is_list = bool(shape) and isinstance(shape[0], list)
        shapes.extend(shape if is_list else [shape])
    return shapes


def check_events(rows: Rows, events: Any) -> None:
    assert len(rows) == len(events) > 0
    for at, (row, event) in enumerate(zip(rows, events, strict=True)):
        for key in ("name", "device_type", "start_ns", "end_ns", "duration_ns", "step", "thread_id", "correlation_id"):
            assert row[key] == event[key], (at, key)
        assert row["self_duration_ns"] == round(event.self_cpu_time_total * 1000) or row["kind"] in {"kernel", "copy"}
        assert row["kind"] == event["kind"] or (row["kind"] not in {"op", "scope"} and event["kind"] == "op")
        assert row["device_time_ns"] in {round(event.device_time_total * 1000), None}
        assert row["sequence_number"] == (event.sequence_nr if event.sequence_nr >= 0 else None)
        assert row["cpu_memory_usage"] in {event.cpu_memory_usage, None}
        assert row["self_device_memory_usage"] in {event.self_device_memory_usage, None}
        assert row["is_async"] == event.is_async
        assert (row["overload"] or "") == event.overload_name
        parent = event.cpu_parent
        assert (None if row["parent"] is None else rows[int(row["parent"])]["correlation_id"]) == (
            None if parent is None else parent["correlation_id"]
        )
        if "stack" in event:
            assert row["stack"].split("\n") == (event.stack or [""])
        else:
            assert row["stack"] is None
        if "input_shapes" in event:
            assert row["input_shapes"] == flat_shapes(event)
            assert len(row["input_types"]) == len(row["concrete_inputs"]) == len(row["input_arguments"])
            assert len(set(row["input_arguments"])) == len(event.input_dtypes)
        else:
            assert row["input_shapes"] is None
        memory = f"{event['device_type'].lower()}_memory_allocated"
        assert row["memory_allocated_before"] == event.get(f"{memory}_before")
        assert row["memory_allocated_after"] == event.get(f"{memory}_after")


def check_averages(rows: Rows, averages: Any) -> None:
    assert len(rows) == len(averages) > 0
    for row, average in zip(rows, averages, strict=True):
        for name in (
            "key",
            "count",
            "cpu_time_total",
            "self_cpu_time_total",
            "device_time_total",
            "self_device_time_total",
            "cpu_time",
            "device_time",
            "cpu_memory_usage",
            "self_cpu_memory_usage",
            "device_memory_usage",
            "self_device_memory_usage",
            "flops",
            "is_async",
            "is_user_annotation",
        ):
            assert row[name] == getattr(average, name), (row["key"], name)
        assert (row["stack"] or "").split("\n") == (average.stack or [""])
        assert (row["overload_name"] or "") == average.overload_name


@pytest.mark.parametrize("reader", READERS)
def test_rows_are_the_events(recorded: Any, reader: str) -> None:
    check_events(READERS[reader](recorded.events().data_frame()), recorded.events())


@pytest.mark.parametrize("reader", READERS)
def test_what_was_not_captured_is_null(reader: str) -> None:
    with profile(activities=["CPU"]) as prof, record_function("work"):
        torch.ones(3).add(1)
    rows = READERS[reader](prof.events().data_frame())
    check_events(rows, prof.events())
    assert {row["flops"] for row in rows} == {row["input_shapes"] for row in rows} == {None}


@pytest.mark.parametrize("reader", READERS)
def test_rows_are_the_averages(recorded: Any, reader: str) -> None:
    for averages in (
        recorded.key_averages(),
        recorded.key_averages(group_by_input_shape=True, group_by_stack_n=3, include_python_functions=True),
    ):
        check_averages(READERS[reader](averages.data_frame()), averages)


@pytest.mark.parametrize("reader", FILES)
def test_files_have_the_same_rows(recorded: Any, reader: str, tmp_path: Path) -> None:
    recorded.export_parquet(tmp_path / "events.parquet")
    check_events(FILES[reader](tmp_path / "events.parquet"), recorded.events())
    averages = recorded.key_averages(group_by_input_shape=True, group_by_stack_n=2)
    averages.export_parquet(tmp_path / "averages.parquet")
    check_averages(FILES[reader](tmp_path / "averages.parquet"), averages)


@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_a_table_too(reader: str) -> None:
    assert READERS[reader](EventList().data_frame()) == []


def test_the_list_itself_is_read_by_what_asks_for_the_interface(recorded: Any) -> None:
    events = recorded.events()
    table = pa.RecordBatchReader.from_stream(events).read_all()
    assert table.num_rows == len(events)
    assert pa.schema(events) == table.schema


@pytest.mark.parametrize("reader", READERS)
def test_a_changed_list_has_the_rows_that_it_holds(reader: str) -> None:
    events = everything().events()
    events.sort(key=lambda event: event.self_cpu_time_total, reverse=True)
    del events[5:]
    rows = READERS[reader](events.data_frame())
    assert [row["correlation_id"] for row in rows] == [event["correlation_id"] for event in events]
    assert [row["name"] for row in rows] == [event.name for event in events]


def test_a_question_is_answered_alike_by_all(recorded: Any) -> None:
    frame = recorded.events().data_frame()
    expected: dict[str, int] = {}
    for event in recorded.events():
        expected[event.key] = expected.get(event.key, 0) + event["duration_ns"]
    query = "SELECT name::VARCHAR, sum(duration_ns)::BIGINT FROM frame GROUP BY 1"
    assert dict(duckdb.sql(query).fetchall()) == expected
    sums = pl.DataFrame(frame).group_by("name").agg(pl.col("duration_ns").sum())
    assert dict(sums.iter_rows()) == expected
    by_name = pa.table(frame).to_pandas().groupby("name", observed=False)["duration_ns"].sum()
    assert by_name.to_dict() == expected


def test_the_absolute_time_is_in_the_schema(recorded: Any) -> None:
    metadata = pa.schema(recorded.events()).metadata
    start = recorded.profiler.kineto_results.start_ns
    assert int(metadata[b"start_epoch_ns"]) == start


def test_a_million_rows_are_read_from_the_recordings_own_memory() -> None:
    with profile(activities=["CPU"]) as prof:
        for _ in range(1_000_000):
            with record_function("s"):
                pass
    frame = prof.events().data_frame()
    table = pa.table(frame)
    assert table.num_rows == 1_000_000
    # Starts are the recording's own memory: a second table has the same.
    again = pa.table(prof.events().data_frame())
    addresses = [[chunk.buffers()[1].address for chunk in t["start_ns"].chunks] for t in (table, again)]
    assert addresses[0] == addresses[1]
    del prof, frame, again
    assert table["start_ns"][999_999].as_py() > table["start_ns"][0].as_py()


def test_the_page_on_data_frames_has_an_example_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "data_frames.md"
    (example,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(page), "exec"), {})
    assert len(pq.read_table("events.parquet")) == 1
