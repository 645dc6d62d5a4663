"""``Trace``: what a profiler gives and what files hold, with filters and every format."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import Trace, TraceFormatError, profile, record_function, schedule

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def prof() -> profile:
    model = torch.nn.Linear(4, 2)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(2):
            with record_function("step"):
                model(torch.ones(3, 4)).sum().backward()
    return prof


def loaded(prof: profile, folder: Path, name: str = "trace.json") -> Trace:
    prof.export_chrome_trace(folder / name)
    return Trace.load(folder / name)


def complete(text: bytes) -> list[dict[str, Any]]:
    return [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X" and event["cat"] != "Trace"]


def test_functions_of_tasks_that_take_turns_have_the_stacks_that_they_had(tmp_path: Path) -> None:
    """Which are not those of the functions around them in time."""

    async def inner() -> None:
        await asyncio.sleep(0)
        torch.ones(1)

    async def outer(name: str) -> None:
        with record_function(name):
            await inner()
            await inner()

    async def work() -> None:
        await asyncio.gather(*(outer(name) for name in "abc"))

    with profile(with_stack=True) as prof:
        asyncio.run(work())
    assert [event.stack for event in loaded(prof, tmp_path).events()] == [event.stack for event in prof.events()]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_that_is_read_has_the_events_that_were_written(prof: profile, tmp_path: Path, name: str) -> None:
    trace = loaded(prof, tmp_path, name)
    keys = ("name", "kind", "start_ns", "end_ns", "step", "thread_id", "input_shapes", "stack")
    written, read = (
        [{key: event[key] for key in keys if key in event} for event in events]
        for events in (prof.events(), trace.events())
    )
    assert read == written
    assert (trace.start_ns, trace.lost_events) == (prof.trace().start_ns, 0)


def test_the_averages_and_the_table_of_a_trace_that_is_read_are_those_of_the_profiler(
    prof: profile, tmp_path: Path
) -> None:
    trace = loaded(prof, tmp_path)
    table = prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total", row_limit=-1)
    assert trace.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total", row_limit=-1) == table


def test_what_is_read_can_be_written_again(prof: profile, tmp_path: Path) -> None:
    trace = loaded(prof, tmp_path)
    trace.export_chrome_trace(tmp_path / "again.json")
    first, second = (json.loads((tmp_path / name).read_bytes()) for name in ("trace.json", "again.json"))
    assert second["traceEvents"] == first["traceEvents"]
    assert {key: value for key, value in second.items() if key != "traceName"} == {
        key: value for key, value in first.items() if key != "traceName"
    }


@pytest.mark.parametrize(
    ("cut", "says"),
    [(0, "empty"), (1, "ends"), (0.5, "ends")],
)
def test_a_truncated_file_is_an_error_that_says_where_and_gives_what_could_be_read(
    prof: profile, tmp_path: Path, cut: float, says: str
) -> None:
    whole = tmp_path / "whole.json"
    prof.export_chrome_trace(whole)
    text = whole.read_bytes()
    length = int(len(text) * cut) if isinstance(cut, float) else cut
    broken = tmp_path / "broken.json"
    broken.write_bytes(text[:length])
    with pytest.raises(TraceFormatError) as raised:
        Trace.load(broken)
    assert str(broken) in str(raised.value)
    assert says in str(raised.value)
    assert raised.value.offset == length
    if cut == 0.5:
        assert raised.value.trace is not None
        names = {event.name for event in prof.events()}
        read = raised.value.trace.events()
        assert read
        assert {event.name for event in read} <= names


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.json"):
        Trace.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    "write", ["export_chrome_trace", "export_perfetto_trace", "export_flame_graph", "export_stacks"]
)
def test_an_open_file_gets_what_a_path_gets(prof: profile, tmp_path: Path, write: str) -> None:
    path = tmp_path / "file"
    getattr(prof, write)(path)
    opened = io.BytesIO()
    getattr(prof, write)(opened)
    whole, written = path.read_bytes(), opened.getvalue()
    # The Chrome trace ends with its name, which is the path.
    assert written[: len(written) // 2] == whole[: len(written) // 2]
    with (tmp_path / "raw").open("wb", buffering=0) as raw:
        getattr(prof, write)(raw)
    assert (tmp_path / "raw").read_bytes() == written


def test_a_file_that_is_compressed_already_is_not_compressed_again(prof: profile, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "trace.json.gz", "wb") as file:
        prof.export_chrome_trace(file)
    assert len(Trace.load(tmp_path / "trace.json.gz").events()) == len(prof.events())


def test_what_an_open_file_raises_reaches_the_caller(prof: profile) -> None:
    class Full(io.RawIOBase):
        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        prof.export_chrome_trace(Full())
    with pytest.raises(TypeError):
        prof.export_chrome_trace(io.StringIO())  # type: ignore[arg-type]


def test_a_path_that_can_write_is_a_path(prof: profile, tmp_path: Path) -> None:
    class Local:
        """As pytest's own paths: its ``write`` begins the file anew."""

        def __fspath__(self) -> str:
            return str(tmp_path / "local.json")

        def write(self, data: bytes) -> None:
            raise AssertionError(data)

    prof.export_chrome_trace(Local())
    assert len(Trace.load(Local()).events()) == len(prof.events())


