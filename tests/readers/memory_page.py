"""The page of the memory timeline, put together as its writer does, from data whose every number is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PARTS = Path(__file__).parents[2] / "crates" / "mindtorch-profiler" / "src" / "export" / "timeline" / "page"
SCRIPTS = ("text.js", "series.js", "drawing.js", "chart.js", "blocks.js", "page.js")
CATEGORIES = [
    "Parameter",
    "Optimizer state",
    "Input",
    "Temporary",
    "Activation",
    "Gradient",
    "Autograd detail",
    "Unknown",
]
MIB = 1024 * 1024


def filled(data: dict[str, Any]) -> str:
    head, rest = (PARTS / "page.html").read_text(encoding="utf-8").split("/*STYLE*/")
    before, rest = rest.split("/*DATA*/")
    between, tail = rest.split("/*SCRIPT*/")
    style = (PARTS / "page.css").read_text(encoding="utf-8")
    script = "".join((PARTS / name).read_text(encoding="utf-8") for name in SCRIPTS)
    # No name may end the element that the data is in.
    written = json.dumps(data).replace("<", "\\u003c")
    return head + style + before + written + between + script + tail


def timeline(times: list[int], sizes: list[list[int]], duration: int) -> dict[str, Any]:
    """Data without blocks: its peak is left out as one."""
    totals = [sum(at) for at in zip(*sizes, strict=True)]
    peak = totals.index(max(totals))
    return {
        "title": "Memory of a test",
        "device": "cpu",
        "start_epoch_ns": "1760000000123456789",
        "duration_ns": duration,
        "categories": CATEGORIES,
        "times_ns": times,
        "sizes": sizes,
        "peak": {
            "at_ns": times[peak],
            "bytes": totals[peak],
            "blocks": [],
            "blocks_left_out": {"count": 1, "bytes": totals[peak]},
        },
        "steps": [],
    }


def ten_states() -> dict[str, Any]:
    """A millisecond of ten states of all categories, the seventh the largest, and the blocks that it was made of."""
    times = [index * 100_000 for index in range(10)]
    sizes = [
        [(1 + index * (category + 3) % 7 + 4 * (index == 6)) * MIB + category for index in range(10)]
        for category in range(8)
    ]
    data = timeline(times, sizes, 1_000_000)
    data["steps"] = [{"number": 3, "start_ns": 100_000}, {"number": 4, "start_ns": 500_000}]
    data["peak"]["blocks"] = sorted(
        (block for category in range(8) for block in two_blocks(category, sizes[category][6])),
        key=lambda block: -int(block["bytes"]),
    )
    data["peak"]["blocks_left_out"] = {"count": 0, "bytes": 0}
    return data


def two_blocks(category: int, size: int) -> list[dict[str, Any]]:
    """A small block of long ago and a large one of just now."""
    small = size // 4 - category * 1000
    before = category < 2
    frames = [f"layer_{category % 3}.py(7): forward", "train.py(12): step", "train.py(30): <module>"]
    return [
        {
            "address": f"0x7f{category}00",
            "bytes": small,
            "category": category,
            "allocated_ns": None if before else 10_000 * category,
            "freed_ns": None,
            "operator": "" if before else "aten::empty",
            "stack": [] if before else frames,
        },
        {
            "address": f"0x7f{category}80",
            "bytes": size - small,
            "category": category,
            "allocated_ns": 600_000 - 1000 * category,
            "freed_ns": 700_000,
            "operator": f"aten::mm_{category % 2}",
            "stack": frames,
        },
    ]


def spike() -> tuple[dict[str, Any], int]:
    """Twenty thousand states, of which one, for a thousand-millionth of the time, is larger than all others."""
    times = [index * 50_000 for index in range(20_000)]
    sizes = [[MIB + (index * 7919 * (category + 1)) % MIB for index in range(20_000)] for category in range(8)]
    index = 12_347
    times[index + 1] = times[index] + 1
    sizes[4][index] = 64 * MIB
    return timeline(times, sizes, 1_000_000_000), index


def bytes_text(size: int) -> str:
    for name, unit in (("GiB", 1024**3), ("MiB", MIB), ("KiB", 1024)):
        if size >= unit:
            value = size / unit
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {name}"
    return f"{size} bytes"
