"""The report page in a browser: what a person sees, finds and counts in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers.conftest import CUDA
from tests.readers.report_page import HOSTILE, STEPS, Report, made, span, training, written

from mindtorch_v2.profiler import Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of a training, of two ranks, and of names that nobody should give."""
    directory = tmp_path_factory.mktemp("reports")
    before = written(directory / "before.json", training(STEPS))
    later = written(directory / "rank1.json", training(STEPS), base_us=1_760_000_000_000_100)
    names = written(directory / "names.json", [span(name, 10 * at, 9) for at, name in enumerate(HOSTILE)])
    many = [span(f"op {at % 7}", at * 2, 1 + at % 3 * 0.4) for at in range(30_000)]
    return {
        "training": made(directory / "training.html", before),
        "ranks": made(directory / "ranks.html", before, later),
        "names": made(directory / "names.html", names),
        "many": made(directory / "many.html", written(directory / "many.json", many)),
        "nothing": made(directory / "nothing.html", written(directory / "nothing.json", [])),
    }


def test_a_trace_opens_with_what_to_look_at_first(report: Report, files: dict[str, Path], screenshots: Path) -> None:
    report.open(files["training"])
    assert report.page.title() == "before"
    assert report.page.locator("#facts").inner_text().startswith("66 events · 800.0 µs")
    assert report.page.locator("#labels button span").all_inner_texts() == ["thread 1", "NPU 0 stream 7"]
    found = report.page.locator(".finding p").all_inner_texts()
    assert found[0] == "1 of 6 steps took much longer than the median of 100.0 µs, 200.0 µs more together."
    assert any(text.startswith("aten::item waited for devices for 120.0 µs") for text in found)
    report.page.get_by_role("button", name="step 5: 300.0 µs").click()
    assert report.range == (500_000, 800_000)
    report.page.screenshot(path=screenshots / "report.png")


