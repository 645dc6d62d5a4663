"""One run under both profilers at once: what they say of it is the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler import trees
from tests.profiler.support import trace_of
from tests.torch.bridge import programs
from tests.torch.bridge.both import (
    IS_OLD,
    NO_OVERLOADS,
    Both,
    exported,
    facts,
    ours_on_cpu,
    recorded_together,
    shown,
    spans,
    theirs_on_cpu,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# TorchScript and quantized tensors are deprecated, other kinds of tensors are new.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning"),
    pytest.mark.filterwarnings("ignore:Failed to save extra arguments for flops computation:UserWarning"),
]

SPANS = ("cpu_op", "user_annotation")


@pytest.fixture(scope="module", params=programs.ALL, ids=lambda program: program.__name__)
def both(request: pytest.FixtureRequest) -> Both:
    """A program that has run before: what PyTorch does once only is done."""
    run: Callable[[], None] = request.param()
    run()
    return recorded_together(run)


@pytest.fixture(scope="module")
def traces(both: Both, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    directory = tmp_path_factory.mktemp("traces")
    return exported(both.ours, directory), exported(both.theirs, directory)


def test_events(both: Both) -> None:
    ours, theirs = facts(both.ours), facts(both.theirs)
    assert [event["name"] for event in ours] == [event["name"] for event in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one == other
    assert len(ours) > 20


@pytest.mark.parametrize("by_shape", [False, True])
def test_averages(both: Both, by_shape: bool) -> None:
    ours, theirs = (
        [
            (row.key, row.count, row.input_shapes, row.flops, row.is_user_annotation, row.is_async, row.scope)
            for row in prof.key_averages(group_by_input_shape=by_shape)
        ]
        for prof in (both.ours, both.theirs)
    )
    assert ours == theirs
    assert len(ours) > 5


def test_traces(traces: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = (spans(trace, *SPANS) for trace in traces)
    assert [span["name"] for span in ours] == [span["name"] for span in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert shown(one) == shown(other)


def test_arrows(traces: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = (trees.arrows(trace) for trace in traces)
    assert ours == theirs


def test_some_program_has_arrows_annotations_and_flops() -> None:
    """What the programs are compared by, they have."""
    prof = recorded_together(programs.mlp()).ours
    events = facts(prof)
    assert any(event["flops"] for event in events)
    assert any(event["is_user_annotation"] for event in events)
    assert any(event["forward thread"] for event in events)
    assert any(0.1 in event["concrete_inputs"] for event in events)


@pytest.mark.skipif(NO_OVERLOADS, reason="this version of PyTorch has no overloads")
@pytest.mark.parametrize("program", [programs.transformer, programs.autocast], ids=lambda program: program.__name__)
def test_overloads(program: Callable[[], Callable[[], None]]) -> None:
    run = program()
    run()
    both = recorded_together(run, overloads=True)
    ours, theirs = facts(both.ours), facts(both.theirs)
    assert ours == theirs
    assert len({event["overload_name"] for event in ours}) > 3

    def rows(prof: Any) -> list[tuple[str, str, int]]:
        grouped = prof.key_averages(group_by_overload_name=True)
        return [(row.key, row.overload_name, row.count) for row in grouped]

    assert rows(both.ours) == rows(both.theirs)


def scopes_with_inputs() -> None:
    tensor = torch.ones(2, 3)
    with torch.profiler.record_function("plain"):
        pass
    with torch.profiler.record_function("with a text", "the text"):
        tensor.sum()
    with torch._C._profiler._RecordFunctionFast("fast"):
        tensor.sum()
    with torch._C._profiler._RecordFunctionFast("fast with inputs", [tensor, 4, "text", 1.5, True, [1, 2], None]):
        tensor.sum()
    keywords = {"number": 4, "text": "kernel.py", "half": 0.5, "flag": True, "files": ["a", "b"], "none": []}
    with torch._C._profiler._RecordFunctionFast("fast with keywords", [tensor], keywords):
        tensor.sum()
    with torch._C._profiler._RecordFunctionFast("fast with keywords only", [], {"stream": 0}):
        tensor.sum()


@pytest.mark.skipif(IS_OLD, reason="this version has fewer inputs of scopes")
def test_inputs_of_scopes(tmp_path: Path) -> None:
    both = recorded_together(scopes_with_inputs)
    ours, theirs = facts(both.ours), facts(both.theirs)
    assert ours == theirs
    inputs = {event["name"]: event["concrete_inputs"] for event in ours}
    assert inputs["fast with inputs"] == [None, 4, None, 1.5, True, [1, 2], None]
    keywords = {event["name"]: event["kwinputs"] for event in ours}
    assert keywords["fast with keywords"]["files"] == ["a", "b"]
    assert keywords["fast with keywords only"] == {"stream": 0}
    our_trace, their_trace = exported(both.ours, tmp_path), exported(both.theirs, tmp_path)
    assert [shown(span) for span in spans(our_trace, *SPANS)] == [shown(span) for span in spans(their_trace, *SPANS)]


@pytest.mark.skipif(IS_OLD, reason="this version has fewer inputs of scopes")
@pytest.mark.parametrize("record_shapes", [False, True])
def test_scopes_of_compiled_code_are_recorded_by_one_alone(record_shapes: bool) -> None:
    """PyTorch makes them only if it finds a profiler in the place that it has for one."""
    with ours_on_cpu(record_shapes=record_shapes) as alone:
        scopes_with_inputs()
    with theirs_on_cpu(record_shapes=record_shapes) as theirs:
        scopes_with_inputs()
    assert facts(alone) == facts(theirs)
    found = {event.name: (event.concrete_inputs, event.kwinputs) for event in alone.events()}
    assert found["fast with keywords only"] == ([], {"stream": 0} if record_shapes else {})


@pytest.mark.skipif(IS_OLD, reason="this version has other scopes")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_functions(backend: str) -> None:
    values = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * 2).sum(), backend=backend)
    compiled(values).backward()
    with ours_on_cpu(record_shapes=True) as alone:
        compiled(values).backward()
    both = recorded_together(lambda: compiled(values).backward())
    assert facts(both.ours) == facts(both.theirs)
    names = [event["name"] for event in facts(alone)]
    assert names == [event["name"] for event in facts(both.theirs)]
    assert any("bytecode" in name or "Compiled" in name for name in names)


def test_keywords_that_torch_does_not_show(tmp_path: Path) -> None:
    """Lists of numbers are in the trace, texts are as they were given, and no key is there twice."""
    keywords = {"numbers": [1, 2], "halves": [0.5], "text": 'caf\u00e9 "1"\n', "far": math.inf, "none": None, "step": 7}
    with ours_on_cpu(record_shapes=True) as prof:
        with torch._C._profiler._RecordFunctionFast("fast", [], keywords):
            pass
        with torch._C._profiler._RecordFunctionFast("fast", [], {"numbers": [3]}):
            pass
    first, second = prof.events()
    assert (first.kwinputs, second.kwinputs) == (keywords, {"numbers": [3]})
    [span, _] = spans(trace_of(prof, tmp_path), "cpu_op")
    assert {key: span["args"].get(key) for key in keywords} == keywords | {"far": "inf", "step": 0}
    assert [row.count for row in prof.key_averages(group_by_input_shape=True)] == [2]
