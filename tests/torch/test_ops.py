"""Every operator gives what torch gives: values, dtypes, shapes, strides of views, gradients and theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.ops import outcome
from tests.ops.compare import GRADIENT_TOLERANCES, TOLERANCES, check
from tests.ops.database import CASES
from tests.ops.mistake import message_of
from tests.ops.mistakes import MISTAKES

import mindtorch_v2

if TYPE_CHECKING:
    from tests.ops.mistake import Mistake
    from tests.ops.op import Case

ours: Any = mindtorch_v2

# Torch warns of results that are undefined, such as the variance of one number.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DIFFERENTIABLE = [case for case in CASES if case.differentiable]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results(case: Case) -> None:
    expected = outcome.results(torch, case)
    for form, result in outcome.results(ours, case).items():
        check(result, expected[form], TOLERANCES, form)


@pytest.mark.parametrize("case", [case for case in CASES if case.op.view], ids=str)
def test_views(case: Case) -> None:
    assert outcome.layouts(ours, case) == outcome.layouts(torch, case)


@pytest.mark.parametrize("case", [case for case in CASES if case.inplace], ids=str)
def test_inplace(case: Case) -> None:
    expected = outcome.inplace(torch, case)
    check(outcome.inplace(ours, case), expected, TOLERANCES, "in place")
    if case.differentiable and not isinstance(expected, str):
        gradients = outcome.inplace_gradients(torch, case)
        check(outcome.inplace_gradients(ours, case), gradients, GRADIENT_TOLERANCES, "gradient in place")


@pytest.mark.parametrize("case", [case for case in CASES if not case.op.differentiable], ids=str)
def test_results_without_gradients(case: Case) -> None:
    assert outcome.requires_grad(ours, case) == outcome.requires_grad(torch, case)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients(case: Case) -> None:
    check(outcome.gradients(ours, case), outcome.gradients(torch, case), GRADIENT_TOLERANCES, "gradient")


def has_second_gradients(case: Case) -> bool:
    """Leave out half precision, which is mostly rounding, and points where formulas that agree differ in NaN."""
    degenerate = ("special values", "zero to zero", "var[0d")
    return case.op.double and "16" not in case.dtype and not any(word in str(case) for word in degenerate)


@pytest.mark.parametrize("case", [case for case in DIFFERENTIABLE if has_second_gradients(case)], ids=str)
def test_double_gradients(case: Case) -> None:
    expected = outcome.double_gradients(torch, case)
    check(outcome.double_gradients(ours, case), expected, GRADIENT_TOLERANCES, "gradient of gradients")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_numpy_arrays_come_and_go(dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for source in (array, array.T, array[::2, 1:]):
        tensor = ours.from_numpy(source)
        assert str(tensor.dtype).endswith(f".{dtype}")
        assert tensor.stride() == torch.from_numpy(source).stride()
        np.testing.assert_array_equal(tensor.numpy(), source)
        np.testing.assert_array_equal(np.asarray(tensor), source)
        assert ours.tensor(source).tolist() == source.tolist()


def test_numpy_arrays_share_memory() -> None:
    array = np.zeros(3, dtype=np.float32)
    tensor = ours.from_numpy(array)
    tensor[0] = 1
    array[1] = 2
    assert tensor.tolist() == array.tolist() == [1.0, 2.0, 0.0]
    tensor.numpy()[2] = 3
    assert tensor.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.skipif(not torch.__version__.startswith("2.15."), reason="the texts are those of torch 2.15")
@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_recorded_messages_are_torchs(mistake: Mistake) -> None:
    assert message_of(mistake, torch) == mistake.text
