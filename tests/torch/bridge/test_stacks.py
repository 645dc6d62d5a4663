"""Functions and modules around PyTorch's operators, under both profilers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.torch.bridge.both import IS_OLD, exported, ours_on_cpu, spans, theirs_on_cpu
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(IS_OLD, reason="this version's events have no functions")
# Without it there are no stacks in torch's events.
VERBOSE = torch.profiler._ExperimentalConfig(verbose=True)
ADDRESS = re.compile(r" object at 0x[0-9a-f]+")
# Torch's stacks are without what starts a backward pass.
LEFT_OUT = "torch/autograd/__init__.py"
# What is compared is in this function.
PROGRAM = re.compile(r".*test_stacks\.py\(\d+\): program")


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return doubled(self.inner(values))


def doubled(values: torch.Tensor) -> torch.Tensor:
    return values.relu() * 2


class Model:
    """Modules in modules, one of them called twice, a hook, and an optimizer."""

    def __init__(self) -> None:
        self.modules = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Twice(), nn.Linear(4, 2))
        self.modules[0].register_forward_hook(lambda *_: None)
        self.optimizer = torch.optim.SGD(self.modules.parameters(), lr=0.1)
        self.inputs = torch.ones(2, 4)


def program(model: Model) -> None:
    total = model.modules(model.inputs).sum() + model.modules(model.inputs).sum()
    with torch.profiler.record_function("backward"):
        total.backward()
    model.optimizer.step()


def comparable(name: str) -> str:
    """Names of builtins have an address in torch's, which is that of the first one seen."""
    return ADDRESS.sub("", name)


def tree(prof: Any) -> list[tuple[int, str]]:
    """The names of what the program calls, each with its depth."""
    found = []
    for event in prof.events():
        around = ancestors(event)
        if any(PROGRAM.fullmatch(name) for name in around):
            depth = next(depth for depth, name in enumerate(around) if PROGRAM.fullmatch(name))
            found.append((depth, comparable(event.name)))
    return found


def ancestors(event: Any) -> list[str]:
    names = []
    while (event := event.cpu_parent) is not None:
        names.append(event.name)
    return names


def stacks(prof: Any) -> list[tuple[str, list[str]]]:
    """The stacks of operators, up to the program. A scope's, in torch's, is what begins it."""
    found = []
    for event in prof.events():
        inside = [comparable(frame) for frame in event.stack if not frame.startswith(LEFT_OUT)]
        edge = next((place for place, frame in enumerate(inside) if PROGRAM.fullmatch(frame)), None)
        if edge is not None and not (event.is_python_function or event.is_user_annotation):
            found.append((event.name, inside[:edge]))
    return found


@pytest.fixture(scope="module")
def profiles() -> tuple[Any, Any]:
    model = Model()
    program(model)
    with theirs_on_cpu(with_stack=True, experimental_config=VERBOSE) as theirs:
        program(model)
    with ours_on_cpu(with_stack=True) as ours:
        program(model)
    return ours, theirs


def test_functions_and_operators_nest_alike(profiles: tuple[Any, Any]) -> None:
    ours, theirs = (tree(prof) for prof in profiles)
    assert ours == theirs
    assert any(name.endswith(": doubled") for _, name in ours)
    assert any(name == "aten::addmm" for _, name in ours)


def test_stacks_of_operators(profiles: tuple[Any, Any]) -> None:
    ours, theirs = (stacks(prof) for prof in profiles)
    assert ours == theirs
    assert dict(ours)["aten::addmm"]
    # A backward node has the stack of its forward operator.
    nodes = [stack for name, stack in ours if name == "ReluBackward0"]
    assert any(frame.endswith(": doubled") for stack in nodes for frame in stack)


def modules(prof: Any, directory: Path) -> list[tuple[str, int]]:
    trace = exported(prof, directory)
    calls = spans(trace, "python_function")
    return [
        (span["name"], span["args"]["Python module id"]) for span in calls if span["name"].startswith("nn.Module: ")
    ]


def test_calls_of_modules(profiles: tuple[Any, Any], tmp_path: Path) -> None:
    ours, theirs = (modules(prof, tmp_path) for prof in profiles)
    assert ours == theirs
    once = ["Sequential_0", "Linear_0", "ReLU_0", "Twice_0", "Linear_1", "Linear_2"]
    assert [name for name, _ in ours] == [f"nn.Module: {name}" for name in once * 2]


def test_a_module_with_a_call_of_its_own() -> None:
    """What it does around `Module.__call__` is its own, and the module is named inside."""

    class Careful(nn.Identity):
        def __call__(self, values: torch.Tensor) -> torch.Tensor:
            return super().__call__(values)

    module, values = Careful(), torch.ones(2)
    with ours_on_cpu(with_stack=True) as prof:
        module(values)
    [call] = [event for event in prof.events() if event.name == "nn.Module: Careful_0"]
    assert call.cpu_parent.name.endswith(": __call__")


def test_theirs_goes_on_inside_ours() -> None:
    """Python has one hook for each thread: ours calls the one that it finds."""
    model = Model()
    program(model)
    with theirs_on_cpu(with_stack=True, experimental_config=VERBOSE) as theirs, ours_on_cpu(with_stack=True) as ours:
        program(model)
    assert tree(ours) == tree(theirs)
    assert any(name.endswith(": doubled") for _, name in tree(ours))


def test_theirs_takes_the_place_of_ours() -> None:
    """Torch's asks nobody: functions are its own from then on, and operators are in both."""
    model = Model()
    program(model)
    with ours_on_cpu(with_stack=True) as ours, theirs_on_cpu(with_stack=True, experimental_config=VERBOSE) as theirs:
        program(model)
    operators = [[event.name for event in prof.events() if event.name.startswith("aten::")] for prof in (ours, theirs)]
    assert operators[0] == operators[1]
    assert any(name.endswith(": doubled") for _, name in tree(theirs))
    # The next one has the functions again.
    with ours_on_cpu(with_stack=True) as later:
        program(model)
    assert any(name.endswith(": doubled") for _, name in tree(later))


def test_stacks_are_exported(tmp_path: Path) -> None:
    model = Model()
    program(model)
    path = tmp_path / "stacks.txt"
    with ours_on_cpu(with_stack=True) as prof:
        program(model)
    prof.export_stacks(str(path), "self_cpu_time_total")
    assert "nn.Module:_Twice_0" in path.read_text(encoding="utf-8")
