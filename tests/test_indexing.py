"""Reading and writing with indices gives what torch gave, with gradients, on the CPU and on the accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.ops import index_programs, indexing
from tests.ops.compare import TOLERANCES, check
from tests.ops.index_programs import PROGRAMS
from tests.ops.indexing import INDICES, Index
from tests.ops.store import read

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

torch: Any = mindtorch_v2


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return read("indexing")


@pytest.mark.parametrize("case", INDICES, ids=str)
def test_indices(case: Index, stored: dict[str, Any]) -> None:
    expected = stored[str(case)]
    for what, result in indexing.outcome(torch, case).items():
        check(result, expected[what], TOLERANCES, what)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[[Any, Any, Any], Any], stored: dict[str, Any]) -> None:
    check(index_programs.outcome(torch, program), stored[program.__name__]["outcome"], TOLERANCES)


@pytest.mark.parametrize("case", INDICES, ids=str)
def test_indices_on_npu(case: Index) -> None:
    on_cpu = indexing.outcome(torch, case)
    for what, result in indexing.outcome(torch, case, "npu").items():
        check(result, on_cpu[what], where=what)


def test_indices_on_the_cpu_read_a_tensor_on_npu() -> None:
    tensor = torch.arange(12.0).reshape(3, 4)
    places = torch.tensor([2, 0])
    assert tensor.to("npu")[places].tolist() == tensor[places].tolist()
    assert tensor.to("npu")[:, places].tolist() == tensor[:, places].tolist()


def test_every_stored_case_is_run(stored: dict[str, Any]) -> None:
    assert set(stored) == {str(case) for case in INDICES} | {program.__name__ for program in PROGRAMS}