def test_the_table_has_the_sums_of_all(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"]).tab("Table")
    rows = report.table()
    linear = rows["aten::linear (operator)"]
    assert (linear["Count"], linear["Total"], linear["Self"]) == ("6", "180.0 µs", "60.00 µs")
    assert rows["ProfilerStep* (annotation)"]["Count"] == "6"
    assert rows["aten::addmm (operator)"]["On device"] == "180.0 µs"
    assert rows["gemm (kernel)"]["Total"] == "180.0 µs"
    # The self times of a thread's spans are the time in which any was open.
    host = report.sums()
    device = {"gemm", "relu"}
    assert sum(own for name, (_, _, own) in host.items() if name not in device) == 800_000


def test_spans_that_overlap_have_lanes_and_times_of_their_own(report: Report, tmp_path: Path) -> None:
    events = [span("first", 0, 10), span("second", 5, 10), span("within", 11, 2)]
    report.open(made(tmp_path / "page.html", written(tmp_path / "trace.json", events))).tab("Table")
    # Each instant is the time of the one that began last.
    assert report.sums() == {"first": (1, 10_000, 5_000), "second": (1, 10_000, 8_000), "within": (1, 2_000, 2_000)}
    assert report.ask("[...report.model.lane]") == [0, 1, 2]


def test_the_table_has_what_averages_have(report: Report, tmp_path: Path) -> None:
    # Without functions, whose own times averages count as those of the spans around them.
    trace = CUDA / "steps.json.gz"
    report.open(made(tmp_path / "page.html", trace)).tab("Table")
    counted = report.ask(
        """report.parts['panel-table'].sums.map((sum) => {
          const { text, kind } = report.parts['panel-table'].groups.list[sum.group];
          return [text, kind < 4, sum.count, sum.total, sum.own, sum.launched];
        })"""
    )
    ours = {name: [count, total, own, launched] for name, is_host, count, total, own, launched in counted if is_host}
    averages = [row for row in Trace.load(trace).key_averages() if "CPU" in str(row.device_type) and row.key in ours]
    assert len(averages) > 30
    for row in averages:
        times = [row.cpu_time_total, row.self_cpu_time_total, row.self_device_time_total]
        assert ours[row.key] == [row.count, *(pytest.approx(1000 * time, abs=1) for time in times)], row.key


def test_the_table_is_sorted_and_filtered(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"]).tab("Table")
    report.page.locator("#table-body thead").get_by_role("button", name="Name").click()
    names = list(report.table())
    assert names == sorted(names, key=str.lower)
    report.page.locator("#table-body thead").get_by_role("button", name="Total").click()
    assert next(iter(report.table())) == "ProfilerStep* (annotation)"
    assert report.page.locator("th[aria-sort=descending]").inner_text() == "Total ▾"
    report.page.get_by_label("Filter rows").locator("visible=true").fill("cuda")
    assert set(report.table()) == {"cudaLaunchKernel (runtime call)", "cudaStreamSynchronize (runtime call)"}
    report.page.get_by_label("Filter rows").locator("visible=true").fill("")
    report.page.get_by_label("Of which thread or device").select_option(label="NPU 0 stream 7")
    assert set(report.table()) == {"gemm (kernel)", "relu (kernel)"}


def test_the_table_follows_the_selection(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"]).tab("Table")
    report.drag(100_000, 300_000)
    start, end = report.range or (0, 0)
    pixel = (report.view[1] - report.view[0]) / 1000
    assert abs(start - 100_000) < pixel
    assert abs(end - 300_000) < pixel
    # To the nanosecond: from within the second step's linear to within the third's.
    report.ask("report.state.selectRange(105_000, 205_000)")
    sums = report.sums()
    assert sums["aten::linear"] == (2, 27_000 + 3_000, 8_000 + 2_000)
    assert sums["aten::addmm"] == (2, 19_000 + 1_000, 14_000 + 1_000)
    assert sums["ProfilerStep*"] == (2, 100_000, 19_000 + 1_000)
    assert sums["gemm"] == (1, 30_000, 30_000)
    assert "Selected: 100.0 µs from 105.0 µs" in report.page.locator("#table-scope").inner_text()
    report.focus()
    report.page.keyboard.press("Escape")
    assert report.range is None
    assert report.sums()["aten::linear"][0] == 6


def test_search_goes_from_one_to_the_next(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"])
    report.page.keyboard.press("/")
    report.page.keyboard.type("LINEAR")
    count = report.page.locator("#search-count")
    assert count.inner_text() == "6"
    seen = []
    for _ in range(7):
        report.page.keyboard.press("Enter")
        seen.append((count.inner_text(), report.ask("report.model.start[report.state.event]")))
    assert seen[:6] == [(f"{at + 1} of 6", at * 100_000 + 2_000) for at in range(6)]
    assert seen[6] == seen[0]
    report.page.keyboard.press("Shift+Enter")
    assert count.inner_text() == "6 of 6"
    start, end = report.view
    assert start < 502_000 < end
    report.page.get_by_label("Search names").fill("nothing has this name")
    assert count.inner_text() == "0"
    assert report.page.get_by_role("button", name="Next").is_disabled()


def test_the_mouse_zooms_where_it_points_and_moves(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"])
    whole = report.view
    _, y = report.place(report.event("aten::linear"))
    # The mouse is at whole pixels.
    x = round(report.x(402_000))
    time = report.ask("report.timeline.timeAt(argument)", x)
    report.page.mouse.move(x, y)
    for _ in range(10):
        report.page.mouse.wheel(0, -200)
    # The page follows the wheel with its next frames.
    zoomed = "most => { const { start, end } = window.mindtorchReport.state; return end - start < most; }"
    report.page.wait_for_function(zoomed, arg=(whole[1] - whole[0]) / 20)
    # What the mouse points at stays there.
    assert abs(report.x(time) - x) < 0.1
    report.page.mouse.down()
    report.page.mouse.move(x + 100, y)
    report.page.mouse.up()
    assert abs(report.x(time) - x - 100) < 0.1


def test_a_span_says_what_is_known_of_it(report: Report, files: dict[str, Path], screenshots: Path) -> None:
    report.open(files["training"])
    report.page.mouse.click(*report.place(report.event("aten::linear")))
    assert report.selected == "aten::linear"
    details = report.page.locator("#details").inner_text()
    for fact in (
        "30.00 µs (30,000 ns)",
        "10.00 µs (33.3 %)",
        "float [8, 4]",
        "Within\nforward",
        "Step\n0",
        "Launched 1 on devices",
    ):
        assert fact in details
    report.page.locator("#details").get_by_role("button", name="gemm").click()
    assert report.selected == "gemm"
    assert "Launched by" in report.page.locator("#details").inner_text()
    report.page.get_by_role("button", name="Select its time").click()
    assert report.range == (12_000, 42_000)
    report.page.screenshot(path=screenshots / "report-span.png")


def test_everything_can_be_reached_by_keys(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"])
    press = report.page.keyboard.press
    whole = report.view
    # The timeline has the focus from the beginning.
    press("w")
    assert report.view[1] - report.view[0] < whole[1] - whole[0]
    before = report.view
    press("d")
    press("ArrowLeft")
    assert report.view == pytest.approx(before)
    press("0")
    assert report.view == whole
    press("Enter")
    assert report.selected == "ProfilerStep#3"
    press("]")
    assert report.selected == "forward"
    press("]")
    press(".")
    assert report.selected == "aten::relu"
    press("[")
    press("m")
    assert report.range == (301_000, 361_000)
    press("f")
    assert report.view[0] > 270_000
    unreached = {"border", "tab-findings", "panel-findings", "details", "search", "theme", "help-open", "canvas"}
    for _ in range(150):
        press("Tab")
        unreached.discard(report.page.evaluate("document.activeElement.id"))
    assert unreached == set()
    report.page.locator("#tab-findings").focus()
    press("ArrowRight")
    assert report.page.locator("#panel-table").is_visible()
    press("ArrowRight")
    assert report.page.locator("#panel-flame").is_visible()
    press("?")
    assert report.page.locator("#help").is_visible()
    press("Escape")
    assert not report.page.locator("#help").is_visible()


def test_the_focus_can_be_seen(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"])
    for _ in range(6):
        report.page.keyboard.press("Tab")
        style = report.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


def test_the_flame_graph_has_the_calls_of_the_selection(
    report: Report, files: dict[str, Path], screenshots: Path
) -> None:
    report.open(files["training"]).tab("Flame graph")
    text = report.page.locator("#flame-text")
    assert text.inner_text() == "all: 800.0 µs"
    report.page.locator("#flame-canvas").focus()
    report.page.screenshot(path=screenshots / "report-flames.png")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        report.page.keyboard.press(key)
    # Steps have names of their own; in the longest one, forward has linear as its longest.
    assert text.inner_text() == "aten::linear: 30.00 µs, 3.8 % of all, self 10.00 µs, 1 times"
    report.ask("report.state.selectRange(105_000, 205_000)")
    assert text.inner_text() == "all: 100.0 µs"
    report.page.get_by_label("Of what").select_option("device")
    assert text.inner_text() == "all: 38.00 µs"


def test_steps_are_bars_that_lead_to_them(report: Report, files: dict[str, Path], screenshots: Path) -> None:
    report.open(files["training"]).tab("Steps")
    text = report.page.locator("#steps-text").inner_text()
    assert text.startswith("6 steps: shortest 100.0 µs, median 100.0 µs, longest 300.0 µs; 1 stand out")
    report.page.locator("#steps-canvas").focus()
    report.page.keyboard.press("End")
    report.page.keyboard.press("Enter")
    assert report.range == (500_000, 800_000)
    report.page.screenshot(path=screenshots / "report-steps.png")


def test_ranks_are_on_one_axis(report: Report, files: dict[str, Path], screenshots: Path) -> None:
    report.open(files["ranks"])
    assert report.ask("report.model.processes.map((process) => process.offset_ns)") == [0, 100_000]
    assert report.ask("report.model.start[argument]", report.event("aten::linear", 6)) == 102_000
    report.tab("Table")
    report.page.get_by_label("Of which thread or device").select_option(label="rank1")
    assert report.sums()["aten::linear"] == (6, 180_000, 60_000)
    report.page.screenshot(path=screenshots / "report-ranks.png")


def test_names_are_text_whatever_they_are(report: Report, files: dict[str, Path]) -> None:
    report.open(files["names"]).tab("Table")
    shown = report.ask("[...report.model.names]")
    assert shown == HOSTILE
    assert report.page.locator("#table-body tbody .name").count() == len(HOSTILE)
    for event, name in enumerate(HOSTILE):
        report.ask("report.state.goTo(argument)", event)
        assert report.page.locator("#details h2").text_content() == name
    report.page.get_by_label("Search names").fill("<img")
    assert report.page.locator("#search-count").inner_text() == "1"
    assert report.ask("window.hacked === undefined")


def colours(report: Report) -> tuple[int, int]:
    """How light the paper and the ink are, of 255."""
    found = report.page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    paper, ink = (sum(map(int, re.findall(r"\d+", colour)[:3])) // 3 for colour in found)
    return paper, ink


def test_it_is_light_or_dark_as_the_system_is_or_as_asked(
    report: Report, files: dict[str, Path], screenshots: Path
) -> None:
    report.page.emulate_media(color_scheme="dark")
    report.open(files["training"])
    paper, ink = colours(report)
    assert paper < 40
    assert ink > 200
    report.page.screenshot(path=screenshots / "report-dark.png")
    report.page.get_by_label("Use light colours").click()
    paper, ink = colours(report)
    assert ink < 60
    assert paper > 200
    report.page.reload()
    report.page.wait_for_selector("html[data-ready]", state="attached")
    assert colours(report) == (paper, ink)
    report.requests.pop()


def test_a_frame_draws_a_bounded_number_of_rectangles(report: Report, files: dict[str, Path]) -> None:
    report.open(files["many"])
    drawn = report.ask(
        """[1, 3, 10, 30, 100, 1000, 10000].map((part) => {
          const middle = report.state.length / 2;
          report.state.show(middle - middle / part, middle + middle / part);
          report.timeline.paint();
          return report.timeline.painter.rectangles;
        })"""
    )
    assert max(drawn) <= report.ask("report.timeline.width") + 2
    assert min(drawn) >= 1
    # Whatever is drawn is at its exact time.
    assert report.ask("report.model.start[20_000]") == 40_000_000


def test_nothing_is_shown_as_nothing(report: Report, files: dict[str, Path]) -> None:
    report.open(files["nothing"])
    assert "nothing that could be told of" in report.page.locator("#findings").inner_text()
    report.tab("Table")
    report.tab("Flame graph")
    report.focus()
    for key in ("w", "Enter", ".", "m", "f", "Escape"):
        report.page.keyboard.press(key)


def test_the_content_security_policy_lets_nothing_out(report: Report, files: dict[str, Path]) -> None:
    report.open(files["training"])
    blocked = report.page.evaluate(
        """() => Promise.all([
          fetch('https://example.com/').then(() => 'sent', () => 'blocked'),
          new Promise((done) => { const image = new Image(); image.onload = () => done('sent');
            image.onerror = () => done('blocked'); image.src = 'https://example.com/x.png'; }),
        ])"""
    )
    assert blocked == ["blocked", "blocked"]
    # These complaints are the policy's, and the browser counts requests that it then does not send.
    assert all("Content Security Policy" in text for text in report.complaints)
    report.complaints.clear()
    report.requests[:] = [url for url in report.requests if url.startswith("file:")]


def test_a_recording_has_its_memory_explained(
    report: Report, recorded: Callable[..., Any], tmp_path: Path, screenshots: Path
) -> None:
    prof = recorded("adam")
    prof.export_report(tmp_path / "report.html", title="Adam")
    report.open(tmp_path / "report.html")
    assert report.page.locator("#title").inner_text() == "Adam"
    report.page.get_by_role("button", name="Show memory").first.click()
    peak = report.ask("report.parts['panel-memory'].shown.peak_bytes")
    # The program's last tensor, of 256 by 256 floats, is the largest.
    assert peak > 256 * 256 * 4
    first = report.page.locator("#memory-blocks tbody tr").first.inner_text()
    assert first.startswith("256.0 KiB")
    assert "aten::empty" in first or "aten::zeros" in first
    sizes = report.ask("report.parts['panel-memory'].sizesAt(report.parts['panel-memory'].shown.peak_ns)")
    assert sum(sizes) == peak
    report.tab("Table")
    rows = report.sums()
    counted = [event for event in prof.events() if event.name == "aten::linear"]
    assert rows["aten::linear"][0] == len(counted)
    assert rows["aten::linear"][1] / 1000 == pytest.approx(sum(event.cpu_time_total for event in counted), rel=1e-6)
    report.page.screenshot(path=screenshots / "report-memory.png")
