"""Files of events that were made or changed by the user."""

from __future__ import annotations

import itertools
import json
import os

from mindtorch_v2._core import _write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindtorch_v2.autograd._events.function_event import FunctionEvent
    from mindtorch_v2.autograd._events.function_event_avg import FunctionEventAvg

STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

# What separates frames and lines, and what a frame may therefore not have.
_IN_FRAMES = str.maketrans(" ;\t\n\r", "_____")


def write_stacks(path: str | os.PathLike[str], events: Iterable[FunctionEvent | FunctionEventAvg], metric: str) -> None:
    """Write a line for each stack: frames from the outside in, joined by ";", a space, and whole microseconds."""
    stacks: dict[tuple[str, ...], float] = {}
    for event in events:
        if event.stack:
            stack = tuple(event.stack)
            stacks[stack] = stacks.get(stack, 0) + getattr(event, metric)
    _write(path, (_folded(stack, time_us) for stack, time_us in stacks.items() if time_us > 0))


def _folded(stack: tuple[str, ...], time_us: float) -> str:
    frames = ";".join(frame.translate(_IN_FRAMES) for frame in reversed(stack))
    # What took less than a microsecond is there, too.
    return f"{frames} {max(1, int(time_us))}\n"


def write_chrome_list(path: str | os.PathLike[str], events: Iterable[FunctionEvent], use_device: str | None) -> None:
    """Write the events that have a ``trace_name`` as a list of complete events, with the start of a flow per kernel."""
    texts = _chrome_texts(events, use_device or "cuda")
    first = next(texts, "")
    _write(path, itertools.chain([f"[{first}"], (f", {text}" for text in texts), ["]"]))


def file_name(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return the name of a file."""
    name = os.fsdecode(path)
    if "\0" in name:
        # As open() says it; the engine would report that the file cannot be created.
        raise ValueError("embedded null byte")
    return name


def _write(path: str | os.PathLike[str], texts: Iterable[str]) -> None:
    """Write texts to a file, which is as it was if one of them cannot be made."""
    _write_file(file_name(path), (text.encode("utf-8", "backslashreplace") for text in texts))


def _chrome_texts(events: Iterable[FunctionEvent], device: str) -> Iterator[str]:
    flows = 0
    for event in events:
        if event.trace_name is None:
            continue
        name, start, thread = json.dumps(event.trace_name), event.time_range.start, event.thread
        tid = f'" node_id:{event.node_id}, thread_id:{thread} "' if event.is_remote else thread
        yield (
            f'{{"name": {name}, "ph": "X", "ts": {start}, "dur": {event.time_range.elapsed_us()}, "tid": {tid}, '
            '"pid": "CPU functions", "args": {}}'
        )
        for _ in event.kernels:
            yield (
                f'{{"name": {name}, "ph": "s", "ts": {start}, "tid": {tid}, "pid": "CPU functions", '
                f'"id": {flows}, "cat": "cpu_to_{device}", "args": {{}}}}'
            )
            flows += 1
