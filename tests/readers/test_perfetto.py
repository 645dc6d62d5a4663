"""Perfetto's page opens our files as it opens torch's, and its trace processor gives the same answers about them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.compare import check
from tests.readers import perfetto_ui, trees
from tests.readers.files import compressed, events_of
from tests.readers.perfetto_ui import PerfettoUi

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.readers.conftest import Servers, Traces

Open = "Callable[[Path], PerfettoUi]"
SPANS = (
    "select id, parent_id, iif(category in ('cpu_op', 'user_annotation'), name, '') as name from slice order by ts, id"
)

ON_THREADS = (
    "select tid, slice.name, category, dur from slice join thread_track on track_id = thread_track.id"
    " join thread using (utid) join process using (upid)"
)


@pytest.fixture
def show(page: Page, serve: Servers) -> Open:
    address = serve(perfetto_ui.FILES)
    return lambda path: PerfettoUi(page, address, path)


def check_answers(ui: PerfettoUi, events: list[dict[str, Any]]) -> None:
    """That nothing was refused, and every span and arrow of the file is there, on its thread and with its times."""
    assert ui.import_errors() == []
    spans = [event for event in events if event["ph"] in {"X", "i"}]
    # Threads of the processes that the file has only as names, such as Spans, are given numbers.
    real = [span for span in spans if isinstance(span["pid"], int)]
    expected = Counter((span["tid"], span["name"], span["cat"], length_ns(span)) for span in real)
    pids = ", ".join({str(span["pid"]) for span in real})
    assert Counter(ui.query(f"{ON_THREADS} where pid in ({pids})")) == expected
    assert ui.query("select count(*) as number from slice") == [(len(spans),)]
    assert ui.query("select count(*) as number from flow") == [(sum(event["ph"] == "s" for event in events),)]


def length_ns(span: dict[str, Any]) -> int:
    return round(span.get("dur", 0) * 1000)


@pytest.mark.parametrize(("program", "operator"), [("steps", "aten::addmm"), ("threads", "aten::mm")])
def test_both_libraries_files_answer_alike(
    traces: Traces, show: Open, screenshots: Path, program: str, operator: str
) -> None:
    answers = []
    for directory in (traces.torch, traces.ours):
        path = directory / f"{program}.json"
        ui = show(path)
        check_answers(ui, events_of(path))
        answers.append(trees.planted(ui.query(SPANS)))
        ui.expand()
        assert ui.search(operator) == sum(event["name"] == operator for event in events_of(path))
        ui.screenshot(screenshots / f"perfetto_{program}_{directory.name}.png")
    check(*answers, trees.RULES, program)


def test_nothing_is_lost_with_stacks_and_memory(traces: Traces, show: Open) -> None:
    """Of torch's file some spans are: functions and operators in it overlap by the nanoseconds of two clocks."""
    path = traces.ours / "adam.json"
    check_answers(show(path), events_of(path))


def test_steps_on_the_device_are_drawn(traces: Traces, show: Open, screenshots: Path) -> None:
    path = compressed(traces.npu, "steps")
    ui = show(path)
    events = events_of(path)
    check_answers(ui, events)
    kernels = {event["args"]["correlation"]: event["name"] for event in events if event.get("cat") == "kernel"}
    arrows = ui.query(
        "select launch.name as launch, kernel.name as kernel from flow"
        " join slice launch on launch.id = slice_out join slice kernel on kernel.id = slice_in"
        " where kernel.category = 'kernel'"
    )
    assert Counter(kernel for _, kernel in arrows) == Counter(kernels.values())
    assert {launch for launch, _ in arrows} <= {event["name"] for event in events if "_runtime" in event.get("cat", "")}
    ui.expand()
    ui.screenshot(screenshots / "perfetto_steps_npu.png")
    assert ui.search("aten::addmm") == sum(event["name"] == "aten::addmm" for event in events)
    ui.screenshot(screenshots / "perfetto_found_npu.png")


@pytest.mark.parametrize(("program", "device"), [("steps", "npu"), ("adam", "cpu")])
def test_a_file_in_perfettos_own_format_has_the_same_content(
    recorded: Callable[..., Any], show: Open, tmp_path: Path, screenshots: Path, program: str, device: str
) -> None:
    """The same recording, in both formats: the same spans with the same names, times, nesting and arrows."""
    prof = recorded(program, device)
    chrome, native = tmp_path / "trace.json", tmp_path / "trace.pftrace"
    prof.export_chrome_trace(chrome)
    prof.export_perfetto_trace(native)
    questions = [
        "select name, category, dur, depth from slice where category is not null and category not in"
        " ('Trace', 'cpu_instant_event') order by ts, depth, name",
        "select source.name as source, target.name as target from flow join slice source on source.id = slice_out"
        " join slice target on target.id = slice_in order by source.ts, target.ts",
    ]
    answers = []
    for path in (chrome, native):
        ui = show(path)
        assert ui.import_errors() == []
        answers.append([ui.query(question) for question in questions])
    ui.expand()
    ui.screenshot(screenshots / f"perfetto_pftrace_{program}_{device}.png")
    assert answers[0] == answers[1]
