"""Streams, events, and the stream that work goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2 import _core
from mindtorch_v2._core import Event, Stream

if TYPE_CHECKING:
    from types import TracebackType

    from mindtorch_v2.npu.devices import Device

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class StreamContext:
    """Have this thread's work go to a stream until the block ends. None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.stream is not None:
            self.stream.__exit__(exc_type, exc_value, traceback)


def stream(stream: Stream | None) -> StreamContext:
    """Have this thread's work go to a stream until the block ends. None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Device = None) -> Stream:
    """Return the stream of a device that this thread's work goes to."""
    return _core._npu_current_stream(device)


def default_stream(device: Device = None) -> Stream:
    """Return the stream of a device that work goes to unless another is chosen."""
    return _core._npu_default_stream(device)


def set_stream(stream: Stream | None) -> None:
    """Have this thread's work go to a stream from now on. None changes nothing."""
    if stream is not None:
        _core._npu_set_stream(stream)
