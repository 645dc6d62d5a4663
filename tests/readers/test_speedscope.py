"""speedscope opens our stacks and our own format of its kind, and shows what is in them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers import speedscope_ui
from tests.readers.speedscope_ui import SpeedscopeUi

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.readers.conftest import Servers


@pytest.fixture
def show(page: Page, serve: Servers) -> Callable[[Path], SpeedscopeUi]:
    address = serve(speedscope_ui.FILES)
    return lambda path: SpeedscopeUi(page, address, path)


def grouped(number: int) -> str:
    return f"{number:,}"


@pytest.mark.parametrize("program", ["stacks", "adam"])
def test_folded_stacks_are_shown(
    recorded: Callable[..., Any],
    show: Callable[[Path], SpeedscopeUi],
    tmp_path: Path,
    screenshots: Path,
    program: str,
) -> None:
    path = tmp_path / "stacks.txt"
    recorded(program).export_stacks(path, "self_cpu_time_total")
    total, own = Counter[str](), Counter[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        stack, _, value = line.rpartition(" ")
        frames = stack.split(";")
        own[frames[-1]] += int(value)
        for frame in set(frames):
            total[frame] += int(value)
    ui = show(path)
    assert ui.profiles() == 1
    assert {(row.name, row.total, row.own) for row in ui.frames()} == {
        (name, grouped(number), grouped(own[name])) for name, number in total.items()
    }
    assert ui.complaints == []
    ui.screenshot(screenshots / f"speedscope_folded_{program}.png")


@pytest.mark.parametrize(("program", "device"), [("threads", "cpu"), ("steps", "npu"), ("adam", "cpu")])
def test_our_speedscope_file_is_shown(
    recorded: Callable[..., Any],
    show: Callable[[Path], SpeedscopeUi],
    tmp_path: Path,
    screenshots: Path,
    program: str,
    device: str,
) -> None:
    """Every profile in it, with the frames that the file gives it."""
    path = tmp_path / "trace.speedscope.json"
    recorded(program, device).export_speedscope(path)
    written = json.loads(path.read_text(encoding="utf-8"))
    names = [frame["name"] for frame in written["shared"]["frames"]]
    ui = show(path)
    assert ui.profiles() == len(written["profiles"])
    for profile in written["profiles"]:
        if profile["type"] == "evented":
            used = {names[event["frame"]] for event in profile["events"]}
        else:
            used = {names[frame] for sample in profile["samples"] for frame in sample}
        assert {row.name for row in ui.frames()} == used, profile["name"]
        ui.next_profile()
    assert ui.complaints == []
    ui.screenshot(screenshots / f"speedscope_{program}_{device}.png")
