"""Weights begin as those of torch do, and gradients are clipped alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.torch.nn_compare import check, check_parameters, check_same, ours, pair
from tests.torch.nn_layers import ACTIVATIONS, LAYERS, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable


INITIALISERS: dict[str, Any] = {
    "uniform_": lambda init, x: init.uniform_(x, -2.0, 3.0),
    "normal_": lambda init, x: init.normal_(x, 1.0, 0.5),
    "constant_": lambda init, x: init.constant_(x, 3.5),
    "ones_": lambda init, x: init.ones_(x),
    "zeros_": lambda init, x: init.zeros_(x),
    "eye_": lambda init, x: init.eye_(x),
    "xavier_uniform_": lambda init, x: init.xavier_uniform_(x, gain=1.5),
    "xavier_normal_": lambda init, x: init.xavier_normal_(x),
    "kaiming_uniform_": lambda init, x: init.kaiming_uniform_(x, a=0.2),
    "kaiming_normal_": lambda init, x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
    "trunc_normal_": lambda init, x: init.trunc_normal_(x),
    "trunc_normal_ narrow": lambda init, x: init.trunc_normal_(x, mean=0.5, std=1.0, a=0.4, b=0.8),
    "trunc_normal_ at the side": lambda init, x: init.trunc_normal_(x, mean=0.0, std=1.0, a=1.0, b=2.0),
    "orthogonal_": lambda init, x: init.orthogonal_(x, gain=2.0),
    "sparse_": lambda init, x: init.sparse_(x, 0.3),
}


def same_generator() -> bool:
    def draw(lib: Any) -> list[float]:
        lib.manual_seed(7)
        drawn = (lib.rand(5), lib.randn(20), lib.randn(3), lib.randperm(9))
        return [number for tensor in drawn for number in tensor.tolist()]

    return np.allclose(draw(torch), draw(ours), atol=1e-5)


def seeded(lib: Any, make: Callable[[], Any]) -> Any:
    lib.manual_seed(3)
    return make()


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (5, 5)])
@pytest.mark.parametrize("name", INITIALISERS)
def test_initialisers_draw_the_same(name: str, shape: tuple[int, int]) -> None:
    if not same_generator():
        pytest.skip("the generators draw other numbers")
    expected = seeded(torch, lambda: INITIALISERS[name](torch.nn.init, torch.empty(shape)))
    found = seeded(ours, lambda: INITIALISERS[name](ours.nn.init, ours.empty(shape)))
    check(found, expected)


@pytest.mark.parametrize("name", [*LAYERS, *ACTIVATIONS, "attention", "encoder"])
def test_layers_draw_the_same(name: str) -> None:
    if not same_generator():
        pytest.skip("the generators draw other numbers")
    more = {
        "attention": lambda nn: nn.MultiheadAttention(8, 2, kdim=3, add_bias_kv=True),
        "encoder": lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        **{name: lambda nn, v=value: getattr(nn, v[0])(**v[1]) for name, value in ACTIVATIONS.items()},
    }
    build = more[name] if name in more else LAYERS[name][0]
    mine = seeded(ours, lambda: build(ours.nn))
    theirs = seeded(torch, lambda: build(torch.nn))
    check_parameters(mine, theirs, 1e-6)


@pytest.mark.parametrize("nonlinearity", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gains(nonlinearity: str) -> None:
    assert ours.nn.init.calculate_gain(nonlinearity) == torch.nn.init.calculate_gain(nonlinearity)
    assert ours.nn.init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 2, 3), (4, 4, 3, 5), (2, 6, 1, 2, 3)])
def test_dirac(shape: tuple[int, ...], groups: int) -> None:
    check(ours.nn.init.dirac_(ours.empty(shape), groups), torch.nn.init.dirac_(torch.empty(shape), groups))


@pytest.mark.parametrize("norm_type", [2.0, 1, 3.0, float("inf")])
def test_clipping(norm_type: float) -> None:
    for limit in (0.5, 100.0):
        mine, theirs = pair(lambda nn: nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 2)), True)
        check_same(lambda lib, args, m=mine, t=theirs: (m if lib is ours else t)(*args), [ROWS])
        check(
            ours.nn.utils.clip_grad_norm_(mine.parameters(), limit, norm_type),
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit, norm_type),
        )
        check_parameters(mine, theirs)
        ours.nn.utils.clip_grad_value_(mine.parameters(), 0.01)
        torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.01)
        check_parameters(mine, theirs)
        vector = ours.nn.utils.parameters_to_vector(mine.parameters())
        check(vector, torch.nn.utils.parameters_to_vector(theirs.parameters()))
        ours.nn.utils.vector_to_parameters(vector * 2, mine.parameters())
        torch.nn.utils.vector_to_parameters(to_torch(vector) * 2, theirs.parameters())
        check_parameters(mine, theirs)


def to_torch(tensor: Any) -> torch.Tensor:
    return torch.tensor(tensor.tolist())
