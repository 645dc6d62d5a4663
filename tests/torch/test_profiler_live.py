"""One program under torch's profiler and under ours, in one process: what they record is the same.

Names, order, nesting, counts, scopes, shapes, dtypes, strides, concrete inputs, flops, stacks, sequence numbers and
links are compared. What differs on purpose has a row in docs/differences.md and is left out by name.
"""

from __future__ import annotations

import functools
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.ops import run
from tests.ops.database import CASES
from tests.profiler import differences, trees
from tests.profiler.compare import check, first_difference
from tests.profiler.programs import (
    g01_mlp_sgd,
    g02_adam_memory,
    g03_annotations_threads,
    g04_with_stack,
    g05_flops,
    g06_schedule,
    g07_metadata,
    g08_observer_overloads_gc,
)
from tests.profiler.rules import CALLS, OPS, TRACES, for_layouts, for_program, needed

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.ops.op import Case
    from tests.profiler.compare import Node, Rules

LIBRARIES: tuple[Any, Any] = (torch, mindtorch_v2)

# Torch warns of results that are undefined, such as the variance of one number.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# The programs of the goldens: what to run, and the file whose frames are compared.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "g01": (g01_mlp_sgd.run, ""),
    "g01 fused": (functools.partial(g01_mlp_sgd.run, fused=True), ""),
    "g02": (functools.partial(g02_adam_memory.run, verbose=True), "g02_adam_memory.py"),
    "g02 small": (g02_adam_memory.run_small, ""),
    "g03": (functools.partial(g03_annotations_threads.run, all_threads=True), ""),
    "g04": (functools.partial(g04_with_stack.run, verbose=True), "g04_with_stack.py"),
    "g05": (g05_flops.run, ""),
    "g05 with shapes": (functools.partial(g05_flops.run, record_shapes=True), ""),
    "g07": (g07_metadata.run, ""),
    "g08 overloads": (g08_observer_overloads_gc.run_overloads, ""),
    "g08 collecting": (
        functools.partial(g08_observer_overloads_gc.run_collecting, verbose=True),
        "g08_observer_overloads_gc.py",
    ),
}

COMPARED = [case for case in CASES if CALLS.isdisjoint([case.op.name, str(case)])]
DIFFERENTIABLE = [
    case
    for case in COMPARED
    if case.differentiable and CALLS.isdisjoint([f"backward of {case.op.name}", f"backward of {case}"])
]
DRAWN = [case for case in COMPARED if case in DIFFERENTIABLE or not case.differentiable]


