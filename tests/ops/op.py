"""An operator, the samples of its inputs, and the cases that follow from them."""

from __future__ import annotations

import functools
import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.ops.spec import Data, T

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Sample:
    """The arguments of one call: tensors to be, and whatever else the operator takes."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    note: str = ""
    smooth: bool = True

    def __str__(self) -> str:
        args = [self.note] if self.note else [text(arg) for arg in self.args]
        return ", ".join(args + [f"{name}={text(value)}" for name, value in self.kwargs.items()])

    def specs(self) -> Iterator[T]:
        for value in (*self.args, *self.kwargs.values()):
            yield from specs_in(value)


def S(*args: Any, note: str = "", smooth: bool = True, **kwargs: Any) -> Sample:  # noqa: N802
    """A sample. One that is not `smooth` has a kink at its values: finite differences say nothing there."""
    return Sample(args, kwargs, note, smooth)


@dataclass(frozen=True)
class Op:
    """An operator: where it is found, and what is true of it."""

    name: str
    samples: Sequence[Sample]
    dtypes: Sequence[str] = ("float32",)
    function: bool = True
    method: bool = True
    inplace: bool = False
    view: bool = False
    changes_inputs: bool = False
    differentiable: bool = True
    double: bool = False
    call: Callable[..., Any] | None = None

    @property
    def last_name(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    def forms(self, lib: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Callable[[], Any]]:
        """Ways to call it that must give the same."""
        if self.call is not None:
            return {"call": functools.partial(self.call, lib, *args, **kwargs)}
        forms: dict[str, Callable[[], Any]] = {}
        if self.function:
            found = functools.reduce(getattr, self.name.split("."), lib)
            forms["function"] = functools.partial(found, *args, **kwargs)
        if self.method and args and hasattr(args[0], "requires_grad"):
            forms["method"] = functools.partial(getattr(args[0], self.last_name), *args[1:], **kwargs)
        return forms


@dataclass(frozen=True)
class Case:
    """One operator on one sample, where the tensors that leave their dtype open have this one."""

    op: Op
    sample: Sample
    dtype: str
    note: str

    def __str__(self) -> str:
        return f"{self.op.name}[{self.note}]" + ("" if self.dtype == self.op.dtypes[0] else f"-{self.dtype}")

    @property
    def inplace(self) -> bool:
        return self.op.inplace and bool(self.sample.args) and isinstance(self.sample.args[0], T)

    @property
    def differentiable(self) -> bool:
        return self.op.differentiable and any(data.differentiable for data in self.data())

    def data(self, dtype: str | None = None) -> list[Data]:
        """The same values each time, and the same in every dtype as far as it can hold them."""
        rng = random.Random(f"{self.op.name} {self.note}")
        return [spec.data(dtype or self.dtype, rng) for spec in self.sample.specs()]


def cases(ops: Sequence[Op]) -> list[Case]:
    """Each sample in the operator's first dtype, then the first sample in the others."""
    found: list[Case] = []
    for op in ops:
        seen: Counter[str] = Counter()
        for sample in op.samples:
            seen[str(sample)] += 1
            note = str(sample) + ("" if seen[str(sample)] == 1 else f" #{seen[str(sample)]}")
            found.append(Case(op, sample, op.dtypes[0], note))
        first = found[-len(op.samples)]
        found += [replace(first, dtype=dtype) for dtype in op.dtypes[1:]]
    return found


def specs_in(value: Any) -> Iterator[T]:
    if isinstance(value, T):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from specs_in(element)


def text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + " ".join(map(text, value)) + ")"
    return str(value)
