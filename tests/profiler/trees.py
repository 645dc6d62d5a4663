"""Makes trees to compare of what a profiler gives: events, stored events, a Chrome trace."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.profiler import differences
from tests.profiler.compare import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# What is compared of an event as it is. Its flow, its sequence number and its stack are made comparable below.
PLAIN = (
    "trace_name", "key", "overload_name", "count", "scope", "activity_type", "is_async", "is_remote", "is_legacy",
    "is_user_annotation", "is_python_function", "node_id", "use_device", "input_shapes", "structured_input_shapes",
    "structured_input_strides", "input_dtypes", "concrete_inputs", "kwinputs", "flops", "cpu_memory_usage",
    "self_cpu_memory_usage",
)  # fmt: skip
# What calls a program: its module when it is a script, a function when it is one of ours.
OUTERMOST = ("<module>", "run")
# What the work of the garbage collector is called, among the calls of functions.
COLLECTOR = "Python GC"
# A frame as torch writes it: `directory/file.py(12): function`.
FRAME = re.compile(r"(?:.*/)?(?P<file>[^/]+)\((?P<line>\d+)\): (?P<function>.*)")


def of_events(events: Iterable[Any], program: str = "", *, lines: bool = True) -> list[Node]:
    """Of `prof.events()`. `program` is the file that holds the program, whose frames are compared."""
    listed = list(events)
    place = {event: number for number, event in enumerate(listed)}
    parents = [None if event.cpu_parent is None else place[event.cpu_parent] for event in listed]
    return planted(listed, parents, getattr, Frames(program, lines))


def of_stored(events: Sequence[dict[str, Any]], program: str = "") -> list[Node]:
    """Of the events that a golden holds: the same attributes, and places in the list for parents.

    The program had other lines then.
    """
    parents = [event["cpu_parent"] for event in events]
    return planted(events, parents, dict.__getitem__, Frames(program, lines=False))


class Frames:
    """Makes frames comparable: those of the program and its modules have names, those of the library have none."""

    def __init__(self, program: str, lines: bool) -> None:
        self.program = program
        self.lines = lines

    def name(self, frame: str) -> str:
        if frame.startswith("nn.Module: ") or frame == COLLECTOR:
            return frame
        found = FRAME.fullmatch(frame)
        if not found or found["file"] != self.program or found["function"] in OUTERMOST:
            return ""
        return f"{found['function']} in line {found['line']}" if self.lines else found["function"]

    def stack(self, frames: Iterable[str]) -> list[str]:
        return [name for frame in frames if (name := self.name(frame))]


def planted(
    events: Sequence[Any], parents: Sequence[int | None], read: Callable[[Any, str], Any], frames: Frames
) -> list[Node]:
    """The trees, thread by thread in the order of their first events.

    Sequence numbers count from the first of a thread. A frame of the library has no name, and so can be left out.
    """
    first: dict[int, int] = {}
    for event in events:
        thread, number = read(event, "thread"), read(event, "sequence_nr")
        if number >= 0:
            first[thread] = min(number, first.get(thread, number))
    ends = flow_ends(events, read)
    children: dict[int | None, list[int]] = {}
    for number, parent in enumerate(parents):
        children.setdefault(parent, []).append(number)

    def plant(number: int) -> Node:
        event = events[number]
        inside = tuple(plant(child) for child in children.get(number, ()))
        if read(event, "activity_type") == "python_function":
            known = {"is_python_function": read(event, "is_python_function")}
            return Node(frames.name(read(event, "name")), known, inside)
        found = {fact: read(event, fact) for fact in PLAIN}
        found["sequence"] = max(read(event, "sequence_nr") - first.get(read(event, "thread"), 0), -1)
        found["is_backward"] = read(event, "fwd_thread") != 0
        found["flow"] = ends.get(number)
        found["stack"] = frames.stack(read(event, "stack"))
        return Node(read(event, "name"), found, inside)

    threads = list(dict.fromkeys(read(event, "thread") for event in events))
    roots = children.get(None, [])
    return [plant(root) for thread in threads for root in roots if read(events[root], "thread") == thread]


def flow_ends(events: Sequence[Any], read: Callable[[Any, str], Any]) -> dict[int, str]:
    """For each event that an arrow leaves or reaches, the name at the other end."""
    ends: dict[int, list[int]] = {}
    for number, event in enumerate(events):
        if read(event, "flow_id"):
            ends.setdefault(read(event, "flow_id"), []).append(number)
    named: dict[int, str] = {}
    for numbers in ends.values():
        for number in numbers:
            way = "to" if read(events[number], "flow_start") else "from"
            others = [read(events[other], "name") for other in numbers if other != number]
            named[number] = f"{way} {', '.join(others)}"
    return named


# In a trace: what a run decides, and what a path or an address is part of.
RUN_ARGS = {
    "External id", "Record function id", "Ev Idx", "Python id", "Python parent id", "Python module id", "Addr",
    "Call stack", "CallFrom", "Python thread", "Sequence number", "Fwd thread id", "Total Allocated",
}  # fmt: skip


ONLY_OURS = "Only in our traces"


def of_trace(trace: dict[str, Any], categories: Iterable[str] = ("cpu_op", "user_annotation")) -> list[Node]:
    """Of an exported trace: complete events of these categories, nested by time, thread by thread."""
    wanted = set(categories)
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] in wanted]
    spans.sort(key=lambda span: (span["ts"], -span["dur"]))
    roots: list[Node] = []
    for thread in dict.fromkeys(span["tid"] for span in spans):
        roots += nested([span for span in spans if span["tid"] == thread])
    return roots


def kinds(trace: dict[str, Any]) -> dict[str, list[str]]:
    """The fields of each kind of entry, in order, by phase and category or name."""
    return {f"{event['ph']} {event.get('cat', event['name'])}": list(event) for event in trace["traceEvents"]}


def arrows(trace: dict[str, Any], category: str = "fwdbwd") -> list[tuple[str, str]]:
    """The names of the spans at the two ends of each arrow, in the order of their ends."""
    spans = {(event["tid"], event["ts"], event["name"]): event for event in trace["traceEvents"] if event["ph"] == "X"}
    ends: dict[tuple[int, str], str] = {}
    last = ""
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            last = event["name"]
        elif event.get("cat") == category:
            # An arrow is written after the span that it belongs to, and has its thread and time.
            assert (event["tid"], event["ts"], last) in spans, event
            ends[event["id"], event["ph"]] = last
    return [(ends[number, "s"], ends[number, "f"]) for number in sorted({number for number, _ in ends})]


def nested(spans: Sequence[dict[str, Any]]) -> list[Node]:
    children: dict[int | None, list[int]] = {}
    around: list[int] = []
    # In whole nanoseconds before they are added: the sum of two floating-point numbers of this size can be off by one.
    starts = [round(span["ts"] * 1000) for span in spans]
    ends = [start + round(span["dur"] * 1000) for start, span in zip(starts, spans, strict=True)]
    for number, start in enumerate(starts):
        while around and not (start < ends[around[-1]] and ends[number] <= ends[around[-1]]):
            around.pop()
        children.setdefault(around[-1] if around else None, []).append(number)
        around.append(number)

    def plant(number: int) -> Node:
        span = spans[number]
        args = {name: value for name, value in span["args"].items() if name not in differences.names(ONLY_OURS)}
        known = {name: value for name, value in args.items() if name not in RUN_ARGS}
        facts = {"cat": span["cat"], "fields": list(span), "args": sorted(args), **known}
        facts["is_user_annotation"] = span["cat"] == "user_annotation"
        return Node(span["name"], facts, tuple(plant(child) for child in children.get(number, ())))

    return [plant(root) for root in children.get(None, ())]