@pytest.mark.parametrize("name", PROGRAMS)
def test_events_of_programs(name: str) -> None:
    program, file = PROGRAMS[name]
    rules = for_program(name.split(maxsplit=1)[0])
    check(*(trees.of_events(program(lib).events(), file) for lib in LIBRARIES), rules, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_of_programs(name: str, tmp_path: Path) -> None:
    theirs, ours = (exported(PROGRAMS[name][0](lib), tmp_path) for lib in LIBRARIES)
    check(trees.of_trace(theirs), trees.of_trace(ours), TRACES, f"the trace of {name}")
    # Torch writes it for several processes only.
    assert ours["distributedInfo"]["world_size"] == 1
    assert sorted(ours.keys() - {"after_stop", "distributedInfo"}) == sorted(theirs)
    assert trees.kinds(ours) == trees.kinds(theirs)
    assert trees.arrows(ours) == trees.arrows(theirs)


def exported(prof: Any, directory: Path) -> dict[str, Any]:
    path = directory / "trace.json"
    prof.export_chrome_trace(str(path))
    trace: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return trace


@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_of_programs(name: str) -> None:
    """Every attribute of torch's events and averages is there, of the same type."""
    theirs, ours = (PROGRAMS[name][0](lib) for lib in LIBRARIES)
    for one, other in ((theirs.events(), ours.events()), (theirs.key_averages(), ours.key_averages())):
        known = {attribute for attribute in vars(one[0]) if not attribute.startswith("_")}
        assert [attribute for attribute in sorted(known) if not hasattr(other[0], attribute)] == []


def test_log_of_a_schedule() -> None:
    theirs, ours = (g06_schedule.run(lib) for lib in LIBRARIES)
    for entry in theirs:
        for key in entry.keys() & {"names", "events_after"}:
            entry[key] = [name for name in entry[key] if name not in OPS.absent]
        if "keys" in entry:
            entry["keys"] = [row for row in entry["keys"] if row[0] not in OPS.absent]
    assert ours == theirs


def recorded(lib: Any, work: Callable[[], Any], **options: Any) -> list[Node]:
    activities = [lib.profiler.ProfilerActivity.CPU]
    with lib.profiler.profile(activities=activities, record_shapes=True, with_flops=True, **options) as prof:
        work()
    return trees.of_events(prof.events())


def rules_for(*cases: Case) -> Rules:
    layouts = {spec.layout for case in cases for spec in case.sample.specs()}
    # A view that is used further may be as a transposed input is.
    return for_layouts(layouts | ({"transposed"} if len(cases) > 1 and any(case.op.view for case in cases) else set()))


def kept(record: Callable[[Any, Case], list[Node]]) -> Callable[[Any, Case], list[Node]]:
    """Record each case once: several tests look at it."""
    known: dict[tuple[str, str], list[Node]] = {}

    def once(lib: Any, case: Case) -> list[Node]:
        key = (lib.__name__, str(case))
        if key not in known:
            known[key] = record(lib, case)
        return known[key]

    return once


@kept
def forward(lib: Any, case: Case) -> list[Node]:
    inputs = run.build(lib, case)
    return recorded(lib, functools.partial(run.call, lib, case, inputs))


@kept
def backward(lib: Any, case: Case) -> list[Node]:
    inputs = run.build(lib, case, grad=True)
    total = run.weighted_sum(lib, run.call(lib, case, inputs), str(case))
    return [] if total is None else recorded(lib, total.backward)


@pytest.mark.parametrize("case", COMPARED, ids=str)
def test_calls(case: Case) -> None:
    check(*(forward(lib, case) for lib in LIBRARIES), rules_for(case), str(case))


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_backward(case: Case) -> None:
    check(*(backward(lib, case) for lib in LIBRARIES), rules_for(case), f"backward of {case}")


def at_random(lib: Any, cases: list[Case]) -> Callable[[], None]:
    """Some calls in annotations in annotations, then the gradients of all of them."""
    drawn = [(case, run.build(lib, case, grad=case.differentiable)) for case in cases]

    def call(case: Case, inputs: run.Inputs) -> list[Any]:
        with lib.profiler.record_function(f"call of {case.op.name}"):
            results = run.tensors_in(run.call(lib, case, inputs))
            return [(one * one).sum() for one in results if one.requires_grad and one.is_floating_point()]

    def program() -> None:
        with lib.profiler.record_function("forward"):
            totals = [total for case, inputs in drawn for total in call(case, inputs)]
        with lib.profiler.record_function("backward"):
            for total in totals:
                total.backward(retain_graph=True)

    return program


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_at_random(seed: int) -> None:
    cases = random.Random(seed).sample(DRAWN, 6)
    check(*(recorded(lib, at_random(lib, cases)) for lib in LIBRARIES), rules_for(*cases), f"program {seed}")


def test_every_row_about_a_call_is_needed() -> None:
    """A call stays out of the comparison only while it cannot be compared."""
    cases = [case for case in CASES if case not in DRAWN]
    differing: set[str] = set()
    for case in cases:
        ways = [(forward, "")] if case not in COMPARED else []
        ways += [(backward, "backward of ")] if case.differentiable and case not in DIFFERENTIABLE else []
        for record, way in ways:
            if differ(case, record):
                differing |= {f"{way}{case}", f"{way}{case.op.name}", str(case), case.op.name}
    assert sorted(CALLS - differing) == []


def differ(case: Case, record: Callable[[Any, Case], list[Node]]) -> bool:
    rules = rules_for(case)
    return first_difference(*(rules.apply(record(lib, case)) for lib in LIBRARIES)) is not None


def test_every_row_about_ops_is_needed() -> None:
    """A row stays only while some call or program needs it."""
    rows = {name for section in ("Steps that are not recorded", "Inside ops") for name in differences.names(section)}
    rows |= {f"{name} {fact}" for name, known in OPS.facts.items() for fact in known}
    found: set[str] = set()
    for cases, record in ((COMPARED, forward), (DIFFERENTIABLE, backward)):
        for case in cases:
            found |= needed(*(record(lib, case) for lib in LIBRARIES))
    for seed in SEEDS:
        program_cases = random.Random(seed).sample(DRAWN, 6)
        found |= needed(*(recorded(lib, at_random(lib, program_cases)) for lib in LIBRARIES))
    for program, file in PROGRAMS.values():
        found |= needed(*(trees.of_events(program(lib).events(), file) for lib in LIBRARIES))
    assert sorted(rows - found) == []
