"""Errors that are of two kinds at once: what PyTorch raises there, and what a Python programmer expects."""

from __future__ import annotations


class NotStartedError(RuntimeError, AssertionError):
    """Something was asked of a profiler that has not been started, or is over."""


class InvalidActivityError(ValueError, TypeError):
    """Something is no activity."""


class InvalidScheduleError(AssertionError, ValueError):
    """A schedule cannot be made of these numbers."""


class InvalidScheduleTypeError(InvalidScheduleError, TypeError):
    """A schedule can be made of whole numbers only."""
