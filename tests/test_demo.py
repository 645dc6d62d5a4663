"""The demonstration."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return what the demonstration printed and where it wrote its files."""
    directory = tmp_path_factory.mktemp("demo")
    run = subprocess.run([sys.executable, DEMO], cwd=directory, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout, directory


def test_prints_a_table_for_each_device(output: tuple[str, Path]) -> None:
    printed, _ = output
    tables = printed.split("Where the time went on ")[1:]
    assert [table.partition(":")[0] for table in tables] == ["cpu", "npu"]
    for table in tables:
        assert "# of Calls" in table
        assert "Self CPU time total" in table


def test_every_line_fits_a_terminal_of_120_columns(output: tuple[str, Path]) -> None:
    printed, _ = output
    assert [line for line in printed.splitlines() if len(line) > 120] == []


def test_ends_with_what_to_do_next_the_report_first(output: tuple[str, Path]) -> None:
    printed, directory = output
    _, _, steps = printed.partition("What to do next:\n")
    paths = [line.strip() for line in steps.splitlines() if line.strip().startswith("demo-output/")]
    kinds = ["report", "report", "trace", "trace"]
    assert [Path(path).name.partition("-")[0] for path in paths][: len(kinds)] == kinds
    assert sorted(paths) == sorted(str(path.relative_to(directory)) for path in directory.glob("demo-output/*"))
    assert steps.index("Open the report in a browser") < steps.index("report-cpu.html")
    assert steps.index("https://ui.perfetto.dev") < steps.index("trace-cpu.json.gz")


def test_make_demo_runs_it_last() -> None:
    makefile = (DEMO.parents[1] / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe.splitlines()[-1].endswith("python examples/demo.py")


def test_learns_the_same_on_each_device(output: tuple[str, Path]) -> None:
    printed, _ = output
    cpu, npu = (line.partition("; ")[2] for line in printed.splitlines() if "; loss from " in line)
    assert cpu == npu


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_writes_the_trace_that_it_names(output: tuple[str, Path], device: str) -> None:
    printed, directory = output
    name = f"demo-output/trace-{device}.json.gz"
    assert name in printed
    trace = json.loads(gzip.decompress((directory / name).read_bytes()))
    annotations = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    for part in ("load batch", "forward", "backward", "optimizer"):
        assert annotations.count(part) == 8


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_draws_time_and_memory_of_each_device(output: tuple[str, Path], device: str) -> None:
    printed, directory = output
    for name in (f"demo-output/flames-{device}.svg", f"demo-output/memory-{device}.html"):
        assert name in printed
    picture = ET.fromstring((directory / f"demo-output/flames-{device}.svg").read_text(encoding="utf-8"))
    titles = [title.text or "" for title in picture.findall(".//{*}title")]
    assert any("forward" in title for title in titles)
    page = (directory / f"demo-output/memory-{device}.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["device"].startswith(device)
    assert json.loads(data)["peak"]["bytes"] > 0
