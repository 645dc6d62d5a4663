"""The examples in docstrings."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest

import mindtorch_v2.profiler

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize("module", [mindtorch_v2.profiler])
def test_every_example_gives_what_it_says(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
