"""Every public name of torch's profiler is in ours, with the same parameters, defaults, members and values.

What differs on purpose has a row in docs/differences.md, under "Names"; a row that no name needs is a mistake too.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.autograd.profiler
import torch.autograd.profiler_util
import torch.profiler
from tests.profiler import differences
from tests.torch import api

import mindtorch_v2
import mindtorch_v2.autograd.profiler
import mindtorch_v2.autograd.profiler_util
import mindtorch_v2.profiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MEANT = differences.names("Names")

# What programs import besides the names that are in `__all__`.
ALSO = {
    "profiler": [
        "_KinetoProfile", "_ExperimentalConfig", "RecordScope", "KinetoStepTracker", "Optimizer",
        "register_optimizer_step_post_hook", "is_fbcode", "_supported_activities", "itt", "_utils",
        "_memory_profiler", "profiler", "_optimizer_post_hook",
    ],
    "profiler.profiler": ["_KinetoProfile", "ProfilerActivity", "kineto_available", "PROFILER_STEP_NAME"],
    "autograd.profiler": ["_is_profiler_enabled", "DeviceType", "kineto_available", "ProfilerActivity"],
}  # fmt: skip
MODULES = ["profiler", "profiler.profiler", "profiler.itt", "autograd.profiler", "autograd.profiler_util"]


def found(library: Any, name: str) -> Any:
    value = library
    for part in name.split("."):
        value = getattr(value, part)
    return value


@functools.cache
def walked() -> dict[str, list[api.Problem]]:
    """The problems of each module."""
    walk = api.Walk()
    problems: dict[str, list[api.Problem]] = {}
    for module in MODULES:
        theirs = found(torch, module)
        names = [*theirs.__all__, *ALSO.get(module, [])]
        problems[module] = list(walk.modules(f"torch.{module}", theirs, found(mindtorch_v2, module), names))
    return problems


# An object of each class, made as users make it.
OBJECTS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "profiler.profile": (
        lambda lib: lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]),
        ["_trace_metadata", "_prev_schedule_action"],
    ),
    "profiler._KinetoProfile": (
        lambda lib: lib.profiler._KinetoProfile(activities=[lib.profiler.ProfilerActivity.CPU]),
        ["_trace_metadata"],
    ),
    "profiler.record_function": (lambda lib: lib.profiler.record_function("a name", "an argument"), []),
    "profiler.ExecutionTraceObserver": (lambda lib: lib.profiler.ExecutionTraceObserver(), []),
    "profiler.ProfilerActivityConfig": (lambda lib: lib.profiler.ProfilerActivityConfig(), []),
    "profiler.PerformanceMetricsConfig": (lambda lib: lib.profiler.PerformanceMetricsConfig(metric_names=["a"]), []),
    "profiler.CuspyConfig": (lambda lib: lib.profiler.CuspyConfig(), []),
    "autograd.profiler.profile": (lambda lib: lib.autograd.profiler.profile(use_kineto=True), []),
    "autograd.profiler.emit_itt": (lambda lib: lib.autograd.profiler.emit_itt(), []),
    "autograd.profiler.emit_nvtx": (lambda lib: lib.autograd.profiler.emit_nvtx(), []),
    "autograd.profiler_util.EventList": (
        lambda lib: lib.autograd.profiler_util.EventList([]),
        ["_use_device", "_profile_memory", "_with_flops", "_tree_built"],
    ),
    "autograd.profiler_util.FunctionEvent": (
        lambda lib: lib.autograd.profiler_util.FunctionEvent(7, "a name", 1, 10, 20),
        [],
    ),
    "autograd.profiler_util.FunctionEventAvg": (lambda lib: lib.autograd.profiler_util.FunctionEventAvg(), []),
    "autograd.profiler_util.Interval": (lambda lib: lib.autograd.profiler_util.Interval(3, 5), []),
}


def made(name: str) -> Iterator[api.Problem]:
    make, private = OBJECTS[name]
    yield from api.compare_objects(f"torch.{name}", make(torch), make(mindtorch_v2), private)


def unmeant(problems: Iterable[api.Problem]) -> str:
    return "\n".join(str(problem) for problem in problems if problem.name not in MEANT)


@pytest.mark.parametrize("module", MODULES)
def test_names_signatures_and_defaults_are_torchs(module: str) -> None:
    problems = unmeant(walked()[module])
    assert not problems, problems


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_have_torchs_attributes_and_values(name: str) -> None:
    problems = unmeant(made(name))
    assert not problems, problems


def test_every_row_about_a_name_is_needed() -> None:
    names = {problem.name for problems in walked().values() for problem in problems}
    names |= {problem.name for name in OBJECTS for problem in made(name)}
    assert sorted(MEANT - names) == []


def test_a_schedule_is_a_function_of_the_step() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in ({"wait": 1, "warmup": 0, "active": 2, "repeat": 2}, {"wait": 0, "warmup": 1, "active": 1}):
            one, other = (lib.profiler.schedule(**arguments) for lib in (torch, mindtorch_v2))
            assert [one(step).name for step in range(9)] == [other(step).name for step in range(9)]
