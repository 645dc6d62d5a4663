"""Marks and counters in the report page's timeline: where they are drawn, and what is said of them."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from tests.readers.report_page import STEPS, Report, allocation, counter, made, mark, span, training, written

if TYPE_CHECKING:
    from pathlib import Path

QUEUE = [(0, 2), (200, 10), (400, 0.125), (600, 5)]
MARKS = [("epoch 0", 150, 1), ("checkpoint", 450, 1), ("loader ready", 300, 3)]


@pytest.fixture
def eventful(tmp_path: Path) -> Path:
    """A page of a training with marks, two counters, and memory."""
    events = [
        *training(STEPS),
        *(mark(name, at, thread) for name, at, thread in MARKS),
        *(counter("queue", at, value=value) for at, value in QUEUE),
        *(counter("pool", at, free=100 - at / 10) for at in range(0, 800, 100)),
        allocation(4096, 1 << 20, 120, 1 << 20),
        allocation(8192, 1 << 21, 320, 3 << 20),
        allocation(4096, -(1 << 20), 520, 2 << 20),
    ]
    return made(tmp_path / "page.html", written(tmp_path / "trace.json", events))


def hexadecimal(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def pole(report: Report, name: str, beside: float = 0) -> tuple[int, ...]:
    """The colour where the pole of a mark's flag is, or so many pixels beside it."""
    x, y = report.place(report.event(name))
    return report.column(x + 0.5 + beside, y + 3, 1)[0]


def test_marks_are_flags_on_their_threads(report: Report, eventful: Path, screenshots: Path) -> None:
    report.open(eventful)
    labels = report.page.locator("#labels button span").all_inner_texts()
    assert labels == ["thread 1", "thread 3", "NPU 0 stream 7"]
    ink = hexadecimal(report.ask("report.timeline.colours.ink"))
    for name, at, _ in MARKS:
        assert report.place(report.event(name))[0] == report.x(1000 * at)
        assert pole(report, name) == ink
        assert pole(report, name, beside=-3) != ink
    # They are above the spans of their thread, and below what is above it.
    heights = {name: report.place(report.event(name))[1] for name in ("epoch 0", "checkpoint", "ProfilerStep#0")}
    assert heights["epoch 0"] == heights["checkpoint"] < heights["ProfilerStep#0"]
    report.page.screenshot(path=screenshots / "report-marks.png")
    report.page.emulate_media(color_scheme="dark")
    report.page.screenshot(path=screenshots / "report-marks-dark.png")


def test_a_mark_says_what_it_is(report: Report, eventful: Path, screenshots: Path) -> None:
    report.open(eventful)
    event = report.event("checkpoint")
    assert report.point(event) == "checkpoint at 450.0 µs"
    report.page.screenshot(path=screenshots / "report-mark-tip.png")
    report.page.mouse.click(*report.place(event))
    assert report.selected == "checkpoint"
    details = report.page.locator("#details").inner_text()
    for fact in ("Kind\nmark", "At\n450.0 µs", "On\nthread 1", "Step\n4"):
        assert fact in details
    assert "Self" not in details
    # A flag is as wide as can be hit, and nothing is beside it.
    x, y = report.place(event)
    report.page.mouse.move(x + 5, y)
    assert report.page.locator("#tip").inner_text() == "checkpoint at 450.0 µs"
    report.page.mouse.move(x - 20, y)
    assert not report.page.locator("#tip").is_visible()
    report.focus()
    report.page.keyboard.press(",")
    assert report.selected == "epoch 0"
    assert report.point(report.event("aten::linear")) == "aten::linear 30.00 µs"


def test_marks_are_found_and_not_counted(report: Report, eventful: Path) -> None:
    report.open(eventful)
    report.page.get_by_label("Search names").fill("READY")
    report.page.keyboard.press("Enter")
    assert report.page.locator("#search-count").inner_text() == "1 of 1"
    assert report.selected == "loader ready"
    # It can be seen at any zoom, so that nothing has to move.
    assert report.view[1] - report.view[0] > 800_000
    # What is looked for is seen, and the others are faint.
    ink = hexadecimal(report.ask("report.timeline.colours.ink"))
    report.focus()
    report.page.keyboard.press("Escape")
    assert {name for name, *_ in MARKS if pole(report, name) == ink} == {"loader ready"}
    report.tab("Table")
    assert not {name for name, *_ in MARKS} & set(report.sums())


