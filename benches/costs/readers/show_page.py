"""Opens a report page in Chromium without a window, and prints what that takes as JSON: ``… PAGE``.

Each item is what was measured, its unit (nanoseconds, or times a second) and the value.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu"]
PATIENCE_MS = 300_000
NS_IN_MS = 1e6
PAN = """(share) => new Promise((done) => {
  const { state, timeline } = window.mindtorchReport;
  const half = (state.length * share) / 2;
  state.show(state.length / 2 - half, state.length / 2 + half);
  const paint = timeline.paint;
  const times = [];
  let painting = 0, before = 0, direction = 1;
  timeline.paint = () => {
    const begin = performance.now();
    paint.call(timeline);
    painting += performance.now() - begin;
  };
  const frame = (now) => {
    if (before) times.push(now - before);
    before = now;
    if (times.length === 120) {
      delete timeline.paint;
      const seconds = times.reduce((sum, time) => sum + time, 0) / 1000;
      return done({ frames: times.length / seconds, paint: painting / times.length });
    }
    if (times.length % 30 === 0) direction = -direction;
    state.pan(0.013 * direction);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""
SELECT = """() => { const { state, parts } = window.mindtorchReport;
  parts['panel-table'].refresh(); document.getElementById('tab-table').click();
  const begin = performance.now(); state.selectRange(state.length * 0.2, state.length * 0.8);
  return performance.now() - begin; }"""
SEARCH = """() => { const { search } = window.mindtorchReport; const begin = performance.now();
  search.find('addmm'); return performance.now() - begin; }"""


def measured(page: Page) -> Iterator[tuple[str, str, float]]:
    """Yield what the page takes that is open."""
    page.wait_for_selector("html[data-ready]", state="attached")
    yield "from navigation to the first full draw", "ns", NS_IN_MS * page.evaluate("window.mindtorchReport.drawnAt")
    for share in (1, 0.1, 0.01, 0.001):
        found = page.evaluate(PAN, share)
        yield f"frames while it moves, {share:.1%} of the time in view", "/s", found["frames"]
        yield f"painting one, {share:.1%} of the time in view", "ns", NS_IN_MS * found["paint"]
    yield "the table of a selection of 60 % of the time", "ns", NS_IN_MS * page.evaluate(SELECT)
    yield "a search, and going to what is found", "ns", NS_IN_MS * page.evaluate(SEARCH)


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=OPTIONS)
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(Path(sys.argv[1]).as_uri(), wait_until="commit", timeout=PATIENCE_MS)
    print(json.dumps(list(measured(page))))
    browser.close()
