"""The hooks of modules."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def test_forward_hooks() -> None:
    net = nn.Linear(1, 1, bias=False)
    net.weight.data.fill_(3.0)
    seen: list[Any] = []
    with net.register_forward_pre_hook(lambda _, args: (args[0] * 2,)):
        assert net(torch.ones(1)).item() == 6.0
    assert net(torch.ones(1)).item() == 3.0
    double = net.register_forward_hook(lambda _module, _args, out: out * 10)
    net.register_forward_hook(lambda _module, _args, out: seen.append(out.item()))
    net.register_forward_hook(lambda _module, _args, out: seen.append(out.item()), prepend=True)
    assert net(torch.ones(1)).item() == 30.0
    assert seen == [3.0, 30.0]
    double.remove()
    double.remove()
    assert net(torch.ones(1)).item() == 3.0


def test_forward_hooks_with_keywords() -> None:
    class Scale(nn.Module):
        def forward(self, x: Tensor, *, by: float) -> Tensor:
            return x * by

    net = Scale()
    net.register_forward_pre_hook(lambda _, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda _module, _args, kwargs, out: (out, kwargs), with_kwargs=True)
    out, kwargs = net(torch.ones(1), by=2.0)
    assert (out.item(), kwargs) == (3.0, {"by": 3.0})
    net.register_forward_pre_hook(lambda _, args, _kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        net(torch.ones(1), by=2.0)


def test_backward_hooks() -> None:
    net = nn.Linear(2, 1, bias=False)
    net.weight.data.copy_(torch.tensor([[3.0, 5.0]]))
    seen: list[Any] = []
    net.register_full_backward_pre_hook(lambda _, grads: (grads[0] * 2,))
    net.register_full_backward_hook(lambda _, ins, outs: seen.append((ins[0].tolist(), outs[0].tolist())))
    net.register_full_backward_hook(lambda _module, ins, _outs: (ins[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert seen == [([[6.0, 10.0]], [[2.0]])]
    assert x.grad is not None
    assert x.grad.tolist() == [[60.0, 100.0]]
    assert net.weight.grad is not None
    assert net.weight.grad.tolist() == [[2.0, 2.0]]


def test_backward_hooks_of_several_tensors() -> None:
    class Both(nn.Module):
        def forward(self, x: Tensor, count: int, y: Tensor) -> tuple[Tensor, Tensor]:
            return x * y * count, x + 1

    net = Both()
    seen: list[Any] = []
    net.register_full_backward_hook(lambda _module, ins, outs: seen.append((ins, outs)))
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[3.0], [4.0]], requires_grad=True)
    product, _ = net(x, 2, y)
    product.sum().backward()
    ((ins, outs),) = seen
    assert [grad if grad is None else grad.tolist() for grad in ins] == [[14.0, 14.0], None, [[6.0], [6.0]]]
    assert [grad.tolist() for grad in outs] == [[[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0]]


def test_backward_hooks_without_inputs_that_need_a_gradient() -> None:
    net = nn.Linear(2, 1)
    seen: list[Any] = []
    net.register_full_backward_hook(lambda _module, ins, outs: seen.append((ins, outs[0].tolist())))
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed with respect to"):
        net(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]
    with pytest.raises(NotImplementedError, match="use register_full_backward_hook"):
        net.register_backward_hook(print)


def test_no_warning_is_given_to_usual_programs() -> None:
    called = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        net.register_full_backward_hook(lambda *_: called.append("hook"))
        net(torch.ones(2, 2, requires_grad=True)).sum().backward()
    assert (called, caught) == (["hook"], [])
