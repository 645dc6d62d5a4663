"""What torch's profiler does badly and ours well: names of annotations. Numbers are those of the list of defects."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    ODD_TEXTS,
    averages,
    named,
    names,
    only,
    scope,
    scopes,
    spans,
    square,
    torch,
    trace_of,
)

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path


def annotation_names(prof: Any, directory: Path, **options: Any) -> list[str]:
    return [span["name"] for span in spans(trace_of(prof, directory, **options), "user_annotation")]


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_defect_02_a_name_is_exact_in_every_output(name: str, tmp_path: Path) -> None:
    with profile() as prof:
        scope(name)
    assert names(prof) == [name]
    assert [row.key for row in prof.key_averages()] == [name]
    assert annotation_names(prof, tmp_path) == [name]
    assert annotation_names(prof, tmp_path, use_python_export=True) == [name]


def test_defect_02_a_long_name_is_exact_in_every_output(tmp_path: Path) -> None:
    name = "é\n" * 100_000
    with profile() as prof:
        scope(name)
    assert names(prof) == annotation_names(prof, tmp_path) == [name]


def test_defect_02_names_of_many_annotations_do_not_get_mixed_up(tmp_path: Path) -> None:
    wanted = [f"name {number} {'x' * (number % 7)}" for number in range(2000)]
    with profile() as prof:
        for name in wanted:
            scope(name)
    assert names(prof) == annotation_names(prof, tmp_path) == wanted


def test_defect_02_the_name_of_an_autograd_function_is_exact(tmp_path: Path) -> None:
    def forward(context: Any, value: Any) -> Any:
        return value * 2

    def backward(context: Any, gradient: Any) -> Any:
        return gradient * 2

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    double: Any = type('Double "é"', (torch.autograd.Function,), methods)
    with profile() as prof:
        double.apply(torch.ones(2, requires_grad=True)).sum().backward()
    ops = [span["name"] for span in spans(trace_of(prof, tmp_path), "cpu_op")]
    assert 'Double "é"' in names(prof)
    assert 'Double "é"' in ops
    assert 'Double "é"Backward' in names(prof)


@pytest.mark.parametrize("name", ["re", "rs", "Pf", "PKc", "Ss", "St", "i", "_Z3foov", "N5torch6TensorE", "_ZTS", "v"])
def test_defect_03_text_of_the_user_is_never_demangled(name: str, tmp_path: Path) -> None:
    with profile() as prof:
        scope(name)
    assert names(prof) == annotation_names(prof, tmp_path) == [name]
    assert list(averages(prof)) == [name]
    assert f" {name} " in prof.key_averages().table()


@pytest.mark.parametrize("name", ["bad\ud800name", "\udfff", "a\udc80b"])
def test_defect_04_an_annotation_never_raises_for_its_name(name: str, tmp_path: Path) -> None:
    scope(name)
    with profile() as prof:
        scope(name)
        square()
    shown = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert len(scopes(prof)) == 1
    assert annotation_names(prof, tmp_path) == scopes(prof)
    assert scopes(prof)[0][0] in {shown[0], "\ufffd"}
    scopes(prof)[0].encode()


def test_defect_04_a_lone_surrogate_in_arguments_does_not_raise_either(tmp_path: Path) -> None:
    with profile() as prof, record_function("x", "bad\ud800args"):
        pass
    assert len(spans(trace_of(prof, tmp_path), "user_annotation")) == 1


def test_defect_04_a_name_may_be_of_a_subclass_of_str() -> None:
    class Name(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise AssertionError("the text is what the name is, not what it says of itself")

    class Phase(str, enum.Enum):
        LOAD = "load"

    with profile() as prof:
        scope(Name("own"))
        scope(Phase.LOAD)
    assert names(prof) == ["own", "load"]


def test_defect_41_recursion_is_counted_in_full(tmp_path: Path) -> None:
    def fib(number: int) -> None:
        with record_function("fib"):
            if number:
                fib(number - 1)

    with profile() as prof:
        fib(4)
    assert len(named(prof, "fib")) == 5
    assert averages(prof)["fib"].count == 5
    assert annotation_names(prof, tmp_path) == ["fib"] * 5


def test_defect_41_deep_recursion_keeps_every_parent() -> None:
    repeated = record_function("deep")
    with profile() as prof:
        for _ in range(20_000):
            repeated.__enter__()
        for _ in range(20_000):
            repeated.__exit__(None, None, None)
    found = prof.events()
    assert len(found) == 20_000
    assert all(found[index].cpu_parent == found[index - 1] for index in (1, 2, 10_000, 19_999))
    assert averages(prof)["deep"].count == 20_000
    assert found[-1].cpu_children == []


def test_defect_41_an_annotation_is_not_an_op_whatever_its_name(tmp_path: Path) -> None:
    with profile() as prof, record_function("aten::clone"):
        square().clone()
    assert len(named(prof, "aten::clone")) == 2
    assert sum(span["name"] == "aten::clone" for span in spans(trace_of(prof, tmp_path))) == 2


def test_defect_52_the_second_argument_is_on_the_event_and_in_the_trace(tmp_path: Path) -> None:
    with profile(record_shapes=True) as prof:
        with record_function("step", "batch=32"):
            square()
        scope("none")
    assert only(named(prof, "step")).args == "batch=32"
    assert only(named(prof, "none")).args is None
    span = only(span for span in spans(trace_of(prof, tmp_path)) if span["name"] == "step")
    assert "batch=32" in span["args"].values()


# An empty text says nothing, and is none.
@pytest.mark.parametrize("args", [text for text in ODD_TEXTS if text])
def test_defect_52_the_second_argument_is_exact(args: str, tmp_path: Path) -> None:
    with profile() as prof, record_function("step", args):
        pass
    assert only(named(prof, "step")).args == args
    span = only(spans(trace_of(prof, tmp_path)))
    assert args in span["args"].values()


def test_defect_52_calls_with_different_arguments_keep_their_own() -> None:
    with profile() as prof:
        for number in range(100):
            with record_function("step", f"batch={number}"):
                pass
    assert [event.args for event in prof.events()] == [f"batch={number}" for number in range(100)]
    assert averages(prof)["step"].count == 100
