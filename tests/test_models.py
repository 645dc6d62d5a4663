"""The examples' models: they learn what they are to learn, the same on every device, and leave no memory behind."""

from __future__ import annotations

import functools
import gc

import pytest
from models import TASKS, Training, train

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile


@functools.cache
def losses(name: str, device: str) -> list[float]:
    task = TASKS[name]
    return train(torch, task, task.steps, device)


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("name", TASKS)
def test_reaches_its_goal(name: str, device: str) -> None:
    assert TASKS[name].reached(losses(name, device))


@pytest.mark.parametrize("name", TASKS)
def test_learns_the_same_on_every_device(name: str) -> None:
    assert losses(name, "npu") == losses(name, "cpu")


@pytest.mark.parametrize("name", TASKS)
def test_learns_the_same_again(name: str) -> None:
    assert train(torch, TASKS[name], 3) == losses(name, "cpu")[:3]


@pytest.mark.parametrize("name", TASKS)
def test_leaves_no_memory_on_the_device(name: str) -> None:
    gc.collect()
    start = torch.npu.memory_allocated()
    training = Training(torch, TASKS[name], "npu")
    parameters = sum(parameter.numel() * parameter.element_size() for parameter in training.model.parameters())
    loss = training.step(*training.batch(0))
    # The parameters, their gradients, and the two moments that Adam keeps of each.
    assert torch.npu.memory_allocated() >= start + 4 * parameters
    del training, loss
    gc.collect()
    assert torch.npu.memory_allocated() == start


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("name", TASKS)
def test_a_profile_sees_as_much_memory_freed_as_allocated(name: str, device: str) -> None:
    with profile(profile_memory=True) as prof:
        train(torch, TASKS[name], 2, device)
        gc.collect()
    averages = prof.key_averages()
    assert any(average.self_cpu_memory_usage > 0 for average in averages)
    assert sum(average.self_cpu_memory_usage for average in averages) == 0
    assert sum(average.self_device_memory_usage for average in averages) == 0
