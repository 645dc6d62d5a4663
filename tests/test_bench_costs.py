"""The parts of the benchmark that are not timing: sums of measurements, the table, and the comparison of two runs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from benches import compare
from benches.costs import command, engine, table, traces
from benches.costs.figure import Figure, Goal, Row

if TYPE_CHECKING:
    from pathlib import Path


def figure(median: float, spread: float = 0.0, count: int = 9) -> Figure:
    return Figure(median, median - spread, median + spread, count)


def row(ours: Figure | None, peer: Figure | None = None, what: str = "plain", goal: Goal | None = None) -> Row:
    return Row("added", what, "ns", ours, peer, goal)


def rate(ours: Figure, peer: Figure | None = None, goal: Goal | None = None) -> Row:
    return Row("merge", "16 ranks", "B/s", ours, peer, goal, heading="peer")


def run(*rows: Row, quick: bool = False, **machine: str) -> dict[str, Any]:
    about = {"processor": "a processor", "cores": "2", **machine}
    return {"machine": about, "quick": quick, "rows": [each.data() for each in rows]}


def test_many_measurements_have_quartiles() -> None:
    assert Figure.of([5, 1, 4, 2, 3]) == Figure(3, 2, 4, 5)


def test_few_measurements_have_their_range() -> None:
    assert Figure.of([7, 1, 2]) == Figure(2, 1, 7, 3)


@pytest.mark.parametrize(
    ("ours", "is_something"),
    [(figure(10, 2), True), (figure(1, 10, count=9), False), (figure(1, 5, count=1000), True), (figure(-5), False)],
)
def test_a_figure_is_something_if_its_median_is_surely_above_zero(ours: Figure, is_something: bool) -> None:
    assert ours.is_something == is_something


def test_the_ratio_is_the_peers_to_ours() -> None:
    assert row(figure(50), figure(400)).ratio == 8


@pytest.mark.parametrize(
    ("ours", "peer"),
    [(figure(1, 50), figure(400)), (figure(50), None), (None, figure(400)), (figure(50), figure(1, 50))],
)
def test_there_is_no_ratio_to_nothing(ours: Figure | None, peer: Figure | None) -> None:
    assert row(ours, peer).ratio is None


@pytest.mark.parametrize(
    ("ours", "goal", "is_met"),
    [
        (figure(60.04), Goal(most=60), True),
        (figure(61), Goal(most=60), False),
        (figure(40), Goal(ratio=10), True),
        (figure(41), Goal(ratio=10), False),
        (figure(1, 50), Goal(most=60), None),
    ],
)
def test_a_goal_is_met_as_precisely_as_it_is_printed(ours: Figure, goal: Goal, is_met: bool | None) -> None:
    assert goal.is_met(row(ours, figure(400), goal=goal)) is is_met


@pytest.mark.parametrize(("ours", "is_met"), [(figure(299.9e6), True), (figure(310e6), True), (figure(290e6), False)])
def test_of_a_rate_more_is_better(ours: Figure, is_met: bool) -> None:
    found = rate(ours, figure(155e6), Goal(least=300e6))
    assert found.goal is not None
    assert found.goal.is_met(found) is is_met
    assert found.ratio == pytest.approx(ours.median / 155e6)


@pytest.mark.parametrize(
    "stored",
    [
        Row("files", "plain", "B", figure(1.5, 0.5), None, Goal(ratio=7), {"ours clock": 2.0}),
        rate(figure(310e6), figure(155e6), Goal(least=300e6)),
    ],
)
def test_a_stored_row_is_the_same_row(stored: Row) -> None:
    assert Row.read(json.loads(json.dumps(stored.data()))) == stored


def test_the_table_has_a_heading_for_each_section() -> None:
    rows = [
        row(figure(61.26, 1.5), figure(460, 100), goal=Goal(most=60)),
        Row("size", "installed", "B", Figure.exact(13e6), Figure.exact(1.14e9)),
        Row("size", "wheel", "B", Figure.exact(5.07e6)),
        Row("Rust", "a span, beside puffin", "ns", figure(27, 2), figure(147_000, 9_000), heading="peer"),
        rate(figure(310e6, 5e6), figure(1.24e9), Goal(least=300e6)),
    ]
    assert table.markdown(rows).splitlines() == [
        "| added | ours | torch | ratio | spread: ours; torch | goal |",
        "|---|---|---|---|---|---|",
        "| plain | 61.3 ns | 460 ns | 7.51 | 59.8 to 62.8 ns; 360 to 560 ns | <= 60 ns, missed |",
        "",
        "| size | ours | torch | ratio | spread: ours; torch | goal |",
        "|---|---|---|---|---|---|",
        "| installed | 13 MB | 1.14 GB | 87.7 |  |  |",
        "| wheel | 5.07 MB | - | - |  |  |",
        "",
        "| Rust | ours | peer | ratio | spread: ours; peer | goal |",
        "|---|---|---|---|---|---|",
        "| a span, beside puffin | 27 ns | 147 µs | 5440 | 25 to 29 ns; 138 to 156 µs |  |",
        "",
        "| merge | ours | peer | ratio | spread: ours; peer | goal |",
        "|---|---|---|---|---|---|",
        "| 16 ranks | 310 MB/s | 1.24 GB/s | 0.25 | 305 to 315 MB/s; 1.24 to 1.24 GB/s | >= 300 MB/s, ok |",
    ]


def test_the_columns_of_the_text_are_aligned() -> None:
    lines = table.text([row(figure(61.26), what="plain"), row(figure(7), what="a longer name")]).splitlines()
    assert lines[0].index("ours") == lines[2].index("61.3 ns") == lines[3].index("7 ns")


def test_the_rust_rows_are_ours_beside_each_peer(tmp_path: Path) -> None:
    titles = {title for title, _, _ in engine.PAIRS}
    names = {pair[at] for pair in engine.PAIRS for at in (1, 2)}
    cases = [{"name": name, "median": len(name), "low": 1, "high": 99, "count": 20} for name in sorted(names)]
    path = tmp_path / "engine.json"
    path.write_text(json.dumps([{"title": title, "cases": cases} for title in titles]), encoding="utf-8")
    rows = list(engine.rows(path))
    assert len(rows) == len(engine.PAIRS)
    found = {each.what: each for each in rows}["a span while recording, beside puffin"]
    assert (found.ours, found.peer) == (Figure(len(engine.OURS), 1, 99, 20), Figure(len("puffin"), 1, 99, 20))


@pytest.mark.parametrize(
    ("old", "new", "is_worse"),
    [
        (figure(50, 2), figure(60, 2), True),
        (figure(50, 2), figure(60, 9), False),  # the spreads meet
        (figure(50, 0.1), figure(51, 0.1), False),  # within the margin
        (figure(60, 2), figure(50, 2), False),  # better
        (figure(50, 2, count=3), figure(60, 2, count=3), False),  # too few to say
        (figure(50, 2, count=3), figure(70, 2, count=3), True),
        (Figure.exact(100), Figure.exact(106), True),
        (figure(-3, 2), figure(5, 2), True),
    ],
)
def test_worse_is_beyond_the_spread_and_the_margin(old: Figure, new: Figure, is_worse: bool) -> None:
    (change,) = compare.changes([row(old)], [row(new)])
    assert change.is_worse == is_worse


def test_a_rate_that_fell_is_worse() -> None:
    (change,) = compare.changes([rate(figure(300e6, 5e6))], [rate(figure(200e6, 5e6))])
    assert (change.is_worse, change.is_better) == (True, False)
    (change,) = compare.changes([rate(figure(200e6, 5e6))], [rate(figure(300e6, 5e6))])
    assert (change.is_worse, change.is_better) == (False, True)


def test_what_fell_is_better() -> None:
    (change,) = compare.changes([row(figure(60, 2))], [row(figure(50, 2))])
    assert change.is_better


def test_only_rows_that_both_have_are_compared() -> None:
    old = [row(figure(50), what="plain"), row(figure(50), what="old"), row(None, figure(50), what="theirs")]
    new = [row(figure(99), what="new"), row(figure(50), what="plain"), row(None, figure(99), what="theirs")]
    assert [change.what for change in compare.changes(old, new)] == ["added: plain"]
    assert compare.gone(old, new) == ["added: old"]


def test_the_report_says_what_got_worse_and_what_the_peer_did() -> None:
    old = run(row(figure(50, 1), figure(400, 1)), row(figure(80, 1), what="all"), python="3.11")
    new = run(row(figure(75, 1), figure(440, 1)), row(figure(40, 1), what="all"), python="3.12", quick=True)
    text, is_worse = compare.report(old, new)
    assert is_worse
    assert text.splitlines() == [
        "python: 3.11 before, 3.12 now",
        "a quick run is a rough one",
        "worse   added: plain: 50 ns to 75 ns, 1.50 times (the peer's: 1.10 times)",
        "better  added: all: 80 ns to 40 ns, 0.50 times",
        "2 rows: 1 worse, 1 better, the others within their spread",
    ]


@pytest.mark.parametrize(("median", "status"), [(50, 0), (75, 1)])
def test_the_status_says_whether_anything_got_worse(median: float, status: int, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(run(row(figure(50, 1)))), encoding="utf-8")
    new.write_text(json.dumps(run(row(figure(median, 1)))), encoding="utf-8")
    assert compare.main([str(old), str(new)]) == status


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"machine": {}, "quick": false, "rows": [{"section": "a"}]}'])
def test_what_is_no_file_of_figures_is_an_error_that_names_it(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        compare.main([str(path), str(path)])
    assert stopped.value.code == 2
    assert str(path) in capsys.readouterr().err


def written(path: Path, **options: Any) -> tuple[int, list[dict[str, Any]]]:
    count = traces.write_trace(path, 40_000, **options)
    return count, json.loads(path.read_bytes())["traceEvents"]


def is_step(event: dict[str, Any]) -> bool:
    return str(event["name"]).startswith("ProfilerStep#")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[dict[str, Any]]]:
    return written(tmp_path_factory.mktemp("traces") / "trace.json")


def test_a_trace_has_the_events_that_it_is_said_to_have(traced: tuple[int, list[dict[str, Any]]]) -> None:
    count, events = traced
    assert sum(event["ph"] == "X" for event in events) == count >= 40_000
    names = [event["name"] for event in events if is_step(event)]
    assert names == [f"ProfilerStep#{number}" for number in range(traces.STEPS)]


def test_kernels_of_a_trace_are_in_the_step_of_their_calls(traced: tuple[int, list[dict[str, Any]]]) -> None:
    _, events = traced
    steps = [(event["ts"], event["ts"] + event["dur"]) for event in events if is_step(event)]
    calls = {event["args"]["correlation"]: event["ts"] for event in events if event.get("cat") == "cuda_runtime"}
    arrows = {event["id"]: event["ts"] for event in events if event["ph"] == "s" and event["cat"] == "ac2g"}
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert kernels
    for kernel in kernels:
        launched = arrows[kernel["args"]["correlation"]]
        assert calls.get(kernel["args"]["correlation"], launched) == launched
        assert any(begin <= launched < kernel["ts"] and kernel["ts"] + kernel["dur"] <= end for begin, end in steps)


def test_a_shorter_operator_takes_nine_tenths(traced: tuple[int, list[dict[str, Any]]], tmp_path: Path) -> None:
    def taken(events: list[dict[str, Any]], name: str) -> float:
        return sum(float(event["dur"]) for event in events if event["ph"] == "X" and event["name"] == name)

    _, before = traced
    _, after = written(tmp_path / "shorter.json", shorter="cudaLaunchKernel")
    assert taken(after, "cudaLaunchKernel") == pytest.approx(0.9 * taken(before, "cudaLaunchKernel"), rel=1e-4)
    assert taken(after, "aten::mm") == taken(before, "aten::mm")


def test_commands_take_turns_and_what_they_print_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write(sys.argv[2]); print(sys.argv[2])"
    commands = {name: [sys.executable, "-c", program, str(log), name] for name in "ab"}
    runs = command.in_turns(2, commands)
    assert log.read_text(encoding="utf-8") == "abab"
    assert [(len(each.times), len(each.peaks), each.answer) for each in runs.values()] == [(2, 2, "a\n"), (2, 2, "b\n")]
    assert all(value > 0 for each in runs.values() for value in each.times + each.peaks)
    rows = command.beside("section", "what", runs)
    assert [(each.what, each.unit) for each in rows] == [
        ("what, beside b", "ns"),
        ("what: memory, beside b", "B"),
    ]


def test_a_command_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        command.Runs().add([sys.executable, "-c", "raise SystemExit(3)"])
