"""What the report page of a large trace takes: to be written, on disk, to be opened, and while someone moves in it.

``.venv-readers/bin/python benches/report_page.py`` makes a trace of a million events as a training has them, writes its
page, and opens that in Chromium without a window. ``--events 10_000_000`` for more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
MTPROF = os.environ.get("MTPROF", str(Path(__file__).parents[1] / "target" / "release" / "mtprof"))
OPERATORS = [f"aten::operator_{number}" for number in range(60)]
KERNELS = [f"void kernel_{number}<float, 4>(float*, float const*, int)" for number in range(40)]
PAN = """(share) => new Promise((done) => {
  const { state, timeline } = window.mindtorchReport;
  const half = (state.length * share) / 2;
  state.show(state.length / 2 - half, state.length / 2 + half);
  const paint = timeline.paint;
  const times = [];
  let painting = 0, rectangles = 0, before = 0, direction = 1;
  timeline.paint = () => {
    const begin = performance.now();
    paint.call(timeline);
    painting += performance.now() - begin;
    rectangles = Math.max(rectangles, timeline.painter.rectangles);
  };
  const frame = (now) => {
    if (before) times.push(now - before);
    before = now;
    if (times.length === 120) {
      delete timeline.paint;
      const seconds = times.reduce((sum, time) => sum + time, 0) / 1000;
      return done({ frames: times.length / seconds, paint: painting / times.length, rectangles });
    }
    if (times.length % 30 === 0) direction = -direction;
    state.pan(0.013 * direction);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def events(count: int) -> Iterator[dict[str, Any]]:
    """Operators that contain others, two to four deep, on two threads; some launch kernels. Times are microseconds."""
    chance = random.Random(0)  # noqa: S311 (for figures)
    clocks = {1: 0.0, 2: 0.0}
    device = 0.0
    made = 0
    while made < count:
        thread = 1 if chance.random() < 0.7 else 2
        start = clocks[thread]
        length = chance.lognormvariate(3, 1.2)
        clocks[thread] += length + chance.expovariate(1.0)
        outer = chance.randrange(len(OPERATORS))
        depth = chance.choice((1, 2, 2, 3, 3, 4))
        shapes = [[2 ** (outer % 7), 64], [64, 2 ** (outer % 5)]]
        for inside in range(depth):
            share = 0.06 * inside
            yield {
                "ph": "X",
                "cat": "cpu_op",
                "name": OPERATORS[(outer + inside * 7) % len(OPERATORS)],
                "pid": 1,
                "tid": thread,
                "ts": round(start + length * share, 3),
                "dur": round(length * (1 - 2 * share), 3),
                "args": {"Input Dims": shapes, "Input type": ["float", "float"], "Sequence number": made},
            }
        made += depth
        if depth < 3:
            continue
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": thread}
        device = max(device, start) + chance.expovariate(2.0)
        work = chance.lognormvariate(2, 1)
        begin = round(start + length * 0.4, 3)
        yield {**launch, "ts": begin, "dur": round(length * 0.1, 3), "args": {"correlation": made}}
        kernel = {"ph": "X", "cat": "kernel", "name": KERNELS[outer % len(KERNELS)], "pid": 0, "tid": 7}
        arguments = {"device": 0, "stream": 7, "correlation": made}
        yield {**kernel, "ts": round(device, 3), "dur": round(work, 3), "args": arguments}
        device += work
        made += 2


def write_trace(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        for number, event in enumerate(events(count)):
            out.write((",\n" if number else "") + json.dumps(event))
        out.write("\n]}\n")


def seconds(*command: Any) -> float:
    """How long a command of mtprof takes."""
    begin = time.perf_counter()
    subprocess.run([MTPROF, *command, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def timed(label: str, unit: str, value: float) -> None:
    print(f"{label:<52}{value:>12,.2f} {unit}", flush=True)


def measure_page(page: Page, path: Path) -> None:
    page.set_default_timeout(300_000)
    page.goto(path.as_uri(), wait_until="commit", timeout=300_000)
    page.wait_for_selector("html[data-ready]", state="attached")
    timed("from navigation to the first full draw", "s", page.evaluate("window.mindtorchReport.drawnAt") / 1000)
    for share in (1, 0.1, 0.01, 0.001):
        found = page.evaluate(PAN, share)
        timed(f"moving, {share:.1%} of the time in view", "frames/s", found["frames"])
        timed("    to paint a frame", "ms", found["paint"])
        timed("    rectangles in a frame at most", "", found["rectangles"])
    sums = """() => { const { state, parts } = window.mindtorchReport;
      parts['panel-table'].refresh(); document.getElementById('tab-table').click();
      const begin = performance.now(); state.selectRange(state.length * 0.2, state.length * 0.8);
      return performance.now() - begin; }"""
    timed("the table of a selection of 60 % of the time", "ms", page.evaluate(sums))
    search = """() => { const { search } = window.mindtorchReport; const begin = performance.now();
      search.find('operator_7'); return performance.now() - begin; }"""
    timed("a search, and going to the first that is found", "ms", page.evaluate(search))


def main() -> None:
    """Make the page and print what it takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        trace, report = Path(directory, "trace.json"), Path(directory, "report.html")
        write_trace(trace, arguments.events)
        megabytes = trace.stat().st_size / 1e6
        timed(f"mtprof report of a trace of {megabytes:,.0f} MB", "s", seconds("report", trace, "-o", report))
        size = report.stat().st_size
        timed("its size", "MB", size / 1e6)
        timed("    an event", "bytes", size / arguments.events)
        with sync_playwright() as playwright:
            options = ["--headless", "--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=BROWSER, args=options)
            measure_page(browser.new_page(viewport={"width": 1600, "height": 1000}), report)
            browser.close()


if __name__ == "__main__":
    main()
