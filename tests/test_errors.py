"""Common mistakes are answered with torch's words, or with words as helpful."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.ops.mistake import message_of
from tests.ops.mistakes import MISTAKES

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ops.mistake import Mistake

torch: Any = mindtorch_v2


# Torch also warns of what it is about to refuse.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_messages(mistake: Mistake) -> None:
    message = message_of(mistake, torch)
    assert mistake.missing_from(message) == [], message


def zeros(*shape: int) -> tuple[Any, Any]:
    """A tensor on the CPU and one on the accelerator."""
    return torch.zeros(*shape), torch.zeros(*shape, device="npu")


TWO_DEVICES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda cpu, npu: cpu + npu,
    "mul": lambda cpu, npu: npu * cpu,
    "add in place": lambda cpu, npu: npu.add_(cpu),
    "matmul": lambda cpu, npu: cpu @ npu,
    "linear": lambda cpu, npu: torch.nn.functional.linear(npu, cpu),
    "cat": lambda cpu, npu: torch.cat([cpu, npu]),
    "where": lambda cpu, npu: torch.where(npu > 0, npu, cpu),
    "embedding": lambda cpu, npu: torch.nn.functional.embedding(cpu.long(), npu),
}


@pytest.mark.parametrize("name", TWO_DEVICES)
def test_tensors_on_two_devices(name: str) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as raised:
        TWO_DEVICES[name](*zeros(2, 2))
    assert "cpu" in str(raised.value)
    assert "npu:0" in str(raised.value)


def test_a_number_without_dimensions_goes_to_any_device() -> None:
    _, npu = zeros(2)
    assert (npu + torch.tensor(1.0)).tolist() == [1.0, 1.0]


def test_numpy_of_a_tensor_on_npu() -> None:
    text = "can't convert npu:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    with pytest.raises(TypeError, match=re.escape(text)):
        zeros(2)[1].numpy()


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="device type at start of device string: nowhere"):
        torch.zeros(2, device="nowhere")


def test_a_failed_operation_leaves_its_tensor_alone() -> None:
    tensor = torch.ones(3)
    for shape in ((2, 3), (4,)):
        with pytest.raises(RuntimeError):
            tensor.add_(torch.ones(shape))
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    assert tensor._version == 0
