"""Traces as PyTorch writes them of a training on a GPU, of as many events as are wanted.

They are a recording of a small training, again and again: so many times in a step, at speeds that differ from time to
time as a machine's do. Every time has numbers of its own, by which kernels are found from their calls.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from typing import TYPE_CHECKING, Any

from benches.costs.machine import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "tests" / "data" / "readers" / "cuda" / "steps.json.gz"
STEPS = 100
"""HolisticTraceAnalysis looks at all events for each."""
NUMBERS = ("correlation", "External id", "Sequence number")
NUMBERS_APART = 1_000_000
APART_NS = 100_000
SPEEDS = 0.02
STEP = '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": %d, "tid": %d, "ts": %.3f, "dur": %.3f}'


class Source:
    """The recording, as a text with gaps for what differs from time to time."""

    def __init__(self, shorter: str | None = None) -> None:
        """The operator that is ``shorter`` takes nine tenths of its time."""
        trace = json.loads(gzip.decompress(SOURCE.read_bytes()))
        events = [event for event in trace.pop("traceEvents") if is_taken(event)]
        spans = [event for event in events if event["ph"] == "X"]
        self.head = trace
        self.about = [event for event in events if event["ph"] == "M"]
        self.step = next(event for event in spans if event["name"] == "forward")
        self.spans = len(spans)
        self.start_us = min(event["ts"] for event in spans)
        self.length_ns = round(1000 * (max(event["ts"] + event["dur"] for event in spans) - self.start_us))
        self.gaps: list[tuple[str, int, int]] = []
        """What is in each: a time and the length before it, or a number."""
        timed = [event for event in events if event["ph"] in "Xsf"]
        self.text = ",\n".join(self.template(event, 0.9 if event["name"] == shorter else 1.0) for event in timed)

    def template(self, event: dict[str, Any], share: float) -> str:
        """Return an event's text, with gaps."""
        begin = round(1000 * (event["ts"] - self.start_us))
        found: dict[str, Any] = {}
        # In the order of the text, which is that of the gaps.
        for key, value in event.items():
            if key == "ts":
                found[key] = self.gap("time", begin)
            elif key == "dur":
                found[key] = self.gap("length", begin, begin + round(1000 * value * share))
            elif key == "id":
                found[key] = self.gap("number", value)
            elif key == "args":
                found[key] = {name: self.gap("number", it) if name in NUMBERS else it for name, it in value.items()}
            else:
                found[key] = value
        text = json.dumps(found).replace("%", "%%")
        return text.replace('"<time>"', "%.3f").replace('"<length>"', "%.3f").replace('"<number>"', "%d")

    def gap(self, kind: str, value: int, end: int = 0) -> str:
        """Note what comes to the next place in the text; return what stands for it."""
        self.gaps.append((kind, value, end))
        return f"<{kind}>"

    def filled(self, number: int, start_ns: int, scale: float) -> str:
        """Return the events as they are at some time; what contains another still does."""
        fills: list[float] = []
        for kind, value, end in self.gaps:
            if kind == "number":
                fills.append(value + number * NUMBERS_APART)
            elif kind == "time":
                fills.append((start_ns + int(value * scale)) / 1000)
            else:
                # Ends are moved as beginnings are.
                fills.append((int(end * scale) - int(value * scale)) / 1000)
        return self.text % tuple(fills)


def is_taken(event: dict[str, Any]) -> bool:
    """Leave out what is about the whole recording: its frame and its steps."""
    return event.get("cat") != "Trace" and not event["name"].startswith("ProfilerStep#")


def write_trace(path: Path, events: int, seed: int = 0, shorter: str | None = None) -> int:
    """Write a trace with at least so many events that have a length; return how many those are."""
    source = Source(shorter)
    chance = random.Random(seed)  # noqa: S311 (for figures)
    times = -(-events // (source.spans * STEPS))
    now = APART_NS
    with path.open("w", encoding="utf-8") as file:
        file.write(head(source, 0))
        file.writelines(json.dumps(event) + ",\n" for event in source.about)
        for step in range(STEPS):
            begin = now
            for time_of in range(step * times, (step + 1) * times):
                scale = chance.lognormvariate(0, SPEEDS)
                file.write(source.filled(time_of, now, scale) + ",\n")
                now += int(source.length_ns * scale) + APART_NS
            place = (source.step["pid"], source.step["tid"])
            span = (begin / 1000 - 1, (now - begin) / 1000 - 10)
            file.write(STEP % (step, *place, *span) + (",\n" if step < STEPS - 1 else "\n]}\n"))
    return STEPS * (times * source.spans + 1)


def head(source: Source, rank: int) -> str:
    """Return what a file begins with."""
    about = {**source.head, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS}}
    about["baseTimeNanoseconds"] += rank * 1_234_567
    return json.dumps(about)[:-1] + ', "traceEvents": [\n'


RANKS = 16


def write_ranks(folder: Path, events: int) -> list[Path]:
    """Write the traces of all ranks, of so many events each, by clocks that are some milliseconds apart."""
    paths = [folder / f"rank{rank}.json" for rank in range(RANKS)]
    write_trace(paths[0], events)
    source = Source()
    for rank, path in enumerate(paths[1:], start=1):
        with paths[0].open("rb") as first, path.open("wb") as file:
            first.seek(len(head(source, 0)))
            file.write(head(source, rank).encode())
            shutil.copyfileobj(first, file)
    return paths
