"""Every operator gives what torch gave for the same inputs, and the same on the CPU and on the accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.ops import outcome
from tests.ops.compare import GRADIENT_TOLERANCES, TOLERANCES, check
from tests.ops.database import CASES, GROUPS
from tests.ops.promotion import TABLES, Table, mistakes
from tests.ops.store import read

import mindtorch_v2

if TYPE_CHECKING:
    from tests.ops.op import Case

torch: Any = mindtorch_v2

# Torch warns of results that are undefined, such as the variance of one number.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return {name: entry for group in GROUPS for name, entry in read(group).items()}


@pytest.fixture(scope="module")
def promotion() -> dict[str, Any]:
    return read("promotion")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results(case: Case, stored: dict[str, Any]) -> None:
    expected = stored[str(case)]["result"]
    for form, result in outcome.results(torch, case).items():
        check(result, expected, TOLERANCES, form)


@pytest.mark.parametrize("case", [case for case in CASES if case.op.view], ids=str)
def test_views(case: Case, stored: dict[str, Any]) -> None:
    assert outcome.layouts(torch, case) == stored[str(case)]["layouts"]


@pytest.mark.parametrize("case", [case for case in CASES if case.inplace], ids=str)
def test_inplace_results(case: Case, stored: dict[str, Any]) -> None:
    entry = stored[str(case)]
    check(outcome.inplace(torch, case), entry.get("inplace", entry["result"]), TOLERANCES, "in place")


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_gradients(case: Case, stored: dict[str, Any]) -> None:
    check(outcome.gradients(torch, case), stored[str(case)]["gradients"], GRADIENT_TOLERANCES, "gradient")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_npu_gives_what_the_cpu_gives(case: Case) -> None:
    on_npu, on_cpu = outcome.results(torch, case, "npu"), outcome.results(torch, case)
    for form, result in on_npu.items():
        check(result, on_cpu[form], where=form)
    if case.differentiable:
        check(outcome.gradients(torch, case, "npu"), outcome.gradients(torch, case), where="gradient")
    if case.inplace:
        check(outcome.inplace(torch, case, "npu"), outcome.inplace(torch, case), where="in place")


def test_every_stored_case_is_run(stored: dict[str, Any]) -> None:
    assert set(stored) == {str(case) for case in CASES}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_dtypes_of_results(table: Table, promotion: dict[str, Any]) -> None:
    assert mistakes(table, table.fill(torch), promotion[str(table)]) == []


@pytest.mark.parametrize("case", [case for case in CASES if not case.op.differentiable], ids=str)
def test_results_without_gradients(case: Case) -> None:
    assert not any(outcome.requires_grad(torch, case))
