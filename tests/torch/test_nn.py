"""Layers and functions of tensors do what those of torch do, with the same weights and inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.nn_compare import check_parameters, check_same, integers, numbers, ours, pair
from tests.torch.nn_layers import ACTIVATIONS, IMAGE, LAYERS, POINTS, ROWS, SEQUENCE

OTHER_ROWS = numbers(5, 6, seed=1)


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, mode: bool) -> None:
    build, inputs = LAYERS[name]
    mine, theirs = pair(build, mode)
    assert repr(mine) == repr(theirs)
    for _ in range(2):
        check_same(lambda lib, args: (mine if lib is ours else theirs)(*args), inputs)
    check_parameters(mine, theirs)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    layer, options = ACTIVATIONS[name]
    mine, theirs = pair(lambda nn: getattr(nn, layer)(**options), True)
    assert repr(mine) == repr(theirs)
    # Written over a copy, for what needs a gradient and is no result cannot be overwritten.
    check_same(lambda lib, args: (mine if lib is ours else theirs)(args[0] * 1), [POINTS])
    check_parameters(mine, theirs, 1e-4)


FUNCTIONS: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "normalize": (lambda f, x: f.normalize(x), [IMAGE]),
    "normalize by another norm": (lambda f, x: f.normalize(x, p=1.0, dim=-1, eps=3.0), [IMAGE]),
    "cosine_similarity": (lambda f, x, y: f.cosine_similarity(x, y), [ROWS, OTHER_ROWS]),
    "cosine_similarity of the last": (lambda f, x, y: f.cosine_similarity(x, y, dim=-1), [IMAGE, IMAGE.flip(-1)]),
    "one_hot": (lambda f, x: f.one_hot(x), [integers(4, 2, 3)]),
    "one_hot of more": (lambda f, x: f.one_hot(x, num_classes=7), [integers(4, 2, 3)]),
    "softmin": (lambda f, x: f.softmin(x, dim=1), [IMAGE]),
    "softmax in float64": (lambda f, x: f.softmax(x, -1, dtype=FLOAT64[f]), [ROWS]),
    "pad": (lambda f, x: f.pad(x, (1, 2)), [IMAGE]),
    "pad with a value": (lambda f, x: f.pad(x, (1, 0, 2, 3, 0, 1), value=2.5), [IMAGE]),
    "pad with less": (lambda f, x: f.pad(x, (-1, 2, -2, -1)), [IMAGE]),
    "layer_norm": (lambda f, x: f.layer_norm(x, (6,)), [ROWS]),
    "rms_norm": (lambda f, x: f.rms_norm(x, (6,)), [ROWS]),
    "group_norm": (lambda f, x: f.group_norm(x, 2), [IMAGE]),
    "batch_norm": (lambda f, x: f.batch_norm(x, None, None, training=True), [IMAGE]),
    "linear": (lambda f, x, y: f.linear(x, y), [ROWS, OTHER_ROWS]),
    "dropout of nothing": (lambda f, x: f.dropout(x, 0.0), [ROWS]),
    "dropout of everything": (lambda f, x: f.dropout(x, 1.0), [ROWS]),
    "dropout out of training": (lambda f, x: f.dropout(x, 0.7, training=False), [ROWS]),
    "attention": (lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v), [IMAGE, IMAGE.flip(0), IMAGE.flip(1)]),
    **{
        f"pad {mode} {amounts}": (
            lambda f, x, mode=mode, amounts=amounts: f.pad(x, amounts, mode=mode),
            [IMAGE if len(amounts) == 4 else SEQUENCE],
        )
        for mode, amounts in itertools.product(
            ("reflect", "replicate", "circular"), ((1, 2), (3, 0), (2, 1, 0, 3), (0, 0, 1, 1))
        )
    },
}
FLOAT64 = {torch.nn.functional: torch.float64, ours.nn.functional: ours.float64}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    check_same(lambda lib, args: function(lib.nn.functional, *args), inputs)


@pytest.mark.parametrize("ndim", range(5))
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_without_a_dimension(name: str, ndim: int) -> None:
    def function(lib: Any, args: list[Any]) -> Any:
        with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name} has been deprecated") as caught:
            result = getattr(lib.nn.functional, name)(*args)
        assert caught[0].filename == __file__ or lib is torch
        return result

    check_same(function, [numbers(*[2] * ndim)])


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d"])
def test_dropout(name: str) -> None:
    layer = getattr(ours.nn, name)(0.25)
    assert repr(layer) == repr(getattr(torch.nn, name)(0.25))
    values = ours.ones(40, 30, 4, 4) if name == "Dropout2d" else ours.ones(40, 30, 16)
    dropped = np.array(layer(values).tolist()).reshape(1200, 16)
    assert set(np.unique(dropped.round(4))) == {0.0, round(1 / 0.75, 4)}
    assert 0.2 < (dropped == 0).mean() < 0.3
    if name != "Dropout":
        assert (dropped == dropped[:, :1]).all()
    assert layer.eval()(values) is values or layer(values).tolist() == values.tolist()
