"""PyTorch under both profilers: recorded, and made comparable."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from tests.profiler import differences

from mindtorch_v2 import profiler as ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Of an older version, it has less.
A_TORCH_EVENT = torch.autograd.profiler_util.FunctionEvent(0, "", 0, 0, 0)
IS_OLD = not hasattr(A_TORCH_EVENT, "is_python_function")
NO_OVERLOADS = not hasattr(A_TORCH_EVENT, "overload_name")
# What the run of a program decides.
RUN_ARGS = {"Ev Idx", "External id", "Record function id"}

# Of lists of tensors that are longer, torch's traces say nothing; its events do.
LONGEST_LIST = 30


@dataclass
class Both:
    """Two profilers that have recorded the same."""

    ours: Any
    theirs: Any


def ours_on_cpu(**options: Any) -> ours.profile:
    return ours.profile(activities=[ours.ProfilerActivity.CPU], **options)


def theirs_on_cpu(**options: Any) -> torch.profiler.profile:
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)


def recorded_together(run: Callable[[], object], *, overloads: bool = False) -> Both:
    """One run, with both profilers looking on."""
    options = {"record_shapes": True, "with_flops": True}
    # Older versions of PyTorch do not know of overloads.
    settings = {"capture_overload_names": True} if overloads else {}
    our_config, their_config = (library._ExperimentalConfig(**settings) for library in (ours, torch.profiler))
    with (
        ours_on_cpu(**options, experimental_config=our_config) as one,
        theirs_on_cpu(**options, experimental_config=their_config) as other,
    ):
        run()
    return Both(one, other)


class Renamed:
    """Numbers of threads by the order in which they come up, since each profiler has its own. 0 is none."""

    def __init__(self) -> None:
        self._known = {0: 0}

    def __call__(self, thread: int) -> int:
        return self._known.setdefault(thread, len(self._known))


def facts(prof: Any) -> list[dict[str, Any]]:
    """All that an event has but times and ids; the parent is a place in the list."""
    events = list(prof.events())
    places = {event: place for place, event in enumerate(events)}
    thread = Renamed()
    same = (
        "name", "trace_name", "key", "overload_name", "input_shapes", "structured_input_shapes", "input_dtypes",
        "structured_input_strides", "concrete_inputs", "kwinputs", "sequence_nr", "scope", "flops", "count", "is_async",
        "is_user_annotation", "is_python_function", "is_remote", "is_legacy", "activity_type", "node_id", "use_device",
    )  # fmt: skip
    return [
        {name: getattr(event, name) for name in same if hasattr(A_TORCH_EVENT, name)}
        | {
            "parent": None if event.cpu_parent is None else places[event.cpu_parent],
            "thread": thread(event.thread),
            "forward thread": thread(event.fwd_thread),
        }
        for event in events
    ]


def exported(prof: Any, directory: Path) -> dict[str, Any]:
    path = directory / "trace.json"
    prof.export_chrome_trace(str(path))
    trace: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return trace


def spans(trace: dict[str, Any], *categories: str) -> list[dict[str, Any]]:
    """The complete events of some categories, thread by thread in the order of time."""
    found = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] in categories]
    return sorted(found, key=lambda span: (span["tid"], span["ts"], -span["dur"]))


def shown(span: dict[str, Any]) -> dict[str, Any]:
    """What a trace says of a span but its times and ids. The number of a thread is the system's."""
    left_out = RUN_ARGS | differences.names("Only in our traces")
    args = {key: value for key, value in span["args"].items() if key not in left_out}
    for key in args.keys() & {"Input Dims", "Input Strides"}:
        args[key] = [[] if len(sizes) > LONGEST_LIST else sizes for sizes in args[key]]
    if "Concrete Inputs" in args:
        args["Concrete Inputs"] = [_value(text) for text in args["Concrete Inputs"]]
    return {"name": span["name"], "cat": span["cat"], "tid": span["tid"], "args": args}


def _value(text: str) -> Any:
    """A value that is written: digits that a number does not need are no difference."""
    return text if text in {"", "inf", "-inf"} else ast.literal_eval(text)
