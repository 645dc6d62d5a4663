"""Indices to read and to write with, and what a library makes of them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from tests.ops import run
from tests.ops.compare import plain
from tests.ops.outcome import ERRORS
from tests.ops.spec import T, given, ints, mask, t


@dataclass(frozen=True)
class Index:
    """What stands between the brackets, for a tensor of this shape. Repeated places can be read, not written."""

    shape: tuple[int, ...]
    index: Any
    layout: Any = "contiguous"
    repeated: bool = False

    def __str__(self) -> str:
        parts = self.index if isinstance(self.index, tuple) else (self.index,)
        base = T(self.shape, layout=self.layout)
        return f"{base}[{', '.join(map(text, parts)) or '()'}]"

    def build(self, lib: Any, device: str = "cpu") -> Any:
        rng = random.Random(str(self))

        def make(value: Any) -> Any:
            if isinstance(value, T):
                return value.data("float32", rng).tensor(lib, device)
            return tuple(make(element) for element in value) if isinstance(value, tuple) else value

        return make(self.index)

    def leaf(self, lib: Any, device: str = "cpu") -> tuple[Any, T]:
        spec = T(self.shape, layout=self.layout)
        return spec.data("float32", random.Random(f"leaf {self}")).tensor(lib, device).requires_grad_(), spec


def text(part: Any) -> str:
    if isinstance(part, slice):
        start, stop, step = ("" if bound is None else str(bound) for bound in (part.start, part.stop, part.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if part is Ellipsis:
        return "..."
    if isinstance(part, T):
        return f"{part.dtype}{list(part.values)}" if part.values is not None else f"<{part}>"
    return str(part)


def outcome(lib: Any, case: Index, device: str = "cpu") -> dict[str, Any]:
    """What reading and writing with an index give, with gradients; writes of a number, a tensor, a row, integers."""
    found = read(lib, case, device)
    if case.repeated:
        return found
    shape = found["get"].shape
    values = {"number": -1.0, "tensor": t(*shape), "row": t(*shape[-1:]), "integers": t(*shape, dtype="int64")}
    return found | {f"set {kind}": write(lib, case, value, device) for kind, value in values.items()}


def read(lib: Any, case: Index, device: str) -> dict[str, Any]:
    leaf, spec = case.leaf(lib, device)
    tensor, index = spec.view_of(leaf), case.build(lib, device)
    result = tensor[index]
    run.weighted_sum(lib, [result], str(case)).backward()
    strides = [stride for stride, size in zip(result.stride(), result.shape, strict=True) if size > 1]
    looked = result.detach()
    leaf.detach().zero_()
    is_view = not any(looked.cpu().reshape(-1).tolist())
    copied = spec.view_of(case.leaf(lib, device)[0])[index]
    return {
        "get": plain(copied),
        "get gradient": plain(leaf.grad),
        "get layout": [strides if is_view and math.prod(result.shape) else [], is_view],
    }


def write(lib: Any, case: Index, value: Any, device: str) -> list[Any] | str:
    """The written tensor and the gradients of what went into it, or the name of the error."""
    leaf, spec = case.leaf(lib, device)
    leaves = [leaf]
    if isinstance(value, T):
        value = value.data("float32", random.Random(f"value {case}")).tensor(lib, device)
        if value.is_floating_point():
            leaves.append(value.requires_grad_())
    base = leaf.clone()
    try:
        spec.view_of(base)[case.build(lib, device)] = value
    except ERRORS as error:
        return type(error).__name__
    run.weighted_sum(lib, [base], str(case)).backward()
    return [plain(base), *[plain(one.grad) for one in leaves]]


ROWS = given([2, 0], "int64")
NEGATIVE = given([-1, 0], "int64")

BASIC = [
    Index((3, 4), 1),
    Index((3, 4), -1),
    Index((3, 4), (1, 2)),
    Index((3, 4), (-2, -3)),
    Index((3,), 0),
    Index((3, 4), slice(None)),
    Index((5, 2), slice(1, 4)),
    Index((5, 2), slice(None, None, 2)),
    Index((5, 2), slice(1, None, 3)),
    Index((5, 2), slice(-3, -1)),
    Index((5, 2), slice(3, 100)),
    Index((5, 2), slice(4, 2)),
    Index((5, 2), slice(-100, 2)),
    Index((3, 4), (slice(None), 1)),
    Index((3, 4), (slice(0, 2), slice(1, None, 2))),
    Index((2, 3, 4), (0, slice(None), -1)),
    Index((3, 4), None),
    Index((3, 4), (None, 1, None)),
    Index((3, 4), (slice(None), None)),
    Index((3, 4), ...),
    Index((2, 3, 4), (..., 0)),
    Index((2, 3, 4), (1, ...)),
    Index((2, 3, 4), (0, ..., slice(1, 3))),
    Index((2, 3, 4), (..., None)),
    Index((), ...),
    Index((), None),
    Index((), ()),
    Index((3, 4), ()),
    Index((0, 4), slice(None)),
    Index((4, 3), (slice(1, None), 0), layout="transposed"),
    Index((4, 3), slice(None, None, 2), layout="strided"),
]

ADVANCED = [
    Index((3, 4), ROWS),
    Index((3, 4), [2, 0]),
    Index((3, 4), NEGATIVE),
    Index((3, 4), [0, -1]),
    Index((3, 4), ([[2, 0], [1, 2]],), repeated=True),
    Index((5,), ints(3, 2, below=5), repeated=True),
    Index((3, 4), given([2, 0], "int32")),
    Index((3, 4), given(1, "int64")),
    Index((3, 4), given([], "int64")),
    Index((3, 4), ([0, 2], [3, 1])),
    Index((3, 4), (ROWS, 1)),
    Index((3, 4), (1, ROWS)),
    Index((3, 4), (slice(None), ROWS)),
    Index((3, 4), (slice(1, 3), [3, 1])),
    Index((3, 4), (given([[0], [2]], "int64"), given([1, 3], "int64"))),
    Index((3, 4), (given([[0, 1], [2, 0]], "int64"), 2), repeated=True),
    Index((2, 3, 4), ([1, 0], slice(None), [3, 1])),
    Index((2, 3, 4), (slice(None), [2, 0], [3, 1])),
    Index((2, 3, 4), (0, slice(None), [3, 1])),
    Index((2, 3, 4), ([1, 0], None, slice(None), 2)),
    Index((2, 3, 4), (..., [3, 1])),
    Index((2, 3, 4), ([1], ..., slice(0, 2))),
    Index((2, 3, 4), (None, [1, 0], ..., 0)),
    Index((4, 3), (ROWS, slice(None, None, 2)), layout="transposed"),
    Index((3, 4), ([1, 1, 1],), repeated=True),
]

MASKED = [
    Index((3, 4), mask(3, 4)),
    Index((3, 4), mask(3)),
    Index((3, 4), (slice(None), mask(4))),
    Index((2, 3, 4), mask(2, 3)),
    Index((2, 3, 4), (0, mask(3, 4))),
    Index((3,), [True, False, True]),
    Index((3, 4), ([True, False, True], 1)),
    Index((3, 4), (given([True, False, True], "bool"), [3, 1])),
    Index((3, 4), (mask(3), slice(1, 3))),
    Index((3, 4), given([False, False, False], "bool")),
    Index((3, 4), True),
    Index((3, 4), False),
    Index((), True),
    Index((3, 4), (True, 1)),
    Index((3, 4), given(True, "bool")),
    Index((4, 3), mask(4, 3), layout="transposed"),
]

INDICES = BASIC + ADVANCED + MASKED
