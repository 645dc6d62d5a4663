"""Section 7 of the requirements: forward, backward and optimiser steps are all profiled."""

from __future__ import annotations

from typing import Any

import pytest
from tests.profiler.support import ancestors, events, named, names, only, torch

from mindtorch_v2.profiler import profile

OPTIMISERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("Adagrad", {}),
    ("RMSprop", {}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("ASGD", {}),
    ("Rprop", {}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMISERS)
def test_the_steps_of_every_optimiser_are_profiled(name: str, options: dict[str, Any]) -> None:
    model = torch.nn.Linear(3, 2)
    optimiser = getattr(torch.optim, name)(model.parameters(), lr=0.01, **options)
    with profile() as prof:
        for _ in range(2):
            optimiser.zero_grad()
            model(torch.ones(4, 3)).sum().backward()
            optimiser.step()
    steps = named(prof, f"Optimizer.step#{name}.step")
    assert len(steps) == 2
    assert all(step.cpu_children for step in steps)
    assert all(step.is_user_annotation for step in steps)
    assert names(prof).count(f"Optimizer.zero_grad#{name}.zero_grad") == 2


def test_forward_and_backward_are_profiled() -> None:
    model = torch.nn.Linear(3, 2)
    with profile() as prof:
        model(torch.ones(4, 3)).sum().backward()
    assert only(named(prof, "aten::addmm")).cpu_parent.name == "aten::linear"
    node = only(named(prof, "AddmmBackward0"))
    assert ancestors(node) == ["autograd::engine::evaluate_function: AddmmBackward0"]
    assert len(named(prof, "torch::autograd::AccumulateGrad")) == 2


def test_a_learning_rate_scheduler_changes_nothing_of_what_is_recorded() -> None:
    model = torch.nn.Linear(3, 2)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimiser, step_size=1)
    with profile() as prof:
        for _ in range(3):
            model(torch.ones(4, 3)).sum().backward()
            optimiser.step()
            scheduler.step()
    assert names(prof).count("Optimizer.step#SGD.step") == 3


def test_backward_of_a_non_scalar_without_a_gradient_is_a_runtime_error_while_profiling() -> None:
    with profile() as prof:
        with pytest.raises(RuntimeError):
            torch.ones(2, requires_grad=True).mul(2).backward()
        torch.ones(2, requires_grad=True).sum().backward()
    assert len(named(prof, "SumBackward0")) == 1


def test_a_graph_that_is_retained_is_recorded_each_time() -> None:
    ones = torch.ones(2, requires_grad=True)
    total = (ones * 2).sum()
    with profile() as prof:
        total.backward(retain_graph=True)
        total.backward()
    assert len(named(prof, "MulBackward0")) == 2
    assert ones.grad.tolist() == [4.0, 4.0]


def test_hooks_run_and_are_recorded_inside_the_backward_pass() -> None:
    ones = torch.ones(2, requires_grad=True)
    ones.register_hook(lambda gradient: gradient * 3)
    with profile() as prof:
        (ones * 2).sum().backward()
    assert ones.grad.tolist() == [6.0, 6.0]
    outside = [event for event in named(prof, "aten::mul") if not ancestors(event)]
    assert len(outside) == 1


def test_autograd_grad_is_profiled() -> None:
    one, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with profile() as prof:
        gradients = torch.autograd.grad((one * 2).sum(), [one, other], allow_unused=True)
    assert gradients[1] is None
    assert len(named(prof, "MulBackward0")) == 1


def test_detached_tensors_and_no_grad_record_their_ops_and_no_nodes() -> None:
    ones = torch.ones(2, requires_grad=True)
    with profile() as prof:
        ones.detach() * 2
        with torch.no_grad():
            ones * 2
    assert len(named(prof, "aten::mul")) == 2
    assert [event for event in events(prof) if event.scope == 1] == []
