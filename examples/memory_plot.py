"""A picture of how much memory a training takes, from figures that the program reads between the parts of its steps.

The profiler does not hand out what it records of memory yet. When it does, its record replaces these samples.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

import mindtorch_v2 as torch

WIDTH, HEIGHT, LEFT, TOP = 900, 220, 80, 50
MIB = 1 << 20


class Sample(NamedTuple):
    """How much memory was in use when a part of a step had ended."""

    seconds: float
    size: int
    after: str


class Samples:
    """What was read on one device: the NPU's allocated bytes, or the resident size of the process."""

    def __init__(self, device: str) -> None:
        self.source = "npu: npu.memory_allocated()" if device == "npu" else "cpu: resident size of the process"
        self._size = torch.npu.memory_allocated if device == "npu" else resident_size
        self._start = time.perf_counter()
        self.taken: list[Sample] = []
        self.sample("the model is made")

    def sample(self, after: str) -> None:
        """Read the memory in use now."""
        self.taken.append(Sample(time.perf_counter() - self._start, self._size(), after))


def resident_size() -> int:
    """Return how many bytes of the process are in memory, by Linux's account."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def svg(devices: list[Samples]) -> str:
    """Draw the samples of each device, one below the other."""
    height = TOP + len(devices) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">Memory after each part of a training step: '
        "sampled by the program, not recorded by the profiler</text>",
    ]
    for number, samples in enumerate(devices):
        lines += [f'<g transform="translate({LEFT} {TOP + number * HEIGHT})">', *chart(samples), "</g>"]
    return "\n".join([*lines, "</svg>\n"])


def chart(samples: Samples) -> list[str]:
    """Draw one device's samples as a line, with a dot for each that tells about it."""
    width, height = WIDTH - LEFT - 20, HEIGHT - 60
    low, high = min(sample.size for sample in samples.taken), max(sample.size for sample in samples.taken)
    duration = samples.taken[-1].seconds or 1

    def place(sample: Sample) -> tuple[float, float]:
        return sample.seconds / duration * width, height - (sample.size - low) / (high - low or 1) * height

    lines = [f'<text x="0" y="-6" font-size="13">{samples.source}</text>']
    for level, size in ((0, high), (height, low)):
        lines += [
            f'<line x1="0" y1="{level}" x2="{width}" y2="{level}" stroke="#ccc"/>',
            f'<text x="-6" y="{level + 4}" font-size="11" text-anchor="end">{size / MIB:.1f} MiB</text>',
        ]
    lines.append(f'<text x="{width}" y="{height + 16}" font-size="11" text-anchor="end">{duration:.2f} s</text>')
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, samples.taken))
    lines.append(f'<polyline points="{points}" fill="none" stroke="#2060c0"/>')
    for sample in samples.taken:
        x, y = place(sample)
        tip = f"{sample.after}: {sample.size / MIB:.2f} MiB"
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#2060c0"><title>{tip}</title></circle>')
    return lines
