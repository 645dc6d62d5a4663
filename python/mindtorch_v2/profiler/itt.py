"""Marks for Intel's Instrumentation and Tracing Technology, which this build does not have.

>>> is_available()
False
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

_MISSING = "ITT functions not installed. Are you sure you have a ITT build?"


def is_available() -> bool:
    """Say whether marks can be made: they cannot."""
    return False


def range_push(msg: str) -> NoReturn:  # noqa: ARG001 (torch's signature)
    """Begin a named range.

    Raises:
        RuntimeError: always, since there is no ITT here; ``record_function`` names parts of a program.
    """
    raise RuntimeError(_MISSING)


def range_pop() -> NoReturn:
    """End the range that was begun last.

    Raises:
        RuntimeError: always, since there is no ITT here.
    """
    raise RuntimeError(_MISSING)


def mark(msg: str) -> NoReturn:  # noqa: ARG001 (torch's signature)
    """Mark a moment.

    Raises:
        RuntimeError: always, since there is no ITT here.
    """
    raise RuntimeError(_MISSING)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001 (torch's name)
    """Make what is in the ``with`` block a range, called ``msg.format(*args, **kwargs)``.

    Raises:
        RuntimeError: always, since there is no ITT here.
    """
    range_push(msg.format(*args, **kwargs))
    yield  # type: ignore[unreachable] # as long as there is no ITT
