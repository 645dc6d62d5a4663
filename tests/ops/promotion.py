"""Tables of the dtypes that results have, for every pair of operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.ops.outcome import ERRORS
from tests.ops.spec import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FUNCTIONS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda _, x, y: x + y,
    "div": lambda _, x, y: x / y,
    "floor_divide": lambda _, x, y: x // y,
    "eq": lambda _, x, y: x == y,
    "pow": lambda _, x, y: x**y,
    "where": lambda lib, x, y: lib.where(lib.tensor([True, False]), x, y),
    "add in place": lambda _, x, y: x.__iadd__(y),
    "result_type": lambda lib, x, y: lib.result_type(x, y),
}
NUMBERS: Mapping[str, bool | int | float] = {"True": True, "2": 2, "2.5": 2.5}
TENSORS = ("tensor", "0-d tensor")


@dataclass(frozen=True)
class Table:
    """One function, with an operand on each side: a tensor, a tensor without dimensions, or a number."""

    function: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.function} of {self.left} and {self.right}"

    def fill(self, lib: Any) -> dict[str, str]:
        """For each dtype on the left the dtypes of the results, or "error", in the order of those on the right."""
        return {
            row: " ".join(self._dtype(lib, row, column) for column in dtypes(self.right)) for row in dtypes(self.left)
        }

    @staticmethod
    def _operand(lib: Any, side: str, dtype: str) -> Any:
        if side in TENSORS:
            return lib.tensor([1, 1] if side == "tensor" else 1, dtype=getattr(lib, dtype))
        return NUMBERS[side]

    def _dtype(self, lib: Any, left: str, right: str) -> str:
        operands = self._operand(lib, self.left, left), self._operand(lib, self.right, right)
        try:
            result = FUNCTIONS[self.function](lib, *operands)
        except ERRORS:
            return "error"
        return str(getattr(result, "dtype", result)).rsplit(".", 1)[-1]


def dtypes(side: str) -> tuple[str, ...]:
    return ALL if side in TENSORS else (side,)


TABLES = [
    Table(function, left, right)
    for function in FUNCTIONS
    for left in (*TENSORS, *NUMBERS)
    for right in (*TENSORS, *NUMBERS)
    if left in TENSORS or (right in TENSORS and function != "add in place")
]


def mistakes(table: Table, actual: dict[str, str], expected: dict[str, str]) -> list[str]:
    """Where two fillings of a table are different, in words."""
    return [
        f"{row} with {column}: {got}, expected {wanted}"
        for row, wanted_row in expected.items()
        for column, got, wanted in zip(dtypes(table.right), actual[row].split(), wanted_row.split(), strict=True)
        if got != wanted
    ]
