"""Recordings that are larger than the memory they may take."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import Trace, _warnings, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

    from mindtorch_v2.autograd._stats import _ProfilerStats
    from mindtorch_v2.autograd.profiler_util import EventList

MIB = 1 << 20
SHARED_MEMORY = "/dev/shm"
"""A tmpfs on Linux."""
MANY = 60_000
"""Scopes that take more than 1 MiB, of 32 bytes each."""


def record(prof: profile, count: int = MANY) -> None:
    scope = record_function("scope")
    with prof:
        for _ in range(count):
            with scope:
                pass


def stats(prof: profile) -> _ProfilerStats:
    found = prof._stats()
    assert found is not None
    return found


def test_what_spills_is_all_there(tmp_path: Path) -> None:
    prof = profile(max_bytes=MIB, spill_dir=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Temporary files are in memory on some machines.
        warnings.filterwarnings("ignore", message="The profiler's spill_dir does not save memory")
        record(prof)
    assert list(tmp_path.iterdir()) == []
    assert [(row.key, row.count) for row in prof.key_averages()] == [("scope", MANY)]
    starts = [event.time_range.start for event in prof.events()]
    assert starts == sorted(starts)
    assert len(starts) == MANY
    assert stats(prof).dropped_events == {}


@pytest.mark.skipif(not os.path.isdir(SHARED_MEMORY), reason="needs a directory that is in memory")  # noqa: PTH112
def test_a_spill_dir_in_memory_is_used_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_warnings, "_shown", set())
    message = (
        r"spill_dir does not save memory: /dev/shm is in memory \(tmpfs\): .* Give spill_dir a directory on a disk\."
    )
    first = profile(max_bytes=MIB, spill_dir=SHARED_MEMORY)
    with pytest.warns(UserWarning, match=message) as caught:
        record(first)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(first.events()) == MANY
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(profile(max_bytes=MIB, spill_dir=SHARED_MEMORY), 5)


def test_a_ring_counts_what_it_drops_everywhere_it_should(tmp_path: Path) -> None:
    prof = profile(max_bytes=MIB, when_full="ring")
    record(prof)
    kept = len(prof.events())
    assert 0 < kept < MIB // 32 + 2048
    [(thread, dropped)] = stats(prof).dropped_events.items()
    assert kept + dropped == MANY
    footer = prof.key_averages().table().splitlines()[-1]
    assert footer == f"Events lost: {dropped} (dropped to stay within max_bytes: {dropped} of thread {thread})"
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    head = json.loads(path.read_text())
    assert (head["lost_events"], head["dropped_events"]) == (dropped, {str(thread): dropped})
    assert Trace.load(path).lost_events == dropped
    again = tmp_path / "again.json"
    Trace.load(path).export(again)
    assert json.loads(again.read_text())["dropped_events"] == {str(thread): dropped}


def test_one_that_stops_says_so(tmp_path: Path) -> None:
    prof = profile(max_bytes=MIB, when_full="stop")
    with pytest.warns(UserWarning, match=r"recording ended early: it has taken \d+ bytes, of 1048576"):
        record(prof)
    kept = len(prof.events())
    assert 0 < kept < MANY
    why = stats(prof).ended_early
    assert why is not None
    assert prof.key_averages().table().splitlines()[-1] == f"Recording ended early: {why}"
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    assert json.loads(path.read_text())["recording_ended_early"] == why
    # The next one begins anew.
    record(prof, 10)
    assert len(prof.events()) == 10
    assert stats(prof).ended_early is None


def test_the_warning_comes_at_the_step_after(recwarn: pytest.WarningsRecorder) -> None:
    scope = record_function("scope")
    with profile(max_bytes=MIB, when_full="stop") as prof:
        for _ in range(3):
            for _ in range(MANY):
                with scope:
                    pass
            prof.step()
            assert len(recwarn) == 1


@pytest.mark.filterwarnings("ignore:The profiler's spill_dir does not save memory")
def test_operators_and_memory_spill_too(tmp_path: Path) -> None:
    a = torch.ones(4, 4)
    bounded = profile(max_bytes=MIB, record_shapes=True, profile_memory=True, spill_dir=tmp_path)
    with bounded as prof, profile(profile_memory=True) as other:
        for _ in range(20_000):
            a + a
    with_bound, without = prof.key_averages(), other.key_averages()

    def rows(averages: EventList) -> list[tuple[str, int, int]]:
        return [(row.key, row.count, row.cpu_memory_usage) for row in averages if row.key == "aten::add"]

    assert rows(with_bound) == rows(without) == [("aten::add", 20_000, 20_000 * 64)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_bytes": 5}, ValueError, r"max_bytes should be at least 1048576 \(1 MiB\), not 5"),
        ({"max_bytes": True}, TypeError, "max_bytes should be a number of bytes or None, not bool"),
        ({"max_bytes": "1G"}, TypeError, "max_bytes should be a number of bytes or None, not str"),
        ({"when_full": "wait"}, ValueError, "when_full should be one of 'spill', 'ring', 'stop', not 'wait'"),
        ({"spill_dir": "/no/such"}, NotADirectoryError, "directory that exists, not '/no/such'"),
        ({"spill_dir": "/tmp", "when_full": "ring"}, ValueError, "spill_dir is for when_full='spill', not 'ring'"),
    ],
)
def test_bounds_that_make_no_sense(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        profile(**arguments)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:The profiler's spill_dir does not save memory")
def test_a_directory_that_cannot_be_written_is_an_error_before_anything_is_recorded(tmp_path: Path) -> None:
    prof = profile(spill_dir=tmp_path)
    tmp_path.rmdir()
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        prof.start()
    tmp_path.mkdir()
    record(prof, 5)
    assert len(prof.events()) == 5
