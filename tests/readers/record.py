"""Runs every program under one library and writes its Chrome traces: ``record.py LIBRARY DEVICE DIRECTORY``.

In a process of its own, so that PyTorch can be recorded where it is installed and ours where its readers are.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import programs


def record(library: Any, device: str, directory: Path) -> None:
    """Write PROGRAM.json, and a directory for TensorBoard, in which each program is a worker."""
    for name, program in programs.PROGRAMS.items():
        handler = library.profiler.tensorboard_trace_handler(str(directory / "tensorboard"), name, use_gzip=True)
        path = str(directory / f"{name}.json")
        program(library, device, lambda prof, path=path: prof.export_chrome_trace(path))
        program(library, device, handler)


if __name__ == "__main__":
    library, device, directory = sys.argv[1:]
    if library == "mindtorch_v2":
        # Readers add times as floating-point numbers, which rounds fractions of a microsecond: whether a span that ends
        # together with the one around it seems to end later depends on the times. Whole microseconds are not rounded.
        importlib.import_module("mindtorch_v2._core")._use_manual_clock(1_000)
    record(importlib.import_module(library), device, Path(directory))
