"""Gradients, and their own gradients, are what finite differences in float64 say."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.ops import run
from tests.ops.compare import close
from tests.ops.database import CASES

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ops.op import Case
    from tests.ops.spec import Data

torch: Any = mindtorch_v2

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

STEP = 1e-6
PLACES = 8


def smooth_in_float64(case: Case) -> bool:
    if not (case.op.differentiable and case.sample.smooth and case.dtype == case.op.dtypes[0]):
        return False
    dtypes = [data.dtype for data in case.data("float64") if data.differentiable]
    return bool(dtypes) and set(dtypes) == {"float64"}


SMOOTH = [case for case in CASES if smooth_in_float64(case)]


def check(case: Case, value: Callable[[list[Data]], float], gradients: list[Any]) -> None:
    """Move some of the values of each input by a small step, and compare what that does with the gradients."""
    __tracebackhide__ = True
    data = case.data("float64")
    inputs = [position for position, one in enumerate(data) if one.differentiable]
    rng = random.Random(str(case))
    wrong = []
    for position, gradient in zip(inputs, gradients, strict=True):
        one = data[position]
        slopes = [0.0] * len(one.values) if gradient is None else gradient.reshape(-1).tolist()
        for place in sorted(range(len(one.values)), key=lambda _: rng.random())[:PLACES]:
            ahead, behind = (
                value([*data[:position], one.shifted(place, step), *data[position + 1 :]]) for step in (STEP, -STEP)
            )
            slope = (ahead - behind) / (2 * STEP)
            if not close(slopes[place], slope, 1e-5, 1e-6):
                wrong.append(f"input {position}[{place}]: {slopes[place]}, finite differences say {slope}")
    assert not wrong, "\n".join(wrong)


def weighted_result(case: Case, data: list[Data]) -> float:
    inputs = run.build(torch, case, data=data, grad=True)
    total = run.weighted_sum(torch, run.call(torch, case, inputs), f"weights of {case.op.name}")
    return 0.0 if total is None else float(total.item())


def weighted_gradients(case: Case, data: list[Data]) -> float:
    inputs = run.build(torch, case, data=data, grad=True)
    gradients = run.first_gradients(torch, case, inputs, run.call(torch, case, inputs))
    total = run.weighted_sum(torch, gradients, f"second weights of {case.op.name}")
    return 0.0 if total is None else float(total.item())


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_gradients(case: Case) -> None:
    inputs = run.build(torch, case, data=case.data("float64"), grad=True)
    gradients = run.gradients(torch, case, inputs, run.call(torch, case, inputs))
    check(case, lambda data: weighted_result(case, data), gradients)


@pytest.mark.parametrize("case", [case for case in SMOOTH if case.op.double], ids=str)
def test_gradients_of_gradients(case: Case) -> None:
    inputs = run.build(torch, case, data=case.data("float64"), grad=True)
    gradients = run.double_gradients(torch, case, inputs, run.call(torch, case, inputs))
    check(case, lambda data: weighted_gradients(case, data), gradients)
