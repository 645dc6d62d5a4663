"""Which accelerators there are, and which one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2 import _core

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TypeAlias

    # A device, its text, or its number; None is the current one.
    Device: TypeAlias = _core.device | str | int | None

_NONE = -1


class device:
    """Use an accelerator until the block ends. A negative number changes nothing."""

    def __init__(self, device: Device) -> None:
        self.idx = _index(device)
        self.prev_idx = _NONE

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """Use the accelerator that a tensor is on until the block ends. One on the host changes nothing."""

    def __init__(self, obj: _core.Tensor) -> None:
        super().__init__(obj.get_device())


def _index(device: Device) -> int:
    """Return the number of a device; -1 for any negative number."""
    if isinstance(device, int) and device < 0:
        return _NONE
    return _core._npu_index(device)


def is_available() -> bool:
    """Say whether there is an accelerator."""
    return device_count() > 0


def is_initialized() -> bool:
    """Say whether this process has used an accelerator."""
    return _core._npu_is_initialized()


def is_bf16_supported() -> bool:
    """Say whether there is an accelerator, as each computes in ``bfloat16``."""
    return is_available()


def init() -> None:
    """Start the current accelerator; its first use does so, too."""
    _core._npu_init()


def device_count() -> int:
    """Return how many accelerators there are."""
    return _core._npu_device_count()


def current_device() -> int:
    """Return the number of the accelerator that this thread uses."""
    return _core._npu_current_device()


def set_device(device: Device) -> None:
    """Make this thread use an accelerator. A negative number changes nothing."""
    index = _index(device)
    if index != _NONE:
        _core._npu_set_device(index)


def synchronize(device: Device = None) -> None:
    """Wait until an accelerator has done all that it was given."""
    _core._npu_synchronize(device)


def get_device_name(device: Device = None) -> str:
    """Return what an accelerator is called."""
    return get_device_properties(device).name


def get_device_properties(device: Device = None) -> _core._NpuDeviceProperties:
    """Return the name of an accelerator and the bytes of memory that it has."""
    return _core._npu_device_properties(device)
