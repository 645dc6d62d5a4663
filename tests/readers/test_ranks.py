"""Many ranks: DuckDB answers the questions of docs/ranks.md as the command line does, and Perfetto shows every rank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests.commands import mtprof
from tests.readers import perfetto_ui, ranks
from tests.readers.conftest import ROOT
from tests.readers.files import parsed
from tests.readers.perfetto_ui import PerfettoUi

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.readers.conftest import Servers

DOCUMENT = (ROOT / "docs" / "ranks.md").read_text(encoding="utf-8")
QUESTIONS = dict(re.findall(r"^### ([^\n]+)\n(?:(?!^#).)*?```sql\n(.*?)```", DOCUMENT, re.MULTILINE | re.DOTALL))
VIEWS = re.search(r"```sql\n-- DuckDB\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture(scope="module")
def traces_of_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("many") / "ranks"
    ranks.write_all(directory)
    return directory


@pytest.fixture(scope="module")
def summary(traces_of_ranks: Path) -> Any:
    return mtprof("summary", traces_of_ranks)


@pytest.fixture(scope="module")
def database(traces_of_ranks: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    dataset = tmp_path_factory.mktemp("converted") / "dataset"
    mtprof("convert", "--to", "parquet", traces_of_ranks, dataset)
    connection = duckdb.connect()
    assert VIEWS is not None
    connection.execute(VIEWS[1].replace("'dataset/", f"'{dataset}/"))
    return connection


def answer(database: duckdb.DuckDBPyConnection, question: str) -> list[dict[str, Any]]:
    found = database.execute(QUESTIONS[question])
    columns = [column[0] for column in found.description]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def test_every_question_of_the_document_is_asked_here() -> None:
    asked = re.findall(r'answer\(database, "([^"]+)"\)', (ROOT / "tests/readers/test_ranks.py").read_text("utf-8"))
    assert set(asked) == set(QUESTIONS)


def test_there_is_a_partition_for_each_rank(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    counted = database.execute("SELECT rank, COUNT(*) FROM events GROUP BY rank ORDER BY rank").fetchall()
    assert counted == database.execute("SELECT rank, rows FROM ranks ORDER BY rank").fetchall()
    assert [rank for rank, _ in counted] == [row["rank"] for row in summary["ranks"]] == list(range(ranks.RANKS))


def test_clocks_are_compared_by_collectives(database: duckdb.DuckDBPyConnection) -> None:
    found = database.execute("SELECT rank, compared_by, shared, offset_ns FROM ranks").fetchall()
    for rank, by, shared, offset in found:
        assert abs(offset + ranks.Rank(rank).ahead_ns) <= 1_000  # of noise
        assert (by, shared) == (("collectives", 2 * ranks.STEPS) if rank else ("reference", 0))


def test_top_operators(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    found = answer(database, "Top operators")
    of_first = [(row["name"], row["calls"]) for row in found if row["rank"] == 0]
    assert of_first == [("aten::addmm", ranks.STEPS), ("aten::linear", ranks.STEPS)]
    late = next(row for row in found if row["rank"] == ranks.LATE and row["name"] == "aten::addmm")
    assert late["self_ns"] == ranks.STEPS * 235_000
    # With a device, the summary's top operator is the one that launched most.
    assert {row["top"]["name"] for row in summary["ranks"]} == {"aten::addmm"}


def test_step_times(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    found = [(row["steps"], row["median_ns"]) for row in answer(database, "Step times")]
    assert found == [(row["steps"], row["median_step_ns"]) for row in summary["ranks"]]
    assert found == [(ranks.STEPS, 999_000)] * ranks.RANKS


def test_ranks_begin_steps_together_once_clocks_are_aligned(database: duckdb.DuckDBPyConnection) -> None:
    found = answer(database, "When ranks begin a step")
    assert len(found) == ranks.RANKS * ranks.STEPS
    assert max(row["later_ns"] for row in found) <= 2_000  # of noise, where the clocks are milliseconds apart


def test_idle_devices(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    found = [(row["busy_ns"], row["idle_ns"]) for row in answer(database, "Idle devices")]
    assert found == [(row["busy_ns"], row["idle_ns"]) for row in summary["ranks"]]


def test_idle_main_threads(database: duckdb.DuckDBPyConnection) -> None:
    found = [(row["busy_ns"], row["idle_ns"]) for row in answer(database, "Idle main threads")]
    window = ranks.STEPS * 1_000_000 - 1_000
    busy = [ranks.STEPS * (260_000 if rank == ranks.LATE else 60_000) for rank in range(ranks.RANKS)]
    assert found == [(one, window - one) for one in busy]


def test_memory_peaks(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    found = [(row["device_type"], row["device_index"], row["peak_bytes"]) for row in answer(database, "Memory peaks")]
    assert found == [("CUDA", 0, 1512 + 100 * rank) for rank in range(ranks.RANKS)]
    told = [(peak["device"], peak["bytes"]) for row in summary["ranks"] for peak in row["memory_peaks"]]
    assert told == [("cuda:0", peak) for _, _, peak in found]


def test_stragglers(database: duckdb.DuckDBPyConnection, summary: Any) -> None:
    found = answer(database, "Stragglers")
    told = [row for row in summary["stragglers"]["ranks"] if row["last_in_collectives"]]
    told.sort(key=lambda row: (-row["last_in_steps"], row["rank"]))
    keys = ("rank", "last_in_steps", "last_in_collectives", "caused_ns")
    assert [tuple(row[key] for key in keys) for row in found] == [tuple(row[key] for key in keys) for row in told]
    straggler = summary["stragglers"]["straggler"]
    assert (straggler["rank"], straggler["last_in"], straggler["of"]) == (ranks.LATE, ranks.STEPS, ranks.STEPS)
    assert abs(straggler["caused_ns"] - 200_000) < 2_000


def test_perfetto_shows_a_process_for_each_rank(
    traces_of_ranks: Path, tmp_path: Path, page: Page, serve: Servers
) -> None:
    merged = tmp_path / "merged.json"
    told = mtprof("merge", traces_of_ranks, "-o", merged)
    assert told["stragglers"]["straggler"]["rank"] == ranks.LATE
    ui = PerfettoUi(page, serve(perfetto_ui.FILES), merged)
    assert ui.import_errors() == []
    processes = ui.query("select pid, name from process where name glob 'rank *' order by pid")
    expected = []
    for rank in range(ranks.RANKS):
        pid = (rank + 1) * 100_000
        expected += [(pid, f"rank {rank} (node{rank}, pid 4711)"), (pid + 1, f"rank {rank} GPU 0")]
    assert processes == expected
    counts = ui.query(
        "select pid, count(*) as number from slice join thread_track on track_id = thread_track.id"
        " join thread using (utid) join process using (upid) where category in ('cpu_op', 'kernel')"
        " group by pid order by pid"
    )
    assert counts == [(pid, (2 if pid % 100_000 == 0 else 3) * ranks.STEPS) for pid, _ in expected]
    # Arrows lead from a launch to a kernel of the same rank.
    arrows = (
        "select count(*) as number from flow join slice a on slice_out = a.id join thread_track t on a.track_id = t.id"
        " join thread using (utid) join process p using (upid) join slice b on slice_in = b.id"
        " join thread_track u on b.track_id = u.id join thread v on u.utid = v.utid join process q on v.upid = q.upid"
        " where p.pid + 1 = q.pid"
    )
    assert ui.query(arrows) == ui.query("select count(*) as number from flow") == [(ranks.RANKS * ranks.STEPS,)]
    # All times of a rank were moved by the same amount, and its steps are where the first rank's are.
    events = parsed(merged)["traceEvents"]
    steps = [event["ts"] for event in events if event.get("name") == "ProfilerStep#3"]
    assert len(steps) == ranks.RANKS
    assert max(steps) - min(steps) < 2
