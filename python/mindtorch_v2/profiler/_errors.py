"""Errors that are of two kinds at once: what PyTorch raises there, and what a Python programmer expects."""

from __future__ import annotations

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mindtorch_v2.profiler._trace import Trace


class NotStartedError(RuntimeError, AssertionError):
    """Something was asked of a profiler that has not been started, or is over."""


class InvalidActivityError(ValueError, TypeError):
    """Something is no activity."""


class InvalidScheduleError(AssertionError, ValueError):
    """A schedule cannot be made of these numbers."""


class InvalidScheduleTypeError(InvalidScheduleError, TypeError):
    """A schedule can be made of whole numbers only."""


class TraceFormatError(ValueError):
    """A file that was to be read as a trace is broken, or is none.

    Attributes:
        offset: the byte at which reading stopped, of the text if the file is compressed.
        trace: what could be read before that, as a trace, or None.

    >>> import tempfile
    >>> from mindtorch_v2.profiler import Trace
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     written = file.write(b'{"traceEvents": ['), file.flush()
    ...     try:
    ...         Trace.load(file.name)
    ...     except TraceFormatError as error:
    ...         error.offset
    17
    """

    def __init__(self, message: str, offset: int, trace: Trace | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.trace = trace