def test_counters_are_lines(report: Report, eventful: Path) -> None:
    report.open(eventful)
    labels = report.page.locator("#labels .line").all_inner_texts()
    assert [re.split(r"\s{2,}|\n", text) for text in labels] == [
        ["memory: host", "3.000 MiB"],
        ["queue", "10"],
        ["pool.free", "100"],
    ]
    assert {name: line_at(report, name, 500) for name in ("memory: host", "queue")} == {
        "memory: host": "memory: host 3.000 MiB from 320.0 µs",
        "queue": "queue 0.125 from 400.0 µs",
    }
    assert line_at(report, "queue", 250) == "queue 10 from 200.0 µs"
    # The line is where its value is, of the most that there is.
    for at, value in QUEUE:
        top, bottom = strokes(report, "queue", 1000 * at + 50_000)
        assert top == bottom == pytest.approx(1 - value / 10, abs=0.51 / 21)


def test_a_line_ends_with_its_process(report: Report, tmp_path: Path) -> None:
    short = written(tmp_path / "short.json", [span("work", 0, 100), counter("queue", 10, value=1)])
    long = written(tmp_path / "long.json", [span("work", 0, 300), counter("queue", 10, value=1)])
    report.open(made(tmp_path / "page.html", short, long))
    assert report.page.locator("#labels .line span").all_inner_texts() == ["queue", "queue"]
    assert strokes(report, "queue", 90_000) == (0, 0)
    with pytest.raises(AssertionError, match="no line"):
        strokes(report, "queue", 110_000)


def line_at(report: Report, name: str, at_us: float) -> str:
    """What is said of a counter when the mouse is at a time of it."""
    report.page.mouse.move(report.x(1000 * at_us), top_of(report, name) + 14)
    return report.page.locator("#tip").inner_text()


def top_of(report: Report, name: str) -> float:
    box = report.page.locator("#canvas").bounding_box()
    assert box is not None
    find = "report.timeline.layout.lines.find(({ counter }) => counter.name === argument).top"
    return box["y"] + report.ask(f"report.timeline.head + {find} - report.timeline.scroller.scrollTop", name)


def strokes(report: Report, name: str, time_ns: float) -> tuple[float, float]:
    """Where a counter's line begins and ends at a time, as parts of its height from the top."""
    accent = hexadecimal(report.ask("report.timeline.colours.accent"))
    top, x = top_of(report, name), report.x(time_ns)
    drawn = [y for y, pixel in enumerate(report.column(x, top, 28)) if pixel == accent]
    assert drawn, "no line"
    return (drawn[0] - 3) / 21, (drawn[-1] - 3) / 21


def test_many_of_them_take_no_longer_to_draw_and_none_is_lost(report: Report, tmp_path: Path) -> None:
    chance = random.Random(0)
    events = [span("work", 0, 60_000)]
    events += [mark(f"mark {at % 5}", at * 2) for at in range(30_000)]
    events += [counter("busy", at * 2, value=chance.random()) for at in range(30_000)]
    events += [counter("busy", 30_000.5, value=100), counter("busy", 30_000.7, value=1)]
    report.open(made(tmp_path / "page.html", written(tmp_path / "trace.json", events)))
    report.ask("report.timeline.paint()")
    width = report.ask("report.timeline.width")
    assert report.ask("report.timeline.painter.rectangles") <= 2 * width / 3 + 4
    report.page.get_by_label("Search names").fill("mark 3")
    report.ask("report.timeline.paint()")
    assert report.ask("report.timeline.painter.rectangles") <= 4 * width / 3 + 4
    # One value among thousands, for a fifth of a microsecond.
    top, bottom = strokes(report, "busy", 30_000_500)
    assert top <= 0.1
    assert bottom >= 0.9
    assert strokes(report, "busy", 20_000_000)[0] >= 0.9
    bounds = """(() => { const [counter] = report.model.counters; const { values } = counter;
      const parts = [[0, 1], [3, 40], [17, 29_990], [15, 16], [16, 32], [255, 4097], [0, values.length]];
      return parts.every(([from, to]) => {
        const part = [...values.slice(from, to)];
        const [least, most] = counter.bounds(from, to);
        return least === Math.min(...part) && most === Math.max(...part);
      }); })()"""
    assert report.ask(bounds)


def test_a_trace_may_have_nothing_else(report: Report, tmp_path: Path) -> None:
    events = [mark("only", 10), mark("another", 20), counter("queue", 5, value=1)]
    report.open(made(tmp_path / "page.html", written(tmp_path / "trace.json", events)))
    assert report.point(report.event("only")) == "only at 5.000 µs"
    report.focus()
    for key in ("Enter", ".", "[", "]", "m", "f", "0", "Escape"):
        report.page.keyboard.press(key)
    for tab in ("Table", "Flame graph", "Look at first"):
        report.tab(tab)
    report.page.get_by_label("Search names").fill("another")
    report.page.keyboard.press("Enter")
    assert report.selected == "another"