def test_a_file_that_would_block_is_not_taken_for_written(prof: profile) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with open(reader, "rb"), open(writer, "wb", buffering=0) as pipe:  # noqa: PTH123
        while pipe.write(bytes(4096)) is not None:
            pass
        with pytest.raises(BlockingIOError):
            prof.export_chrome_trace(pipe)


def test_filters_choose_what_is_written(prof: profile) -> None:
    def written(**filters: Any) -> list[dict[str, Any]]:
        out = io.BytesIO()
        prof.export_chrome_trace(out, **filters)
        return complete(out.getvalue())

    everything = written()
    assert written(activities=None) == everything
    ops = written(activities=[{"CPU": ["CPU_OP"]}])
    assert {event["cat"] for event in ops} == {"cpu_op"}
    assert ops == [event for event in everything if event["cat"] == "cpu_op"]
    assert {event["name"] for event in written(name=["aten::addmm", "st?p"])} == {"aten::addmm", "step"}
    longest = max(everything, key=lambda event: event["dur"])
    assert longest in written(min_duration_us=longest["dur"])
    assert all(event["dur"] >= 50 for event in written(min_duration_us=50))
    assert written(min_duration_us=float("inf")) == written(min_duration_us=1e306) == []
    first = next(event for event in prof.events() if event.name == "step").time_range
    within = written(time_range_us=(first.start, first.end))
    assert 0 < len(within) < len(everything)
    assert written(thread=threading.get_native_id()) == written(thread=["x*", threading.get_native_id()])
    assert {event["tid"] for event in written(thread=threading.get_native_id())} == {threading.get_native_id()}
    assert written(thread="no such thread") == []
    depths = [len(written(max_depth=depth)) for depth in (1, 2, 3)]
    assert 0 < depths[0] < depths[1] < depths[2] < len(everything)
    assert "aten::addmm" not in {event["name"] for event in written(max_depth=1)}
    assert written(max_depth=1000) == everything


@pytest.mark.parametrize(
    ("filters", "error", "says"),
    [
        ({"nam": "x"}, TypeError, "nam"),
        ({"activities": ["TPU"]}, ValueError, "TPU"),
        ({"activities": []}, ValueError, "empty"),
        ({"activities": [{"CPU": ["BOGUS"]}]}, RuntimeError, "BOGUS"),
        ({"name": 3}, TypeError, "3"),
        ({"min_duration_us": -1}, ValueError, "-1"),
        ({"min_duration_us": "1"}, TypeError, "'1'"),
        ({"time_range_us": (2, 1)}, ValueError, "2, 1"),
        ({"time_range_us": 7}, TypeError, "7"),
        ({"time_range_us": (float("nan"), 1)}, ValueError, "nan"),
        ({"thread": 1.5}, TypeError, "1.5"),
        ({"thread": []}, TypeError, "thread"),
        ({"max_depth": 0}, ValueError, "0"),
        ({"max_depth": "1"}, TypeError, "'1'"),
    ],
)
def test_a_filter_that_makes_no_sense_is_named(
    prof: profile, tmp_path: Path, filters: dict[str, Any], error: type[Exception], says: str
) -> None:
    for write in (prof.export_chrome_trace, prof.export_perfetto_trace):
        with pytest.raises(error, match=says):
            write(tmp_path / "x", **filters)
    with pytest.raises(error, match=says):
        prof.trace().filtered(**filters)
    assert not list(tmp_path.iterdir())


