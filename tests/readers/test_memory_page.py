"""The page of the memory timeline, in a browser: what a person sees, points at and presses."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers import memory_page
from tests.readers.memory_page import CATEGORIES, MIB, bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    Opener = Callable[..., Page]

DATA = memory_page.ten_states()
TOTALS = [sum(at) for at in zip(*DATA["sizes"], strict=True)]
COLOURS = ["#009e73", "#e69f00", "#f0e442", "#56b4e9", "#d55e00", "#0072b2", "#cc79a7", "#3f3f46"]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens a page (data, or a file) that must load nothing else and write nothing to the console."""
    said: list[str] = []
    asked: list[str] = []
    expected: list[str] = []
    contexts = []

    def open_page(content: dict[str, Any] | Path, **options: Any) -> Page:
        path = tmp_path / "timeline.html" if isinstance(content, dict) else content
        if isinstance(content, dict):
            path.write_text(memory_page.filled(content), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 1400, "height": 900}, timezone_id="UTC", **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        expected.append(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert asked == expected


@pytest.fixture
def page(opened: Opener) -> Page:
    return opened(DATA)


def place(page: Page, time: float) -> tuple[float, float]:
    """Where on the screen a time is, halfway up the plot."""
    box = page.locator("#chart").bounding_box()
    assert box is not None
    plot = page.evaluate("memoryTimeline.plot")
    start, end = visible(page)
    across = (time - start) / (end - start) * plot["width"]
    return box["x"] + plot["left"] + across, box["y"] + plot["top"] + plot["height"] / 2


def point_at(page: Page, time: float) -> None:
    page.mouse.move(*place(page, time))


def visible(page: Page) -> tuple[float, float]:
    # A change shows with the next frame.
    start, end = page.evaluate("new Promise((done) => requestAnimationFrame(() => done(memoryTimeline.range)))")
    return start, end


def wait_for(page: Page, condition: str) -> None:
    """Waits by looking at each frame; Playwright's own wait evaluates text, which the page forbids."""
    look = f"() => {{ if ({condition}) done(); else requestAnimationFrame(look); }}"
    page.evaluate(f"new Promise((done) => {{ const look = {look}; look(); }})")


def pixels(page: Page, time: float) -> Counter[str]:
    """How many pixels there are of each colour in the column of a time."""
    script = """(x) => {
        const canvas = document.getElementById("canvas");
        const column = new OffscreenCanvas(1, canvas.height).getContext("2d");
        column.drawImage(canvas, -Math.round((x * canvas.width) / canvas.clientWidth), 0);
        const { data } = column.getImageData(0, 0, 1, canvas.height);
        const hex = (value) => value.toString(16).padStart(2, "0");
        return Array.from({ length: canvas.height }, (_, y) => data.subarray(4 * y, 4 * y + 4))
            .filter((pixel) => pixel[3] === 255)
            .map((pixel) => "#" + hex(pixel[0]) + hex(pixel[1]) + hex(pixel[2]));
    }"""
    box = page.locator("#chart").bounding_box()
    assert box is not None
    return Counter(page.evaluate(script, place(page, time)[0] - box["x"]))


def table(page: Page, *columns: int) -> list[tuple[str, ...]]:
    rows = page.locator("#block-table tbody tr").all()
    return [tuple(row.locator("td").nth(column).inner_text() for column in columns) for row in rows]


def test_the_head_says_what_was_recorded_and_when(page: Page) -> None:
    assert page.title() == page.locator("h1").inner_text() == "Memory of a test"
    facts = dict(
        zip(page.locator("#facts dt").all_inner_texts(), page.locator("#facts dd").all_inner_texts(), strict=True)
    )
    assert facts["Device"] == "cpu"
    assert facts["Duration"] == "1.000 ms"
    assert facts["Peak"] == f"{bytes_text(TOTALS[6])} at 600.0 µs"
    assert page.locator("#facts time").get_attribute("datetime") == "2025-10-09T08:53:20.123Z"


@pytest.mark.parametrize("index", range(10))
def test_the_cursor_shows_the_state_that_it_points_at(page: Page, index: int) -> None:
    point_at(page, DATA["times_ns"][index] + 50_000)
    assert page.evaluate("memoryTimeline.hovered") == index
    lines = page.locator("#tooltip p").all_inner_texts()
    time, _, step = lines[0].partition(" µs")
    assert float(time) == pytest.approx(100 * index + 50, abs=1)
    assert step == ("" if index == 0 else ", step 3" if index < 5 else ", step 4")
    assert lines[1:] == [f"{bytes_text(TOTALS[index])} in all", f"{TOTALS[index]:,} bytes"]
    parts = [row.split("\n") for row in page.locator("#tooltip div").all_inner_texts()]
    expected = [[name, bytes_text(sizes[index])] for name, sizes in zip(CATEGORIES, DATA["sizes"], strict=True)]
    assert parts == expected[::-1]
    legend = page.locator("#legend tbody tr").all()
    assert [row.locator("td").nth(1).inner_text() for row in legend] == [size for _, size in expected[::-1]]
    assert page.locator("#cursor-total").inner_text() == bytes_text(TOTALS[index])


def test_the_cursor_goes_when_the_pointer_does(page: Page) -> None:
    point_at(page, 150_000)
    assert page.locator("#tooltip").is_visible()
    page.mouse.move(5, 5)
    assert not page.locator("#tooltip").is_visible()
    assert page.evaluate("memoryTimeline.hovered") is None
    assert page.locator("#cursor-total").inner_text() == "\u2013"


@pytest.mark.parametrize("index", [0, 4, 6, 9])
def test_areas_are_as_high_as_their_categories_are_large(page: Page, index: int) -> None:
    found = pixels(page, DATA["times_ns"][index] + 60_000)
    heights = {colour: found[colour] for colour in COLOURS}
    # Lines of the grid take a pixel each.
    for category, colour in enumerate(COLOURS):
        share = DATA["sizes"][category][index] / TOTALS[index]
        assert heights[colour] == pytest.approx(share * sum(heights.values()), abs=3)


def test_a_state_of_a_nanosecond_is_seen_among_twenty_thousand(opened: Opener) -> None:
    data, index = memory_page.spike()
    page = opened(data)
    point_at(page, data["times_ns"][index])
    assert page.evaluate("memoryTimeline.hovered") == index
    assert "largest of" in page.locator("#tooltip").inner_text()
    assert page.evaluate("memoryTimeline.peak.index") == index
    tallest = pixels(page, data["times_ns"][index] - 100_000_000)
    assert 0 < tallest[COLOURS[4]] < 100


def test_the_peak_is_marked_where_it_was(page: Page) -> None:
    peak = page.evaluate("memoryTimeline.peak")
    plot = page.evaluate("memoryTimeline.plot")
    assert peak["index"] == 6
    assert peak["x"] == pytest.approx(plot["left"] + 0.6 * plot["width"])
    assert pixels(page, 600_000)["#1c1e21"] > plot["height"] - 15
    assert pixels(page, 610_000)["#1c1e21"] < 5
    rows = page.locator("#legend tbody tr").all()
    sizes = [bytes_text(sizes[6]) for sizes in DATA["sizes"]]
    assert [row.locator("td").nth(2).inner_text() for row in rows] == sizes[::-1]
    assert page.locator("#peak-total").get_attribute("title") == f"{TOTALS[6]:,} bytes"


def test_a_peak_at_the_very_end_is_found(opened: Opener) -> None:
    page = opened(memory_page.timeline([0, 1000], [[MIB, 3 * MIB], *([0, 0] for _ in range(7))], 1000))
    page.keyboard.press("p")
    assert page.evaluate("memoryTimeline.hovered") == 1
    assert page.locator("#cursor-total").inner_text() == "3.00 MiB"


def test_the_wheel_zooms_around_the_pointer(page: Page) -> None:
    point_at(page, 300_000)
    page.mouse.wheel(0, -300)
    wait_for(page, "memoryTimeline.range[0] > 0")
    start, end = visible(page)
    assert end - start < 600_000
    # What was under the pointer still is.
    assert (300_000 - start) / (end - start) == pytest.approx(0.3, abs=0.001)
    assert page.evaluate("memoryTimeline.hovered") in {2, 3}
    page.mouse.wheel(0, 100)
    wait_for(page, f"memoryTimeline.range[0] < {start}")
    page.mouse.wheel(0, 5000)
    wait_for(page, "memoryTimeline.range[0] === 0 && memoryTimeline.range[1] === 1e6")


def test_the_page_scrolls_where_there_is_nothing_to_zoom_out_of(page: Page) -> None:
    point_at(page, 300_000)
    page.mouse.wheel(0, 200)
    wait_for(page, "scrollY > 0")
    assert visible(page) == (0, 1_000_000)


def drag(page: Page, start: float, end: float) -> None:
    point_at(page, start)
    target = place(page, end)
    page.mouse.down()
    page.mouse.move(*target, steps=4)
    page.mouse.up()


@pytest.mark.parametrize(("start", "end"), [(200_000, 500_000), (500_000, 200_000)])
def test_dragging_selects_a_range(page: Page, start: int, end: int) -> None:
    drag(page, start, end)
    assert visible(page) == pytest.approx((200_000, 500_000), abs=100)
    point_at(page, 350_000)
    assert page.evaluate("memoryTimeline.hovered") == 3
    assert "◂" not in page.locator("#range").inner_text()


def test_what_begins_after_the_view_is_not_in_it(page: Page) -> None:
    drag(page, 210_000, 590_000)
    # The peak begins at 600 microseconds.
    point_at(page, 589_900)
    assert page.evaluate("memoryTimeline.hovered") == 5


def test_dragging_with_shift_pans(page: Page) -> None:
    drag(page, 200_000, 500_000)
    page.keyboard.down("Shift")
    drag(page, 300_000, 400_000)
    page.keyboard.up("Shift")
    assert visible(page) == pytest.approx((100_000, 400_000), abs=500)


def test_escape_ends_a_selection_and_nothing_else(page: Page) -> None:
    drag(page, 200_000, 500_000)
    before = visible(page)
    point_at(page, 300_000)
    page.mouse.down()
    page.mouse.move(*place(page, 400_000))
    assert page.locator("#selection").is_visible()
    assert not page.locator("#tooltip").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#selection").is_visible()
    page.mouse.up()
    assert visible(page) == before


@pytest.mark.parametrize("how", ["Home", "Escape", "double click", "button"])
def test_everything_is_shown_again(page: Page, how: str) -> None:
    drag(page, 200_000, 500_000)
    assert visible(page) != (0, 1_000_000)
    if how == "double click":
        page.mouse.dblclick(*place(page, 300_000))
    elif how == "button":
        page.get_by_role("button", name="Reset").click()
    else:
        page.keyboard.press(how)
    assert visible(page) == (0, 1_000_000)


def test_the_keyboard_does_what_the_pointer_does(page: Page) -> None:
    page.locator("#chart").focus()
    page.keyboard.press("+")
    start, end = visible(page)
    assert (start, end) == pytest.approx((500_000 - 333_333, 500_000 + 333_333), abs=1)
    page.keyboard.press("ArrowRight")
    assert visible(page) == pytest.approx((start + 66_667, end + 66_667), abs=1)
    page.keyboard.press("ArrowLeft")
    assert visible(page) == pytest.approx((start, end), abs=1)
    page.keyboard.press("-")
    assert visible(page) == pytest.approx((0, 1_000_000), abs=1)
    for _ in range(4):
        page.keyboard.press("+")
    page.keyboard.press("P")
    start, end = visible(page)
    assert (start + end) / 2 == pytest.approx(600_000)
    assert page.evaluate("memoryTimeline.hovered") == 6
    assert page.locator("#spoken").inner_text().startswith(f"600.0 µs: {bytes_text(TOTALS[6])}.")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("memoryTimeline.hovered") == 7
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate("memoryTimeline.hovered") == 5


def test_no_zoom_leaves_the_recording_or_the_nanosecond(page: Page) -> None:
    for _ in range(60):
        page.keyboard.press("+")
    start, end = visible(page)
    assert end - start == pytest.approx(10)
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("p")
    assert page.evaluate("memoryTimeline.hovered") == 6
    for _ in range(60):
        page.keyboard.press("-")
    assert visible(page) == (0, 1_000_000)


def test_everything_can_be_reached_by_tab_and_shows_it(page: Page) -> None:
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.id || document.activeElement.textContent,"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert outline != "none", name
        reached.append(name)
    toolbar = ["zoom-in", "zoom-out", "pan-left", "pan-right", "to-peak", "reset"]
    table = ["Blocks", "By operator", "By stack", "search", "Bytes", "Share", "Category", "Operator", "Age"]
    assert reached[:24] == [*toolbar, "chart", *CATEGORIES[::-1], *table]


def test_keys_in_the_table_are_the_tables_own(page: Page) -> None:
    page.locator("#search").press_sequentially("p+-")
    assert page.locator("#search").input_value() == "p+-"
    page.locator("#search").press("+")
    assert visible(page) == (0, 1_000_000)
    assert page.evaluate("memoryTimeline.hovered") is None


def test_a_category_can_be_hidden_and_shown(page: Page) -> None:
    toggle = page.get_by_role("button", name="Activation", exact=True)
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    point_at(page, 650_000)
    visible(page)
    assert pixels(page, 660_000)[COLOURS[4]] == 0
    shown = TOTALS[6] - DATA["sizes"][4][6]
    assert page.locator("#cursor-total").inner_text() == bytes_text(shown)
    assert page.locator("#tooltip p").nth(1).inner_text() == f"{bytes_text(shown)} shown"
    assert "Activation" not in page.locator("#tooltip").inner_text()
    # The peak is that of all categories, shown or not.
    assert page.locator("#peak-total").inner_text() == bytes_text(TOTALS[6])
    toggle.click()
    visible(page)
    assert pixels(page, 660_000)[COLOURS[4]] > 0
    assert toggle.get_attribute("aria-pressed") == "true"


def test_the_table_holds_every_block_of_the_peak(page: Page) -> None:
    blocks = DATA["peak"]["blocks"]
    expected = []
    for block in blocks:
        age = "before the recording"
        if block["allocated_ns"] is not None:
            nanoseconds = 600_000 - block["allocated_ns"]
            age = f"{nanoseconds / 1000:#.4g} µs" if nanoseconds >= 1000 else f"{nanoseconds} ns"
        share = f"{100 * block['bytes'] / TOTALS[6]:.1f} %"
        operator = block["operator"] or "(not recorded)"
        where = block["stack"][0] if block["stack"] else "no stack was recorded"
        expected.append((bytes_text(block["bytes"]), share, CATEGORIES[block["category"]], operator, age, where))
    assert table(page, 0, 1, 2, 3, 4, 5) == expected
    assert page.locator("#matches").inner_text() == f"16 blocks, {bytes_text(TOTALS[6])}, 100.0 % of the peak"
    assert not page.locator("#left-out").is_visible()


@pytest.mark.parametrize(
    ("heading", "key", "first"),
    [
        ("Bytes", lambda block: block["bytes"], "ascending"),
        ("Share", lambda block: block["bytes"], "descending"),
        ("Category", lambda block: CATEGORIES[block["category"]], "ascending"),
        ("Operator", lambda block: block["operator"] or "(", "ascending"),
        ("Age", lambda block: -(block["allocated_ns"] if block["allocated_ns"] is not None else -1), "descending"),
    ],
)
def test_the_table_sorts_by_every_column(
    page: Page, heading: str, key: Callable[[dict[str, Any]], Any], first: str
) -> None:
    for order in (first, "descending" if first == "ascending" else "ascending"):
        page.locator("#block-table th button", has_text=heading).click()
        column = page.locator("#block-table th", has_text=heading)
        assert column.get_attribute("aria-sort") == order
        # The first are the largest: a sort by another column keeps them so among equals.
        blocks = sorted(DATA["peak"]["blocks"], key=key, reverse=order == "descending")
        expected = [(bytes_text(block["bytes"]), CATEGORIES[block["category"]]) for block in blocks]
        assert table(page, 0, 2) == expected
        assert page.locator("#block-table th button", has_text=heading).evaluate(
            "(it) => it === document.activeElement"
        )


def test_a_row_opens_to_the_stack_that_allocated_it(page: Page) -> None:
    block = DATA["peak"]["blocks"][0]
    button = page.locator(".where").first
    button.click()
    assert page.locator(".detail li").all_inner_texts() == block["stack"]
    text = page.locator(".detail p").inner_text()
    assert text.startswith(f"{block['bytes']:,} bytes at {block['address']}, allocated at ")
    assert text.endswith("freed at 700.0 µs")
    button.click()
    assert page.locator(".detail").count() == 0


@pytest.mark.parametrize(
    ("name", "key"),
    [("By operator", lambda block: block["operator"]), ("By stack", lambda block: tuple(block["stack"]))],
)
def test_groups_add_up(page: Page, name: str, key: Callable[[dict[str, Any]], Any]) -> None:
    page.get_by_role("button", name=name).click()
    sums: Counter[Any] = Counter()
    counts: Counter[Any] = Counter()
    for block in DATA["peak"]["blocks"]:
        sums[key(block)] += block["bytes"]
        counts[key(block)] += 1
    expected = [(bytes_text(size), str(counts[group])) for group, size in sums.most_common()]
    assert table(page, 0, 2) == expected


def test_a_group_opens_to_the_sum_of_each_stack(page: Page) -> None:
    page.get_by_role("button", name="By operator").click()
    row = page.locator("#block-table tr", has_text="aten::empty")
    assert row.locator(".where").inner_text() == "3 stacks"
    row.locator(".where").click()
    blocks = [block for block in DATA["peak"]["blocks"] if block["operator"] == "aten::empty"]
    sums: Counter[str] = Counter()
    for block in blocks:
        sums[block["stack"][0]] += block["bytes"]
    heads = [f"{bytes_text(size)} in 2 blocks" for _, size in sums.most_common()]
    assert page.locator(".detail p").all_inner_texts() == heads
    assert page.locator(".detail li:first-child").all_inner_texts() == [frame for frame, _ in sums.most_common()]


@pytest.mark.parametrize("wanted", ["gradient", "LAYER_1", "mm_0", "0x7f280", "nothing like it"])
def test_the_search_looks_in_every_text(page: Page, wanted: str) -> None:
    page.locator("#search").fill(wanted)
    matching = [
        block
        for block in DATA["peak"]["blocks"]
        if wanted.lower() in json.dumps([CATEGORIES[block["category"]], block]).lower()
    ]
    assert [size for (size,) in table(page, 0)] == [bytes_text(block["bytes"]) for block in matching]
    assert page.locator("#matches").inner_text().startswith(f"{len(matching)} of 16 blocks, ")


def test_a_long_table_is_shown_in_two_parts_and_says_what_it_lacks(opened: Opener) -> None:
    data = memory_page.ten_states()
    left = 5000
    block = {**data["peak"]["blocks"][-1], "bytes": 1000}
    data["peak"]["blocks"] = [{**block, "address": f"0x{index:x}"} for index in range(1000)]
    data["peak"]["blocks_left_out"] = {"count": left, "bytes": 500 * left}
    page = opened(data)
    assert page.locator("#block-table tbody tr").count() == 50
    page.get_by_role("button", name="Show all 1,000 rows").click()
    assert page.locator("#block-table tbody tr").count() == 1000
    text = page.locator("#left-out").inner_text()
    assert text.startswith("Not listed: 5,000 smaller blocks with 2.38 MiB, ")
    assert text.endswith(f"The blocks add up to 3,500,000 bytes; the peak is {TOTALS[6]:,} bytes.")


def test_names_are_text_whatever_is_in_them(opened: Opener) -> None:
    hostile = "</script><script>window.caught = 1</script><img src=x onerror='window.caught = 2'><!--\u2028"
    data = memory_page.ten_states()
    data["title"] = data["device"] = hostile
    data["categories"] = [f"{name}{hostile}" for name in CATEGORIES]
    for block in data["peak"]["blocks"]:
        block.update(operator=hostile, address=hostile, stack=[hostile, "/*SCRIPT*/"])
    page = opened(data)
    point_at(page, 650_000)
    for name in ("Blocks", "By operator", "By stack"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(".where").first.click()
    assert page.evaluate("window.caught") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    shown = hostile.replace("\u2028", "")
    for place_of_name in ("h1", "#facts", "#legend", "#tooltip", "#block-table", "#summary"):
        assert shown in (page.locator(place_of_name).text_content() or "").replace("\u2028", "")


NOTHING = {"at_ns": 0, "bytes": 0, "blocks": [], "blocks_left_out": {"count": 0, "bytes": 0}}


@pytest.mark.parametrize("peak", [None, NOTHING])
@pytest.mark.parametrize("times", [[], [0, 1000]])
def test_a_page_without_memory_says_so(opened: Opener, times: list[int], peak: dict[str, Any] | None) -> None:
    sizes = [[0] * len(times) for _ in CATEGORIES]
    page = opened({**DATA, "times_ns": times, "sizes": sizes, "peak": peak, "steps": []})
    assert page.locator("#notice").inner_text() == "No memory was recorded on this device."
    assert not page.locator("#chart").is_visible()
    assert not page.locator("#blocks").is_visible()
    assert "cpu" in page.locator("#facts").inner_text()


def test_the_summary_tells_what_the_picture_shows(page: Page) -> None:
    text = page.locator("#summary").inner_text()
    sizes = sorted(((sizes[6], name) for name, sizes in zip(CATEGORIES, DATA["sizes"], strict=True)), reverse=True)
    parts = ", ".join(f"{name} {bytes_text(size)}" for size, name in sizes)
    assert text == (
        f"Memory on cpu over 1.000 ms, 2 steps. It begins with {bytes_text(TOTALS[0])} and ends with "
        f"{bytes_text(TOTALS[9])}. Its peak is {bytes_text(TOTALS[6])} at 600.0 µs: {parts}."
    )


def test_dark_screens_get_a_dark_page_and_paper_a_light_one(opened: Opener) -> None:
    page = opened(DATA, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(23, 25, 28)"
    assert pixels(page, 600_000)["#e8eaed"] > 100
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert pixels(page, 600_000)["#1c1e21"] > 100
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(background) == "rgb(23, 25, 28)"


@pytest.mark.parametrize("width", [1000, 1400, 3840])
@pytest.mark.parametrize("scale", [1, 2])
def test_the_picture_has_a_pixel_for_each_of_the_screens(opened: Opener, width: int, scale: int) -> None:
    page = opened(DATA, device_scale_factor=scale)
    page.set_viewport_size({"width": width, "height": 900})
    wait_for(
        page, f"document.getElementById('canvas').width === document.getElementById('chart').clientWidth * {scale}"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    point_at(page, 650_000)
    assert page.evaluate("memoryTimeline.hovered") == 6


def test_one_name_is_global(page: Page, opened: Opener, tmp_path: Path) -> None:
    empty = tmp_path / "empty.html"
    empty.write_text("<!DOCTYPE html>", encoding="utf-8")
    names = "Object.getOwnPropertyNames(window)"
    assert set(page.evaluate(names)) - set(opened(empty).evaluate(names)) == {"memoryTimeline"}


def test_a_page_that_the_product_wrote(
    opened: Opener, recorded: Callable[..., Any], screenshots: Path, tmp_path: Path
) -> None:
    file = tmp_path / "written.html"
    recorded("adam").export_memory_timeline(file, device="cpu")
    written = re.search(r'id="data">(.*?)</script>', file.read_text(encoding="utf-8"), re.DOTALL)
    assert written is not None
    data = json.loads(written[1])
    totals = [sum(at) for at in zip(*data["sizes"], strict=True)]
    page = opened(file)
    assert page.evaluate("memoryTimeline.range") == [0, data["duration_ns"]]
    page.keyboard.press("p")
    index = page.evaluate("memoryTimeline.hovered")
    assert totals[index] == max(totals) == data["peak"]["bytes"]
    assert page.locator("#tooltip p").nth(2).inner_text() == f"{max(totals):,} bytes"
    assert page.locator("#block-table tbody tr").count() == min(len(data["peak"]["blocks"]), 50)
    assert "add up" not in (page.locator("#left-out").text_content() or "")
    page.screenshot(path=screenshots / "memory_timeline.png")
