"""The page of speedscope, and what it shows of the file that is open in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.readers.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page

INSTALLED = ROOT / ".venv-readers" / "node_modules" / "speedscope" / "dist" / "release"
FILES = Path(os.environ.get("SPEEDSCOPE", INSTALLED))
# Only rows that are in view are in the page, so that the view is higher than any table: as high as it can draw.
VIEW = {"width": 1600, "height": 8_000}


@dataclass(frozen=True)
class Row:
    """A frame, as the table has it: the numbers with their units."""

    name: str
    total: str
    own: str


class SpeedscopeUi:
    """One file, open in speedscope's page."""

    def __init__(self, page: Page, address: str, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self.listen)
        page.route("**/opened*", lambda route: route.fulfill(body=path.read_bytes()))
        page.goto(f"{address}index.html#profileURL={address}opened&title={path.name}")
        page.wait_for_function(
            "title => document.title.startsWith(title) || document.body.innerText.includes('Something went wrong')",
            arg=path.name,
        )
        assert "Something went wrong" not in page.inner_text("body"), self.complaints

    def listen(self, message: ConsoleMessage) -> None:
        """Keep what it says about the file: warnings, and the reason of a refusal. The graphics driver talks too."""
        is_complaint = message.type in {"warning", "error"} or message.text.startswith("Failed to load")
        if is_complaint and "GL Driver Message" not in message.text:
            self.complaints.append(message.text)

    def profiles(self) -> int:
        """How many there are to choose from: `name (1/3)` in the bar above, or the name alone."""
        found = re.search(r"\(1/(\d+)\)", self.page.inner_text("body"))
        return int(found[1]) if found else 1

    def next_profile(self) -> None:
        self.page.keyboard.press("n")

    def frames(self) -> list[Row]:
        """The table of the profile that is shown."""
        self.page.set_viewport_size(VIEW)
        self.page.keyboard.press("3")
        # The list of profiles is a table too, hidden until someone wants to choose.
        rows = self.page.locator("tr:has(td):visible")
        rows.first.wait_for()
        return [Row(name, total, own) for total, own, name in map(cells, rows.all_inner_texts())]

    def screenshot(self, path: Path) -> None:
        """The chart, in the order of time."""
        self.page.set_viewport_size({"width": 1600, "height": 1000})
        self.page.keyboard.press("1")
        self.page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        self.page.screenshot(path=path)


def cells(text: str) -> list[str]:
    """Of `2,281 (81%)  2,274 (80%)  name`, without the shares."""
    total, own, name = (part.strip() for part in text.split("\t"))
    return [total.partition(" (")[0], own.partition(" (")[0], name]