def test_a_filtered_trace_has_events_averages_and_files_of_what_was_taken(prof: profile, tmp_path: Path) -> None:
    trace = prof.trace().filtered(name=["step", "aten::addmm"])
    assert {event.name for event in trace.events()} == {"step", "aten::addmm"}
    counts = {row.key: row.count for row in trace.key_averages()}
    assert counts == {"step": 2, "aten::addmm": 2}
    addmm = next(event for event in trace.events() if event.name == "aten::addmm")
    assert addmm.cpu_parent.name == "step"
    # Functions that are not shown give their time to what is around them; here they are not there at all.
    everything = prof.key_averages(include_python_functions=True)
    whole = {row.key: row.self_cpu_time_total for row in everything}
    assert {row.key: row.self_cpu_time_total for row in trace.key_averages()} == {key: whole[key] for key in counts}
    trace.export(tmp_path / "part.json")
    assert len(Trace.load(tmp_path / "part.json").events()) == len(trace.events())


def test_the_end_of_a_name_chooses_the_format(prof: profile, tmp_path: Path) -> None:
    begins = {
        "a.json": b'{"schemaVersion"',
        "a.json.gz": b"\x1f\x8b",
        "a.pftrace": b"\x0a",
        "a.speedscope.json": b'{"$schema"',
        "a.svg": b"<?xml",
        "a.folded": b"",
        "a.parquet": b"PAR1",
        "a.html": b"<!",
        "a.raw.json": b"[[",
    }
    for name, begin in begins.items():
        prof.trace().export(tmp_path / name)
        assert (tmp_path / name).read_bytes()[: len(begin)].lower() == begin.lower()
        assert (tmp_path / name).stat().st_size > 0
    with pytest.raises(ValueError, match=r"a\.xyz.*\.pftrace"):
        prof.trace().export(tmp_path / "a.xyz")


def test_the_log_says_how_large_a_file_will_be(prof: profile, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mindtorch_v2.profiler"):
        prof.export_chrome_trace(tmp_path / "trace.json")
    (record,) = caplog.records
    assert record.args is not None
    estimate = next(iter(record.args))
    size = (tmp_path / "trace.json").stat().st_size
    assert isinstance(estimate, int)
    assert 0.6 * size < estimate < 1.6 * size


def test_exports_of_several_threads_do_not_disturb_each_other(prof: profile) -> None:
    texts: list[bytes] = []

    def write() -> None:
        out = io.BytesIO()
        prof.export_chrome_trace(out)
        texts.append(out.getvalue())

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1
    assert len(texts) == 4


def test_exports_of_a_profiler_that_recorded_nothing_say_so(tmp_path: Path) -> None:
    for file in ("perfetto_trace", "speedscope", "flame_graph", "report", "parquet"):
        with pytest.raises(RuntimeError, match="Profiler must be"):
            getattr(profile(), f"export_{file}")(tmp_path / "x")
    with pytest.raises(RuntimeError, match="Profiler must be"):
        profile().trace()
    assert not list(tmp_path.iterdir())


def test_files_of_events_have_all_cycles_that_are_kept(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="warmup"):
        options = schedule(wait=0, warmup=0, active=1, repeat=2)
    with profile(schedule=options, acc_events=True) as prof:
        for name in ("first", "second"):
            with record_function(name):
                pass
            prof.step()
    graph = io.BytesIO()
    prof.export_flame_graph(graph)
    assert all(name in graph.getvalue() for name in (b"first", b"second"))
    prof.export_parquet(tmp_path / "all.parquet")
    prof.events().export_parquet(tmp_path / "events.parquet")
    assert (tmp_path / "all.parquet").read_bytes() == (tmp_path / "events.parquet").read_bytes()


def test_a_flame_graph_with_functions_has_operators_and_scopes(prof: profile) -> None:
    graph = io.BytesIO()
    prof.export_flame_graph(graph)
    for name in (b"step", b"aten::addmm", b"test_trace.py"):
        assert name in graph.getvalue()


def test_a_memory_timeline_needs_memory(tmp_path: Path) -> None:
    with profile() as prof, record_function("work"):
        pass
    with pytest.raises(ValueError, match="profile_memory=True"):
        prof.trace().export_memory_timeline(tmp_path / "memory.html")
    assert not list(tmp_path.iterdir())
