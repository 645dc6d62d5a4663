"""Initialisers, and functions on the parameters of a model."""

from __future__ import annotations

import math
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import init, utils


def test_initialisers() -> None:
    weight = torch.empty(40, 60)
    bound = math.sqrt(6 / 60)
    assert bound * 0.9 < init.kaiming_uniform_(weight).abs().max().item() <= bound
    assert init.xavier_uniform_(weight).abs().max().item() <= math.sqrt(6 / 100)
    assert abs(init.kaiming_normal_(weight, nonlinearity="relu").std().item() - math.sqrt(2 / 60)) < 0.01
    assert abs(init.xavier_normal_(weight).std().item() - math.sqrt(2 / 100)) < 0.01
    for limits in ((-2.0, 2.0), (1.0, 1.5), (-0.1, 0.1)):
        drawn = init.trunc_normal_(weight, a=limits[0], b=limits[1])
        assert limits[0] <= drawn.min().item() <= drawn.max().item() <= limits[1]
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert init.dirac_(torch.empty(2, 2, 3)).tolist() == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]]
    assert (init.sparse_(weight, 0.3) == 0).sum().item() == 12 * 60
    for shape in ((3, 5), (5, 3)):
        matrix = init.orthogonal_(torch.empty(shape), gain=2.0)
        short = matrix if shape[0] < shape[1] else matrix.t()
        assert (short @ short.t()).flatten().tolist() == pytest.approx([4, 0, 0, 0, 4, 0, 0, 0, 4], abs=1e-5)
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))


def test_layers_begin_as_the_seed_says() -> None:
    torch.manual_seed(5)
    one = nn.Linear(3, 2)
    torch.manual_seed(5)
    other = nn.Linear(3, 2)
    assert one.weight.tolist() == other.weight.tolist()
    bound = 1 / math.sqrt(3)
    torch.manual_seed(5)
    assert one.weight.tolist() == torch.empty(2, 3).uniform_(-bound, bound).tolist()
    assert one.bias is not None
    assert one.bias.tolist() == torch.empty(2).uniform_(-bound, bound).tolist()


def test_clipping() -> None:
    params = [nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
    params[0].grad = torch.tensor([3.0])
    params[1].grad = torch.tensor([0.0, -4.0])
    assert utils.clip_grad_norm_(params, 10.0).item() == 5.0
    assert params[0].grad.tolist() == [3.0]
    assert utils.clip_grad_norm_(params, 1.0, float("inf")).item() == 4.0
    assert params[1].grad.tolist() == pytest.approx([0.0, -1.0])
    utils.clip_grad_value_(params, 0.5)
    assert params[0].grad.tolist() == [0.5]
    assert utils.get_total_norm([]).item() == 0.0
    params[0].grad = torch.tensor([math.nan])
    with pytest.raises(
        RuntimeError, match=r"The total norm of order 2.0 for gradients from `parameters` is non-finite"
    ):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


def test_parameters_as_a_vector() -> None:
    layer: Any = nn.Linear(2, 1)
    layer.weight.data.copy_(torch.tensor([[1.0, 2.0]]))
    layer.bias.data.fill_(3.0)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.tolist() == [1.0, 2.0, 3.0]
    utils.vector_to_parameters(vector.detach() * 2, layer.parameters())
    assert layer.weight.tolist() == [[2.0, 4.0]]
    assert layer.bias.tolist() == [6.0]
