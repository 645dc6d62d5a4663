"""Files of events that were made or changed by the user."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

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
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
        for stack, time_us in stacks.items():
            if time_us > 0:
                frames = ";".join(frame.translate(_IN_FRAMES) for frame in reversed(stack))
                # What took less than a microsecond is there, too.
                file.write(f"{frames} {max(1, int(time_us))}\n")


def write_chrome_list(path: str | os.PathLike[str], events: Iterable[FunctionEvent], use_device: str | None) -> None:
    """Write the events that have a ``trace_name`` as a list of complete events, with the start of a flow per kernel."""
    texts = _chrome_texts(events, use_device or "cuda")
    # Before the file is opened: what is no event is to leave a file that was there as it was.
    first = next(texts, "")
    with _opened(path) as file:
        file.write(f"[{first}")
        file.writelines(f", {text}" for text in texts)
        file.write("]")


def _opened(path: str | os.PathLike[str]) -> IO[str]:
    if os.fsdecode(path).endswith(".gz"):
        import gzip  # noqa: PLC0415 (few need it)

        return gzip.open(path, "wt", encoding="utf-8")
    return open(path, "w", encoding="utf-8")  # noqa: PTH123


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
