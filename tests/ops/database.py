"""Every operator, by the file that holds its samples, and the cases that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ops import (
    samples_binary,
    samples_convolution,
    samples_copies,
    samples_creation,
    samples_logic,
    samples_network,
    samples_products,
    samples_reductions,
    samples_selection,
    samples_unary,
    samples_views,
)
from tests.ops.op import Case, Op, cases

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS: Mapping[str, list[Op]] = {
    "creation": samples_creation.OPS,
    "unary": samples_unary.OPS,
    "binary": samples_binary.OPS,
    "logic": samples_logic.OPS,
    "reductions": samples_reductions.OPS,
    "products": samples_products.OPS,
    "views": samples_views.OPS,
    "copies": samples_copies.OPS,
    "selection": samples_selection.OPS,
    "network": samples_network.OPS,
    "convolution": samples_convolution.OPS,
}

CASES: list[Case] = [case for ops in GROUPS.values() for case in cases(ops)]
