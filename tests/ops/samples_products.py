"""Products of vectors, matrices and stacks of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ops.op import Op, S
from tests.ops.spec import FLOATS, NUMBERS, t

if TYPE_CHECKING:
    from tests.ops.op import Sample
    from tests.ops.spec import T

MATRICES = [
    S(t(3, 4), t(4, 5)),
    S(t(3, 4, layout="transposed"), t(4, 5)),
    S(t(3, 4), t(4, 5, layout="transposed")),
    S(t(3, 4, layout="transposed"), t(4, 5, layout="transposed")),
    S(t(3, 4, layout="strided"), t(4, 5, layout="offset")),
    S(t(3, 4, layout="expanded"), t(4, 1)),
    S(t(1, 1), t(1, 1)),
    S(t(0, 4), t(4, 5)),
    S(t(3, 0), t(0, 5)),
    S(t(17, 33), t(33, 9)),
]

STACKS = [
    S(t(2, 3, 4), t(2, 4, 5)),
    S(t(2, 3, 4, layout="transposed"), t(2, 4, 5, layout="transposed")),
    S(t(2, 3, 4, layout="expanded"), t(2, 4, 5)),
    S(t(0, 3, 4), t(0, 4, 5)),
    S(t(2, 3, 0), t(2, 0, 5)),
    S(t(2, 0, 4), t(2, 4, 5)),
]

VECTORS = [S(t(4), t(4)), S(t(0), t(0)), S(t(8, layout="strided"), t(8)), S(t(70), t(70))]

# Every pair of dimensions that matmul tells apart, with and without broadcasting.
MATMUL = [
    S(t(4), t(4)),
    S(t(4), t(4, 5)),
    S(t(3, 4), t(4)),
    S(t(3, 4), t(4, 5)),
    S(t(4), t(2, 4, 5)),
    S(t(2, 3, 4), t(4)),
    S(t(2, 3, 4), t(4, 5)),
    S(t(3, 4), t(2, 4, 5)),
    S(t(2, 3, 4), t(2, 4, 5)),
    S(t(2, 1, 3, 4), t(3, 4, 5)),
    S(t(2, 1, 3, 4), t(1, 2, 4, 5)),
    S(t(4), t(2, 2, 4, 5)),
    S(t(2, 2, 3, 4), t(4)),
    S(t(2, 3, 4, layout="transposed"), t(2, 4, 5, layout="transposed")),
    S(t(2, 3, 4, layout="expanded"), t(4, 5, layout="transposed")),
    S(t(0, 3, 4), t(4, 5)),
    S(t(2, 3, 0), t(0, 5)),
    S(t(0), t(0)),
    S(t(3, 0), t(0)),
    S(t(1, 3, 4), t(7, 4, 2)),
]

ADDMM = [
    S(t(3, 5), t(3, 4), t(4, 5)),
    S(t(5), t(3, 4), t(4, 5)),
    S(t(3, 1), t(3, 4), t(4, 5)),
    S(t(), t(3, 4), t(4, 5)),
    S(t(3, 5), t(3, 4), t(4, 5), beta=0.5, alpha=2),
    S(t(3, 5), t(3, 4), t(4, 5), beta=0),
    S(t(3, 5), t(3, 0), t(0, 5)),
    S(t(3, 5), t(3, 4, layout="transposed"), t(4, 5, layout="transposed"), alpha=-1),
]

BADDBMM = [
    S(t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)),
    S(t(5), t(2, 3, 4), t(2, 4, 5)),
    S(t(2, 1, 5), t(2, 3, 4), t(2, 4, 5), beta=0.5, alpha=2),
    S(t(2, 3, 5), t(2, 3, 4), t(2, 4, 5), beta=0),
    S(t(2, 3, 5), t(2, 3, 0), t(2, 0, 5), beta=2),
    S(t(2, 3, 5), t(2, 3, 4, layout="transposed"), t(2, 4, 5, layout="transposed"), alpha=-1),
    S(t(0, 3, 5), t(0, 3, 4), t(0, 4, 5)),
]

LINEAR = [
    S(t(3, 4), t(5, 4), t(5)),
    S(t(3, 4), t(5, 4)),
    S(t(4), t(5, 4), t(5)),
    S(t(2, 3, 4), t(5, 4), t(5)),
    S(t(2, 2, 3, 4), t(5, 4)),
    S(t(2, 3, 4, layout="transposed"), t(5, 4), t(5)),
    S(t(0, 4), t(5, 4), t(5)),
    S(t(3, 4), t(5, 4), bias=t(5)),
    S(t(3, 4), t(4), note="a vector of weights"),
]


def einsum(equation: str, *operands: T) -> Sample:
    return S(equation, *operands)


EINSUM = [
    einsum("ij,jk->ik", t(3, 4), t(4, 5)),
    einsum("ij,jk", t(3, 4), t(4, 5)),
    einsum("bij,bjk->bik", t(2, 3, 4), t(2, 4, 5)),
    einsum("bhqd,bhkd->bhqk", t(2, 2, 3, 4), t(2, 2, 5, 4)),
    einsum("i,j->ij", t(3), t(4)),
    einsum("i,i->", t(3), t(3)),
    einsum("ij->ji", t(3, 4)),
    einsum("ij->i", t(3, 4)),
    einsum("ij->", t(3, 4)),
    einsum("ii->i", t(3, 3)),
    einsum("ii", t(3, 3)),
    einsum("...ij,...jk->...ik", t(2, 3, 4), t(4, 5)),
    einsum("b...,b->...", t(2, 3, 4), t(2)),
    einsum("ij,jk,kl->il", t(2, 3), t(3, 4), t(4, 2)),
    einsum("ij, ij -> i", t(3, 4), t(3, 4)),
    einsum("ba", t(3, 4)),
    S("ij,jk->ik", [t(3, 4), t(4, 5)], note="a list of operands"),
]

OPS = [
    Op("mm", MATRICES, NUMBERS, double=True),
    Op("bmm", STACKS, NUMBERS, double=True),
    Op("dot", VECTORS, NUMBERS, double=True),
    Op("matmul", MATMUL, NUMBERS, double=True),
    Op("tensor @ other", MATMUL[:4], call=lambda _, x, other: x @ other, double=True),
    Op("addmm", ADDMM, NUMBERS, inplace=True, double=True),
    Op("baddbmm", BADDBMM, NUMBERS, inplace=True, double=True),
    Op("nn.functional.linear", LINEAR, FLOATS, method=False, double=True),
    Op("einsum", EINSUM, FLOATS, double=True),
]
