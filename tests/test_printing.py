"""How tensors are printed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._tensor_str import get_printoptions, printoptions, set_printoptions, tensor_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2 import Tensor

PRINTED: dict[str, tuple[Callable[[], Tensor], str]] = {
    "a number": (lambda: torch.tensor(3.14159), "tensor(3.1416)"),
    "a whole number": (lambda: torch.tensor(3.0), "tensor(3.)"),
    "an integer": (lambda: torch.tensor(-7), "tensor(-7)"),
    "a truth value": (lambda: torch.tensor(True), "tensor(True)"),
    "a small number": (lambda: torch.tensor(1e-5), "tensor(1.0000e-05)"),
    "a vector": (lambda: torch.tensor([1.0, -2.5, 3.25]), "tensor([ 1.0000, -2.5000,  3.2500])"),
    "whole numbers": (lambda: torch.tensor([1.0, -2.0, 300.0]), "tensor([  1.,  -2., 300.])"),
    "integers": (lambda: torch.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
    "truth values": (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    "different magnitudes": (
        lambda: torch.tensor([0.001, 1.5, 1000.0]),
        "tensor([1.0000e-03, 1.5000e+00, 1.0000e+03])",
    ),
    "great numbers": (lambda: torch.tensor([1.5e9, 2.0]), "tensor([1.5000e+09, 2.0000e+00])"),
    "great whole numbers": (lambda: torch.tensor([1e9, 2e9]), "tensor([1.0000e+09, 2.0000e+09])"),
    "small numbers": (lambda: torch.tensor([1.5e-5, 0.5]), "tensor([1.5000e-05, 5.0000e-01])"),
    "infinities": (lambda: torch.tensor([1.0, math.inf, -math.inf, math.nan]), "tensor([1., inf, -inf, nan])"),
    "infinities among fractions": (lambda: torch.tensor([0.5, math.inf, math.nan]), "tensor([0.5000,    inf,    nan])"),
    "nothing finite": (lambda: torch.tensor([math.inf, math.nan]), "tensor([inf, nan])"),
    "zeros": (lambda: torch.zeros(3), "tensor([0., 0., 0.])"),
    "a negative zero": (lambda: torch.tensor([-0.0, 0.5]), "tensor([-0.0000, 0.5000])"),
    "the least integer": (
        lambda: torch.tensor([-(2**63), 2**63 - 1]),
        "tensor([-9223372036854775808,  9223372036854775807])",
    ),
    "a matrix": (
        lambda: torch.tensor([[1.0, 2.0], [3.0, 4.5]]),
        ("tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"),
    ),
    "a box": (
        lambda: torch.arange(12).reshape(2, 3, 2),
        (
            "tensor([[[ 0,  1],\n"
            "         [ 2,  3],\n"
            "         [ 4,  5]],\n"
            "\n"
            "        [[ 6,  7],\n"
            "         [ 8,  9],\n"
            "         [10, 11]]])"
        ),
    ),
    "four dimensions": (
        lambda: torch.arange(8).reshape(2, 2, 1, 2),
        ("tensor([[[[0, 1]],\n\n         [[2, 3]]],\n\n\n        [[[4, 5]],\n\n         [[6, 7]]]])"),
    ),
    "more than a line": (
        lambda: torch.arange(30),
        (
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
        ),
    ),
    "fractions in more than a line": (
        lambda: torch.arange(14) / 8,
        (
            "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,\n"
            "        1.1250, 1.2500, 1.3750, 1.5000, 1.6250])"
        ),
    ),
    "a long vector": (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    "a long vector of fractions": (
        lambda: torch.arange(1001) / 4,
        "tensor([  0.0000,   0.2500,   0.5000,  ..., 249.5000, 249.7500, 250.0000])",
    ),
    "a great matrix": (
        lambda: torch.arange(2500).reshape(50, 50),
        (
            "tensor([[   0,    1,    2,  ...,   47,   48,   49],\n"
            "        [  50,   51,   52,  ...,   97,   98,   99],\n"
            "        [ 100,  101,  102,  ...,  147,  148,  149],\n"
            "        ...,\n"
            "        [2350, 2351, 2352,  ..., 2397, 2398, 2399],\n"
            "        [2400, 2401, 2402,  ..., 2447, 2448, 2449],\n"
            "        [2450, 2451, 2452,  ..., 2497, 2498, 2499]])"
        ),
    ),
    "a flat box": (
        lambda: torch.arange(2000.0).reshape(2, 1, 1000),
        (
            "tensor([[[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.9700e+02,\n"
            "          9.9800e+02, 9.9900e+02]],\n"
            "\n"
            "        [[1.0000e+03, 1.0010e+03, 1.0020e+03,  ..., 1.9970e+03,\n"
            "          1.9980e+03, 1.9990e+03]]])"
        ),
    ),
    "no elements": (lambda: torch.empty(0), "tensor([])"),
    "no elements in two dimensions": (lambda: torch.empty(0, 3), "tensor([], size=(0, 3))"),
    "no integers": (lambda: torch.empty(0, dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    "no integers in two dimensions": (
        lambda: torch.empty(2, 0, dtype=torch.int32),
        "tensor([], size=(2, 0), dtype=torch.int32)",
    ),
    "float64": (lambda: torch.tensor([0.1, 0.2], dtype=torch.float64), "tensor([0.1000, 0.2000], dtype=torch.float64)"),
    "float16": (
        lambda: torch.tensor([0.1, 65504.0], dtype=torch.float16),
        "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)",
    ),
    "bfloat16": (
        lambda: torch.tensor([0.1, 1.0], dtype=torch.bfloat16),
        "tensor([0.1001, 1.0000], dtype=torch.bfloat16)",
    ),
    "uint8": (lambda: torch.tensor([0, 255], dtype=torch.uint8), "tensor([  0, 255], dtype=torch.uint8)"),
    "int8": (lambda: torch.tensor([-128, 127], dtype=torch.int8), "tensor([-128,  127], dtype=torch.int8)"),
    "int16": (lambda: torch.tensor([1, 2], dtype=torch.int16), "tensor([1, 2], dtype=torch.int16)"),
    "int32": (lambda: torch.tensor([1, 2], dtype=torch.int32), "tensor([1, 2], dtype=torch.int32)"),
    "a variable": (lambda: torch.tensor([1.0, 2.0], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    "a result": (lambda: torch.tensor([1.0, 2.0], requires_grad=True) * 2, "tensor([2., 4.], grad_fn=<MulBackward0>)"),
    "a sum": (lambda: torch.tensor([1.5, 2.0], requires_grad=True).sum(), "tensor(3.5000, grad_fn=<SumBackward0>)"),
    "a long variable": (
        lambda: torch.full((1, 7), 0.25, requires_grad=True),
        ("tensor([[0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500]],\n       requires_grad=True)"),
    ),
    "a variable that does not fit": (
        lambda: torch.full((9,), 0.25, dtype=torch.float64, requires_grad=True),
        (
            "tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500],\n"
            "       dtype=torch.float64, requires_grad=True)"
        ),
    ),
}
OPTIONS: list[tuple[dict[str, Any], Callable[[], Tensor], str]] = [
    ({"precision": 2}, lambda: torch.tensor([1.23456, 2.0]), "tensor([1.23, 2.00])"),
    ({"threshold": 5}, lambda: torch.arange(10), "tensor([0, 1, 2,  ..., 7, 8, 9])"),
    (
        {"threshold": 5, "edgeitems": 1},
        lambda: torch.arange(9).reshape(3, 3),
        "tensor([[0,  ..., 2],\n        ...,\n        [6,  ..., 8]])",
    ),
    ({"edgeitems": 0, "threshold": 3}, lambda: torch.arange(9).reshape(3, 3), "tensor([...], size=(3, 3))"),
    ({"linewidth": 20}, lambda: torch.arange(10), "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
    ({"sci_mode": True}, lambda: torch.tensor([1.5, 2.5]), "tensor([1.5000e+00, 2.5000e+00])"),
    ({"sci_mode": False}, lambda: torch.tensor([0.00001, 2500.5]), "tensor([   0.0000, 2500.5000])"),
    ({"profile": "short"}, lambda: torch.arange(1200) / 8, "tensor([0.00e+00, 1.25e-01,  ..., 1.50e+02, 1.50e+02])"),
    ({"profile": "short", "precision": 1}, lambda: torch.tensor([0.25, 0.5]), "tensor([0.2, 0.5])"),
]


@pytest.mark.parametrize("name", PRINTED)
def test_tensors(name: str) -> None:
    make, expected = PRINTED[name]
    assert tensor_repr(make()) == expected
    assert repr(make()) == str(make()) == expected


@pytest.mark.parametrize(("options", "make", "expected"), OPTIONS)
def test_options(options: dict[str, Any], make: Callable[[], Tensor], expected: str) -> None:
    before = get_printoptions()
    with printoptions(**options):
        assert tensor_repr(make()) == expected
    assert get_printoptions() == before


def test_all_of_a_long_tensor() -> None:
    with printoptions(profile="full", linewidth=10_000):
        assert tensor_repr(torch.ones(1500)) == "tensor([" + ", ".join(["1."] * 1500) + "])"


def test_options_stay_until_they_are_set_again() -> None:
    try:
        set_printoptions(precision=1, sci_mode=True)
        set_printoptions(edgeitems=2)
        assert get_printoptions() == {
            "precision": 1,
            "threshold": 1000,
            "edgeitems": 2,
            "linewidth": 80,
            "sci_mode": None,
        }
    finally:
        set_printoptions(profile="default")
    with pytest.raises(ValueError, match="profile must be one of default, short, full, but got 'tiny'"):
        set_printoptions(profile="tiny")


def test_the_default_dtype_is_not_said() -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert tensor_repr(torch.tensor([0.5])) == "tensor([0.5000])"
        assert tensor_repr(torch.tensor([0.5], dtype=torch.float32)) == "tensor([0.5000], dtype=torch.float32)"
        assert tensor_repr(torch.empty(0, dtype=torch.float32)) == "tensor([], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(before)


def test_parameters_and_buffers() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    assert repr(weight) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    frozen = torch.nn.Parameter(torch.tensor([1.0, 2.0]), requires_grad=False)
    assert repr(frozen) == "Parameter containing:\ntensor([1., 2.])"
    assert tensor_repr(torch.nn.Buffer(torch.tensor([1.5]))) == "tensor([1.5000])"


def test_printing_a_variable_leaves_its_graph_alone() -> None:
    variable = torch.arange(2000.0).requires_grad_()
    tensor_repr(variable)
    variable.sum().backward()
    assert variable.grad is not None
    assert variable.grad.tolist() == [1.0] * 2000
