"""The report page at the widths of usual screens: names, the title, the legend and the table's columns can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.readers.report_page import Report, allocation, counter, kernel, made, mark, span, written

if TYPE_CHECKING:
    from pathlib import Path

WIDTHS = [1280, 1440, 1920]
TITLE = "examples/training/resnet50_imagenet_ddp_bf16_channels_last_compile_max_autotune.rank0.2025-11-19T10-00-00"
KERNEL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, {}ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
)
STREAMS = range(7, 19)
# About fifteen letters: what is left of a name that is longer.
READABLE = 100

# How wide the part of each element is that a person can see, beside the width that it needs.
SHOWN = """(elements) => elements.map((element) => {
  const own = element.getBoundingClientRect();
  let [left, right, top, bottom] = [Math.max(own.left, 0), Math.min(own.right, innerWidth), own.top, own.bottom];
  const inline = getComputedStyle(element).display.startsWith("inline");
  for (let parent = element.parentElement; parent; parent = parent.parentElement) {
    const style = getComputedStyle(parent);
    if (style.overflowX === "visible") continue;
    const box = parent.getBoundingClientRect();
    // An ellipsis takes the place of a whole inline box that does not fit.
    const isElided = inline && parent === element.parentElement && style.textOverflow === "ellipsis";
    if (isElided && own.right > box.right + 0.5) right = left;
    [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  const range = document.createRange();
  range.selectNodeContents(element);
  const at = document.elementFromPoint(left + 2, (top + bottom) / 2);
  const isCovered = !at || !(element.contains(at) || at.contains(element));
  return {
    text: element.textContent,
    tooltip: element.closest("[title]")?.title ?? "",
    isInView: bottom - top > 8,
    shown: isCovered ? 0 : Math.max(right - left, 0),
    needed: Math.max(range.getBoundingClientRect().width, element.scrollWidth),
  };
})"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of a trace with long names, many streams and every kind of event, and of two such ranks."""
    directory = tmp_path_factory.mktemp("layout")
    trace = written(directory / "rank0.json", events())
    other = written(directory / f"{'a_long_name_of_a_rank_' * 6}1.json", events())
    return {
        "trace": made(directory / "page.html", trace, options=("--title", TITLE)),
        "ranks": made(directory / "ranks.html", trace, other),
    }


def events() -> list[dict[str, Any]]:
    found = [
        name_thread(1, "main thread of the training loop with a long name (1234567)"),
        name_thread(2, "pt_autograd_0_with_a_name_longer_than_any_label (18446744073160099392)"),
        span("ProfilerStep#0", 0, 1000, "user_annotation"),
        span("train.py(10): train_one_epoch_with_gradient_accumulation_and_mixed_precision", 1, 990, "python_function"),
        span("aten::scaled_dot_product_attention_of_a_very_long_name_" * 3, 2, 100, shapes=[[8, 4]]),
        span("cudaMemcpyAsync", 500, 5, "cuda_runtime", correlation=500),
        span("cudaMemsetAsync", 510, 5, "cuda_runtime", correlation=501),
        span("cudaStreamSynchronize", 600, 50, "cuda_runtime", correlation=502),
        span(f"autograd::engine::evaluate_function: {'ConvolutionBackward' * 6}0", 100, 50, thread=2),
        span(f"{'ConvolutionBackward' * 6}0", 110, 30, thread=2, **{"Fwd thread id": 1, "Sequence number": 1}),
        kernel("Memcpy HtoD (Pageable -> Device)", 520, 30, 500, "gpu_memcpy"),
        kernel("Memset (Device)", 560, 10, 501, "gpu_memset"),
        kernel("Stream Sync", 610, 20, 502, "cuda_sync"),
        kernel("Optimizer.step#AdamW.step", 200, 200, 0, "gpu_user_annotation"),
        mark("a mark with a long name, of an epoch that has ended", 700),
        counter("a counter of a name that is longer than any label beside the timeline", 0, value=1234567890123.25),
        counter("a counter of a name that is longer than any label beside the timeline", 500, value=9876543210987.75),
        allocation(1, 512, 10, 512),
        allocation(1, -512, 900, 0),
    ]
    for number, stream in enumerate(STREAMS, 1):
        found.append(span("cudaLaunchKernel", 20 + 6 * number, 4, "cuda_runtime", correlation=number))
        found.append({**kernel(KERNEL.format(number), 200 + number, 100 - number, number), **stream_of(number, stream)})
    return found


def stream_of(number: int, stream: int) -> dict[str, Any]:
    return {"tid": stream, "args": {"device": 0, "stream": stream, "correlation": number}}


def name_thread(thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "ts": 0, "args": {"name": name}}


def shown(report: Report, selector: str) -> list[dict[str, Any]]:
    """How much of each element is seen, of those that are in view."""
    found = report.page.locator(selector).evaluate_all(SHOWN)
    seen = [element for element in found if element["isInView"]]
    assert seen, selector
    return seen


def unreadable(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [element for element in elements if element["shown"] < min(READABLE, element["needed"]) - 1]


def cut(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [element for element in elements if element["shown"] < element["needed"] - 1]


@pytest.fixture(params=WIDTHS)
def wide(request: pytest.FixtureRequest, report: Report) -> Report:
    report.page.set_viewport_size({"width": request.param, "height": 1000})
    return report


@pytest.mark.parametrize("page_of", ["trace", "ranks"])
def test_the_title_the_facts_and_the_legend_are_seen(wide: Report, pages: dict[str, Path], page_of: str) -> None:
    wide.open(pages[page_of])
    kinds = wide.ask("[...new Set(report.model.kinds)].map((kind) => report.model.contents.kinds[kind])")
    legend = shown(wide, "#legend > span")
    assert len(kinds) >= 10
    assert sorted(element["text"] for element in legend) == sorted(kinds)
    assert cut(legend) == []
    assert cut(shown(wide, "#facts")) == []
    (title,) = shown(wide, "#title")
    assert title["shown"] > 500
    assert title["tooltip"] == title["text"]
    # None of them is on top of another.
    boxes = [wide.page.locator(part).bounding_box() for part in ("#title", "#facts", "#legend", ".search")]
    assert not any(overlap(one, other) for at, one in enumerate(boxes) for other in boxes[:at])


def overlap(one: Any, other: Any) -> bool:
    return (
        one["x"] < other["x"] + other["width"]
        and other["x"] < one["x"] + one["width"]
        and one["y"] < other["y"] + other["height"]
        and other["y"] < one["y"] + one["height"]
    )


@pytest.mark.parametrize("page_of", ["trace", "ranks"])
def test_labels_of_the_timeline_can_be_read(wide: Report, pages: dict[str, Path], page_of: str) -> None:
    wide.open(pages[page_of])
    labels = shown(wide, "#labels .row span, #labels .line span")
    assert unreadable(labels) == []
    assert all(label["tooltip"].startswith(label["text"]) for label in labels)
    if page_of == "ranks":
        assert cut(shown(wide, "#labels .process")) == []
    # A row of several lanes has all of a long name.
    main = wide.page.locator("#labels .tall span").first
    assert main.inner_text().startswith("main thread")
    assert main.evaluate("(label) => label.scrollHeight <= label.clientHeight")


def test_names_and_the_last_column_of_the_table_are_seen(
    wide: Report, pages: dict[str, Path], screenshots: Path
) -> None:
    wide.open(pages["trace"]).tab("Table")
    wide.page.screenshot(path=screenshots / f"report-{wide.page.evaluate('innerWidth')}.png")
    names = shown(wide, "#table-body tbody .name")
    assert any(name["text"].startswith("void at::native") for name in names)
    assert unreadable(names) == []
    assert all(name["tooltip"] == name["text"] for name in names)
    titles = shown(wide, "#table-body thead th")
    assert titles[-1]["text"] == "Self memory"
    assert cut(titles) == []


def test_names_are_readable_beside_the_details(wide: Report, pages: dict[str, Path]) -> None:
    wide.open(pages["trace"]).tab("Table")
    wide.page.mouse.click(*wide.place(wide.event("ProfilerStep#0")))
    assert wide.page.locator("#details").is_visible()
    assert unreadable(shown(wide, "#table-body tbody .name")) == []
    # The last column is scrolled to.
    wide.page.locator("#table-body thead th").last.scroll_into_view_if_needed()
    assert cut(shown(wide, "#table-body thead th:last-child")) == []


def test_the_details_are_open_while_a_span_is_selected(report: Report, pages: dict[str, Path]) -> None:
    report.open(pages["trace"])
    details = report.page.locator("#details")
    assert not details.is_visible()
    report.page.mouse.click(*report.place(report.event("ProfilerStep#0")))
    assert details.is_visible()
    details.get_by_role("button", name="Close").click()
    assert not details.is_visible()
    assert report.selected is None
    assert report.page.evaluate("document.activeElement.id") == "canvas"
    report.page.keyboard.press("Enter")
    assert details.is_visible()
    report.page.keyboard.press("Escape")
    assert not details.is_visible()
