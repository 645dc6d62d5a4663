"""A file that ours has read and written again says the same to its readers as it did before."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers import perfetto_ui
from tests.readers.conftest import CUDA
from tests.readers.files import events_of, parsed
from tests.readers.perfetto_ui import PerfettoUi
from tests.readers.programs import PROGRAMS

import mindtorch_v2

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.readers.conftest import Servers, Traces

torch: Any = mindtorch_v2


def spans_of(path: Path) -> Counter[tuple[Any, ...]]:
    """Every span, with the arguments that readers look at.

    Numbers that tie events together are given anew when a file is written, so that they stand for the event that has
    them: the operator of an external id, the work of a correlation.
    """
    spans = [event for event in events_of(path) if event["ph"] == "X" and event["cat"] != "Trace"]
    work = {"kernel", "gpu_memcpy", "gpu_memset"}
    operators, works = (
        {event["args"].get(key): (event["name"], event["ts"]) for event in spans if event["cat"] in categories}
        for key, categories in (("External id", {"cpu_op", "user_annotation"}), ("correlation", work))
    )
    # Not the parents of functions: they follow from times, and some of torch's end before what they contain does.
    keys = ("Sequence number", "bytes", "Python id", "device", "stream")

    def args(event: dict[str, Any]) -> Any:
        # A scope as the device saw it was launched by nobody, and torch says no more of it than that it was there.
        if event["cat"] == "gpu_user_annotation":
            return None
        found = event["args"]
        related = operators.get(found.get("External id")), works.get(found.get("correlation"))
        return *(found.get(key) for key in keys), *related

    return Counter(
        (*(event[key] for key in ("cat", "name", "pid", "tid", "ts", "dur")), args(event)) for event in spans
    )


def memory_of(path: Path) -> list[tuple[Any, ...]]:
    events = [event for event in events_of(path) if event["name"] == "[memory]"]
    keys = ("Bytes", "Total Allocated", "Device Type", "Device Id", "Addr")
    return sorted((event["ts"], *(event["args"][key] for key in keys)) for event in events)


def arrows_of(path: Path) -> Counter[tuple[Any, ...]]:
    """Arrows from one event to another. Torch also draws ends of arrows that come from nowhere."""
    starts, ends = (
        {
            (event["cat"], event["id"]): (event["pid"], event["tid"], event["ts"])
            for event in events_of(path)
            if event["ph"] == ph
        }
        for ph in ("s", "f")
    )
    return Counter((arrow[0], starts[arrow], ends[arrow]) for arrow in starts.keys() & ends.keys())


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("program", [*PROGRAMS, "cuda"])
def test_nothing_of_torchs_file_is_lost(traces: Traces, tmp_path: Path, program: str, suffix: str) -> None:
    source = CUDA / "steps.json.gz" if program == "cuda" else traces.torch / f"{program}.json"
    target = tmp_path / f"converted{suffix}"
    torch.profiler.Trace.load(source).export(target)
    assert spans_of(target) == spans_of(source)
    assert memory_of(target) == memory_of(source)
    assert arrows_of(target) == arrows_of(source)
    for key in ("schemaVersion", "deviceProperties", "baseTimeNanoseconds"):
        assert parsed(target)[key] == parsed(source)[key]


@pytest.mark.parametrize("program", ["threads", "cuda"])
def test_torchs_file_in_perfettos_format(
    traces: Traces, page: Page, serve: Servers, tmp_path: Path, screenshots: Path, program: str
) -> None:
    source = CUDA / "steps.json.gz" if program == "cuda" else traces.torch / f"{program}.json"
    target = tmp_path / "converted.pftrace"
    torch.profiler.Trace.load(source).export(target)
    ui = PerfettoUi(page, serve(perfetto_ui.FILES), target)
    assert ui.import_errors() == []
    found = ui.query("select name, dur from slice where category is not null and category != 'Trace'")
    spans = [event for event in events_of(source) if event["ph"] == "X" and event["cat"] != "Trace"]
    assert Counter(found) == Counter((event["name"], round(event["dur"] * 1000)) for event in spans)
    ui.expand()
    ui.screenshot(screenshots / f"perfetto_converted_{program}.png")
