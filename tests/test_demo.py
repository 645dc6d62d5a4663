"""The demonstration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


def test_prints_a_table_and_writes_the_trace_it_names(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, DEMO], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    for name in ("forward", "backward", "optimizer", "load batch", "Self CPU time total"):
        assert name in run.stdout
    assert "demo-output/trace.json" in run.stdout
    trace = json.loads((tmp_path / "demo-output" / "trace.json").read_text(encoding="utf-8"))
    spans = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    loaders = {span["tid"] for span in spans if span["name"] == "load batch"}
    trainers = {span["tid"] for span in spans if span["name"] == "train step"}
    assert len(loaders) == len(trainers) == 1
    assert loaders != trainers
