"""Reading and writing with indices gives what torch gives, with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.ops import index_programs, indexing
from tests.ops.compare import TOLERANCES, check
from tests.ops.index_programs import PROGRAMS
from tests.ops.indexing import INDICES, Index

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

ours: Any = mindtorch_v2


@pytest.mark.parametrize("case", INDICES, ids=str)
def test_indices(case: Index) -> None:
    expected = indexing.outcome(torch, case)
    for what, result in indexing.outcome(ours, case).items():
        check(result, expected[what], TOLERANCES, what)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[[Any, Any, Any], Any]) -> None:
    check(index_programs.outcome(ours, program), index_programs.outcome(torch, program), TOLERANCES)
