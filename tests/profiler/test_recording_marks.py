"""What the library itself marks: optimisers, loaders, modules; and what flops and inputs are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import ancestors, averages, events, frames, named, names, only, spans, torch, trace_of

from mindtorch_v2.profiler import _ExperimentalConfig, profile

if TYPE_CHECKING:
    from pathlib import Path

functional = torch.nn.functional


def test_the_marks_of_an_optimiser() -> None:
    model = torch.nn.Linear(3, 2)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    with profile() as prof:
        optimiser.step()
        optimiser.zero_grad()
    marks = [event for event in events(prof) if event.is_user_annotation]
    assert [mark.name for mark in marks] == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]
    assert all((mark.scope, mark.activity_type, mark["kind"]) == (7, "user_annotation", "scope") for mark in marks)


def test_the_mark_of_an_optimiser_of_the_users_own() -> None:
    class Own(torch.optim.SGD):  # type: ignore[misc]
        pass

    optimiser = Own([torch.ones(2, requires_grad=True)], lr=0.1)
    with profile() as prof:
        optimiser.step()
        optimiser.zero_grad()
    assert "Optimizer.step#Own.step" in names(prof)
    assert "Optimizer.zero_grad#Own.zero_grad" in names(prof)


def test_the_mark_of_a_loader_is_there_for_each_batch_and_for_the_end() -> None:
    loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2)
    with profile() as prof:
        batches = [batch.tolist() for batch in loader]
    assert len(batches) == 3
    marks = named(prof, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    assert len(marks) == 4
    assert all(mark.is_user_annotation for mark in marks)


def test_modules_are_calls_with_numbers_in_the_order_of_their_first_call(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    for _ in range(2):
        with profile(with_stack=True) as prof:
            for _ in range(2):
                model(torch.ones(1, 2))
        modules = [frame for frame in frames(prof) if frame.name.startswith("nn.Module: ")]
        once = ["Sequential_0", "Linear_0", "ReLU_0", "Linear_1"]
        assert [frame.name for frame in modules] == [f"nn.Module: {name}" for name in once] * 2
        numbers = {frame.name: frame.python_module_id for frame in modules}
        assert all(number >= 0 for number in numbers.values())
        assert numbers["nn.Module: Linear_0"] != numbers["nn.Module: Linear_1"]
    written = [span for span in spans(trace_of(prof, tmp_path), "python_function") if "nn.Module" in span["name"]]
    assert [span["args"]["Python module id"] for span in written] == [frame.python_module_id for frame in modules]


def test_ops_are_inside_their_modules() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with profile(with_stack=True) as prof:
        model(torch.ones(1, 2))
    linear = only(named(prof, "aten::linear"))
    modules = [name for name in ancestors(linear) if name.startswith("nn.Module")]
    assert modules == ["nn.Module: Linear_0", "nn.Module: Sequential_0"]
    assert [frame for frame in linear.stack if frame.startswith("nn.Module")] == modules
    assert "nn.Module: ReLU_0" in ancestors(only(named(prof, "aten::relu")))


def test_with_modules_is_accepted_with_torchs_warning(tmp_path: Path) -> None:
    words = r"^with_modules is deprecated and will be removed in a future release\."
    with pytest.warns(FutureWarning, match=words), profile(with_modules=True) as prof:
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
    assert trace_of(prof, tmp_path)["with_modules"] == 1


def ones(*shape: int) -> Any:
    return torch.ones(*shape)


FLOPS = [
    ("aten::mm", lambda: torch.mm(ones(40, 33), ones(33, 243)), 2 * 40 * 33 * 243),
    ("aten::mm", lambda: ones(40, 33) @ ones(33, 243), 2 * 40 * 33 * 243),
    ("aten::addmm", lambda: torch.addmm(ones(5), ones(4, 3), ones(3, 5)), 2 * 4 * 3 * 5),
    ("aten::addmm", lambda: functional.linear(ones(7, 30), ones(20, 30), ones(20)), 2 * 7 * 30 * 20),
    ("aten::bmm", lambda: torch.bmm(ones(3, 4, 5), ones(3, 5, 6)), 2 * 3 * 4 * 5 * 6),
    (
        "aten::conv2d",
        lambda: functional.conv2d(ones(2, 8, 24, 24), ones(15, 8, 5, 5), stride=2, padding=2),
        2 * 2 * 12 * 12 * 15 * 8 * 5 * 5,
    ),
    (
        "aten::conv2d",
        lambda: functional.conv2d(ones(1, 8, 10, 10), ones(6, 4, 3, 3), groups=2),
        2 * 1 * 8 * 8 * 6 * 4 * 3 * 3,
    ),
    ("aten::add", lambda: ones(4, 5) + ones(4, 5), 20),
    ("aten::mul", lambda: ones(4, 5) * ones(4, 5), 20),
    ("aten::add", lambda: ones(5) + ones(4, 5), 5),
    ("aten::mul", lambda: ones(4, 5) * 2, 20),
    ("aten::mv", lambda: torch.mv(ones(4, 5), ones(5)), 0),
    ("aten::sum", lambda: ones(4, 5).sum(), 0),
    ("aten::add_", lambda: ones(4, 5).add_(1), 0),
]


@pytest.mark.parametrize(("name", "call", "flops"), FLOPS, ids=[f"{name} {flops}" for name, _, flops in FLOPS])
def test_flops_are_those_that_torch_counts(name: str, call: Any, flops: int, tmp_path: Path) -> None:
    with profile(with_flops=True) as prof:
        call()
    assert only(named(prof, name)).flops == flops
    assert averages(prof)[name].flops == flops
    written = [span["args"].get("Flops", 0) for span in spans(trace_of(prof, tmp_path)) if span["name"] == name]
    assert written[0] == flops


def test_flops_are_summed_in_averages_and_unknown_without_the_flag() -> None:
    with profile(with_flops=True) as prof:
        for _ in range(3):
            torch.mm(ones(2, 2), ones(2, 2))
    assert averages(prof)["aten::mm"].flops == 3 * 16
    with profile() as plain:
        torch.mm(ones(2, 2), ones(2, 2))
    assert not only(named(plain, "aten::mm")).flops


def test_flops_record_shapes_without_saying_so(tmp_path: Path) -> None:
    with profile(with_flops=True) as prof:
        torch.mm(ones(2, 3), ones(3, 2))
    assert prof.record_shapes is False
    assert only(named(prof, "aten::mm")).input_shapes == [[2, 3], [3, 2]]
    assert "record_shapes" not in trace_of(prof, tmp_path)


def test_inputs_are_recorded_with_dtypes_strides_and_values(tmp_path: Path) -> None:
    with profile(record_shapes=True) as prof:
        torch.add(ones(4, 3).t(), torch.ones(3, 4, dtype=torch.float64), alpha=2)
        torch.cat([ones(2, 3), ones(1, 3)], 0)
    add, cat = only(named(prof, "aten::add")), only(named(prof, "aten::cat"))
    assert add.input_shapes == [[3, 4], [3, 4], []]
    assert add.structured_input_strides == [[1, 3], [4, 1], []]
    assert add.input_dtypes == ["float", "double", "Scalar"]
    assert add.concrete_inputs == [None, None, 2]
    assert cat.input_shapes == [[], []]
    assert cat.structured_input_shapes == [[[2, 3], [1, 3]], []]
    assert cat.input_dtypes == ["TensorList", "Scalar"]
    args = only(span["args"] for span in spans(trace_of(prof, tmp_path)) if span["name"] == "aten::add")
    assert args["Input Dims"] == [[3, 4], [3, 4], []]
    assert args["Input Strides"] == [[1, 3], [4, 1], []]
    assert args["Input type"] == ["float", "double", "Scalar"]
    assert args["Concrete Inputs"] == ["", "", "2"]


def test_overload_names_are_filled_when_asked_for() -> None:
    with profile(experimental_config=_ExperimentalConfig(capture_overload_names=True)) as prof:
        ones(2) + ones(2)
    assert only(named(prof, "aten::add")).overload_name == "Tensor"
    assert "Overload Name" in prof.key_averages(group_by_overload_name=True).table()
    with profile() as plain:
        ones(2) + ones(2)
    assert only(named(plain, "aten::add")).overload_name == ""
