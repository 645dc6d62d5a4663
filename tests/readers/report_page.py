"""Report pages of traces whose every number is known, and what a person sees in one."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
MTPROF = os.environ.get("MTPROF", str(ROOT / "target" / "release" / "mtprof"))
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '"><b onmouseover=alert(1)>&amp;',
    "${window.hacked = 1}`\\u003c",
    "\u2028\u202e日本語\u0000",
    "__proto__",
]

# How long the steps of a training are, in microseconds.
STEPS = [100.0, 100.0, 100.0, 100.0, 100.0, 300.0]

MINUS = "\N{MINUS SIGN}"

Event = dict[str, Any]


def span(name: str, start: float, length: float, category: str = "cpu_op", thread: int = 1, **arguments: Any) -> Event:
    """An event; times are microseconds."""
    common = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length}
    return {**common, "args": arguments}


def kernel(name: str, start: float, length: float, correlation: int, category: str = "kernel") -> Event:
    return span(name, start, length, category, 7, device=0, stream=7, correlation=correlation)


def mark(name: str, at: float, thread: int = 1) -> Event:
    return {"ph": "i", "s": "t", "name": name, "pid": 1, "tid": thread, "ts": at}


def counter(name: str, at: float, **values: float) -> Event:
    return {"ph": "C", "name": name, "pid": 1, "tid": 1, "ts": at, "args": values}


def allocation(address: int, size: int, at: float, total: int) -> Event:
    arguments = {"Addr": address, "Bytes": size, "Total Allocated": total, "Device Type": 0, "Device Id": -1}
    return {**mark("[memory]", at), "cat": "cpu_instant_event", "args": arguments}


def training(step_lengths: list[float], slower: float = 1.0) -> list[Event]:
    """Steps, in each of which ``forward`` has two operators that launch kernels, and ``aten::item`` waits for them."""
    events = []
    start = 0.0
    for number, length in enumerate(step_lengths):
        first = 2 * number + 1
        events += [
            span(f"ProfilerStep#{number}", start, length, "user_annotation"),
            span("forward", start + 1, 60 * slower, "user_annotation"),
            span(
                "aten::linear",
                start + 2,
                30 * slower,
                **{"Input Dims": [[8, 4], [2, 4]], "Input type": ["float", "float"]},
            ),
            span("aten::addmm", start + 4, 20 * slower),
            span("cudaLaunchKernel", start + 6, 5, "cuda_runtime", correlation=first),
            span("aten::relu", start + 40 * slower, 10 * slower),
            span("cudaLaunchKernel", start + 42 * slower, 4, "cuda_runtime", correlation=first + 1),
            span("aten::item", start + length - 25, 20),
            span("cudaStreamSynchronize", start + length - 23, 17, "cuda_runtime"),
            kernel("gemm", start + 12, 30 * slower, first),
            kernel("relu", start + 50 * slower, 8 * slower, first + 1),
        ]
        start += length
    return events


def written(path: Path, events: list[Event], base_us: int = 1_760_000_000_000_000) -> Path:
    """A Chrome trace of the events, which begins at that time."""
    shifted = [{**event, "ts": event["ts"] + base_us} for event in events]
    path.write_text(json.dumps({"traceEvents": shifted, "schemaVersion": 1}), encoding="utf-8")
    return path


def made(page: Path, *traces: Path, options: tuple[str, ...] = ()) -> Path:
    """The page that the command makes of traces."""
    subprocess.run([MTPROF, "report", *traces, "-o", page, "--quiet", *options], check=True, stdout=subprocess.PIPE)
    return page


def told(*arguments: str | Path) -> str:
    """What the command says."""
    return subprocess.run([MTPROF, *arguments], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def seconds_text(nanoseconds: float) -> str:
    """A time as the page shows it."""
    size, unit = next(
        ((size, unit) for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if abs(nanoseconds) >= size), (1, "ns")
    )
    scaled = nanoseconds / size
    digits = 0 if size == 1 else 3 if abs(scaled) < 10 else 2 if abs(scaled) < 100 else 1
    return f"{scaled:.{digits}f} {unit}" if nanoseconds else "0"


def signed_text(number: float, size: str) -> str:
    """What has a sign, as the page shows it."""
    return f"{MINUS if number < 0 else '+'}{size}"


def percent_text(part: float) -> str:
    """A part with its sign as the page shows it."""
    return signed_text(part, f"{abs(100 * part):.1f} %")


@dataclass
class Report:
    """A report page that is open. What it logs, throws or asks for is kept."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: Path, ready: bool = True) -> Report:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        if ready:
            self.page.wait_for_selector("html[data-ready]", state="attached")
        return self

    def ask(self, expression: str, argument: Any = None) -> Any:
        """The value of an expression over ``report``, the page's parts, and ``argument``."""
        return self.page.evaluate(
            f"(argument) => {{ const report = window.mindtorchReport; return {expression}; }}", argument
        )

    @property
    def view(self) -> tuple[float, float]:
        start, end = self.ask("[report.state.start, report.state.end]")
        return start, end

    @property
    def range(self) -> tuple[int, int] | None:
        found = self.ask("report.state.range && [report.state.range.start, report.state.range.end]")
        return found and tuple(found)

    @property
    def selected(self) -> str | None:
        return self.ask("report.state.event < 0 ? null : report.model.nameOf(report.state.event)")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def focus(self) -> None:
        self.page.locator("#canvas").focus()

    def event(self, name: str, number: int = 0) -> int:
        """The number of an event by its name: the first, or one after it in the order of the page."""
        numbers = "[...Array(report.model.count).keys()].filter((event) => report.model.nameOf(event) === argument)"
        return self.ask(numbers, name)[number]

    def place(self, event: int) -> tuple[float, float]:
        """Where an event is on the screen."""
        x, y = self.ask(
            "[report.timeline.painter.x(report.model.start[argument] + report.model.duration[argument] / 2),"
            " report.timeline.layout.topOf(argument) + report.timeline.head - report.timeline.scroller.scrollTop + 9]",
            event,
        )
        box = self.page.locator("#canvas").bounding_box()
        assert box is not None
        return box["x"] + x, box["y"] + y

    def point(self, event: int) -> str:
        """What the page says when the mouse is at an event."""
        self.page.mouse.move(*self.place(event))
        return self.page.locator("#tip").inner_text()

    def column(self, x: float, top: float, height: int) -> list[tuple[int, ...]]:
        """The colours that the timeline has in a column of pixels, from a place of the screen downwards."""
        box = self.page.locator("#canvas").bounding_box()
        assert box is not None
        copied = """(() => {
          report.timeline.paint();
          const { canvas } = report.timeline;
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          return [...context.getImageData(...argument).data];
        })()"""
        data = self.ask(copied, [int(x - box["x"]), round(top - box["y"]), 1, height])
        return [tuple(data[at : at + 3]) for at in range(0, len(data), 4)]

    def x(self, time_ns: float) -> float:
        """Where a time is on the screen."""
        box = self.page.locator("#canvas").bounding_box()
        assert box is not None
        return box["x"] + self.ask("report.timeline.painter.x(argument)", time_ns)

    def drag(self, start_ns: float, end_ns: float) -> None:
        """Select a time with the mouse."""
        _, y = self.place(self.event("aten::linear"))
        self.page.keyboard.down("Shift")
        self.page.mouse.move(self.x(start_ns), y)
        self.page.mouse.down()
        self.page.mouse.move(self.x((start_ns + end_ns) / 2), y)
        self.page.mouse.move(self.x(end_ns), y)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def table(self, panel: str = "table") -> dict[str, dict[str, str]]:
        """The rows that are shown, by name, in order; their cells by the titles of columns."""
        body = self.page.locator(f"#{panel}-body")
        titles = [text.rstrip(" ▾▴") for text in body.locator("thead th").all_inner_texts()]
        rows = [row.locator("th, td").all_inner_texts() for row in body.locator("tbody tr").all()]
        cells = [dict(zip(titles, row, strict=True)) for row in rows]
        return {f"{row['Name']} ({row['Kind']})" if "Kind" in row else row["Name"]: row for row in cells}

    def sums(self) -> dict[str, tuple[int, int, int]]:
        """What the table counts: count, total and self time in nanoseconds, by name."""
        found = self.ask(
            "report.parts['panel-table'].sums.map((sum) => "
            "[report.parts['panel-table'].groups.list[sum.group].text, sum.count, sum.total, sum.own])"
        )
        return {name: (count, total, own) for name, count, total, own in found}
