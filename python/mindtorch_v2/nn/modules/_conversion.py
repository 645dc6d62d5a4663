"""Moving a module's tensors to another device and converting them to another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.nn._typename import dtype_named
from mindtorch_v2.nn.modules._members import Members

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from mindtorch_v2 import Tensor

    Device = torch.device | str | int


class Conversion(Members):
    """The part of a module that changes where its tensors are and what they hold."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace what each tensor holds by what ``fn`` makes of it; the tensors stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            # Their history is not of interest: parameters are leaves, and stay so.
            with torch.no_grad():
                grad = param.grad
                converted_grad = None if grad is None else fn(grad.data)
                # A gradient must have its parameter's type, so it cannot be there while that changes.
                param.grad = None
                param.data = fn(param.data)
                if grad is not None and converted_grad is not None:
                    grad.data = converted_grad
                    param.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, convert floating point tensors to a dtype, or both.

        Called as ``to(device, dtype, non_blocking)``, ``to(dtype, non_blocking)`` or ``to(tensor, non_blocking)``.
        """
        device, dtype, non_blocking = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            target = dtype if dtype is not None and tensor.dtype.is_floating_point else tensor.dtype
            return tensor.to(tensor.device if device is None else device, target, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Device | None, recurse: bool = True) -> Self:
        """Move to a device without copying what the tensors hold."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.to("cpu"))

    def npu(self, device: Device | None = None) -> Self:
        """Move to an NPU, the first one unless another is named."""
        target = torch.device("npu") if device is None else _device(device)
        return self._apply(lambda tensor: tensor.to(target))

    def cuda(self, device: Device | None = None) -> Self:
        """Move to an NPU: programs written for CUDA run on it."""
        return self.npu(device)

    def float(self) -> Self:
        """Convert floating point tensors to ``float32``."""
        return self.to(torch.float32)

    def double(self) -> Self:
        """Convert floating point tensors to ``float64``."""
        return self.to(torch.float64)

    def half(self) -> Self:
        """Convert floating point tensors to ``float16``."""
        return self.to(torch.float16)

    def bfloat16(self) -> Self:
        """Convert floating point tensors to ``bfloat16``."""
        return self.to(torch.bfloat16)

    def type(self, dst_type: torch.dtype | str) -> Self:
        """Convert every tensor, of integers too, to a dtype or to that of a name such as ``torch.FloatTensor``."""
        dtype = dtype_named(dst_type) if isinstance(dst_type, str) else dst_type
        return self._apply(lambda tensor: tensor.to(dtype))

    def share_memory(self) -> Self:
        """Raise: tensors cannot be shared between processes."""
        raise NotImplementedError(
            "share_memory() is not supported: tensors cannot be shared between processes; "
            "send a state_dict() to the other process and load it there"
        )


def parse_to(*args: Any, **kwargs: Any) -> tuple[torch.device | None, torch.dtype | None, bool]:
    """Return the device, the dtype and ``non_blocking`` that arguments of ``to`` mean."""
    if kwargs.pop("memory_format", None) is not None:
        raise NotImplementedError("to() does not support memory_format: tensors keep the order of their dimensions")
    first = args[0] if args else None
    if isinstance(first, torch.Tensor) or "tensor" in kwargs:
        return _parse_to_tensor(*args, **kwargs)
    if isinstance(first, torch.dtype):
        return _parse_to_dtype(*args, **kwargs)
    return _parse_to_device(*args, **kwargs)


_Parsed = tuple["torch.device | None", "torch.dtype | None", bool]


def _parse_to_tensor(tensor: Tensor, non_blocking: bool = False) -> _Parsed:
    return tensor.device, tensor.dtype, non_blocking


def _parse_to_dtype(dtype: torch.dtype, non_blocking: bool = False) -> _Parsed:
    return None, dtype, non_blocking


def _parse_to_device(
    device: Device | None = None, dtype: torch.dtype | None = None, non_blocking: bool = False
) -> _Parsed:
    return None if device is None else _device(device), dtype, non_blocking


def _device(device: Device) -> torch.device:
    return torch.device("npu", device) if isinstance(device, int) else torch.device(device)
