"""Results have the dtypes that torch's have, for every pair of dtypes and with numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.ops.promotion import TABLES, Table, mistakes
from tests.ops.spec import ALL

import mindtorch_v2

ours: Any = mindtorch_v2


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_dtypes_of_results(table: Table) -> None:
    assert mistakes(table, table.fill(ours), table.fill(torch)) == []


@pytest.mark.parametrize("left", ALL)
def test_promote_types_and_can_cast(left: str) -> None:
    for right in ALL:
        dtypes = getattr(torch, left), getattr(torch, right)
        our_dtypes = getattr(ours, left), getattr(ours, right)
        expected = str(torch.promote_types(*dtypes)).rsplit(".", 1)[-1]
        assert str(ours.promote_types(*our_dtypes)).rsplit(".", 1)[-1] == expected
        assert ours.can_cast(*our_dtypes) == torch.can_cast(*dtypes)
