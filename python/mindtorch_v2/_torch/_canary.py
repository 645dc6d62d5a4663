"""The self-test of the bridge: it has to deliver known operators as they are before anything is recorded with it."""

from __future__ import annotations

from mindtorch_v2 import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# PyTorch's numbers of scopes.
_FUNCTION = 0
_USER_SCOPE = 7

# The operands of `_operator`, as they are read: the type of the elements, the sizes and the strides.
_INPUTS = [("double", [5, 3], [1, 5]), ("double", [5, 1], [1, 1]), ("Scalar 3", [], [])]


class CanaryError(Exception):
    """The bridge has delivered something wrong."""


def check(torch: Any) -> None:
    """Check that the bridge reads PyTorch's tensors as they are, and sees operators begin and end.

    Raises:
        CanaryError: it does not.
    """
    operator = _operator(torch)
    seen = _seen(operator)
    expected = ("aten::add", _INPUTS, _FUNCTION, 0)
    if not seen or seen[0][:4] != expected or seen[0][4] is None:
        raise CanaryError(f"of an operator that is {expected}, it reads {seen[:1]}")


def check_by_name(torch: Any) -> None:
    """Check that PyTorch's own functions deliver name, kind, begin and end of a scope, and of an operator in it.

    Both have to be delivered on the thread that runs them: what comes on another one is not seen here.

    Raises:
        CanaryError: they do not.
    """
    operator, name = _operator(torch), "mindtorch_v2 self-test"

    def run() -> None:
        with torch.autograd.profiler.record_function(name):
            operator()

    seen = _seen(run)
    # An operator may call others. All lie within the scope, whose end is the last of all begins and ends.
    last = 2 * len(seen) - 1
    if (
        [op[:4] for op in seen[:2]] != [(name, [], _USER_SCOPE, 0), ("aten::add", [], _FUNCTION, 1)]
        or seen[0][4] != last
        or any(end is None or not begin < end <= last for *_, begin, end in seen)
    ):
        raise CanaryError(f"of a scope named {name!r} with an aten::add in it, PyTorch's functions deliver {seen[:4]}")


def _operator(torch: Any) -> Callable[[], object]:
    """Return a call of a known operator, with tensors that are made before it is observed."""
    with torch.no_grad():
        one = torch.ones((3, 5), dtype=torch.float64).t()
        other = torch.ones((5, 1), dtype=torch.float64)

    def add() -> object:
        with torch.no_grad():
            return torch.add(one, other, alpha=3)

    return add


def _seen(run: Callable[[], object]) -> list[tuple[str, list[tuple[str, list[int], list[int]]], int, int, int | None]]:
    try:
        return _core._torch_canary(run)
    except Exception as error:
        raise CanaryError(f"an operator that it calls to see whether it is read rightly has failed: {error}") from error
