"""The names that error messages and ``Module.type`` have for types of tensors and of other objects."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

_TENSOR_NAMES = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.uint8: "ByteTensor",
    torch.int8: "CharTensor",
    torch.int16: "ShortTensor",
    torch.int32: "IntTensor",
    torch.int64: "LongTensor",
    torch.bool: "BoolTensor",
}


def typename(value: Any) -> str:
    """Return the name of a value's type: ``torch.FloatTensor`` of a tensor, ``list`` of a list."""
    if isinstance(value, torch.Tensor):
        device = "" if value.device.type == "cpu" else f"{value.device.type}."
        return f"torch.{device}{_TENSOR_NAMES.get(value.dtype, 'Tensor')}"
    kind = type(value)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def dtype_named(name: str) -> torch.dtype:
    """Return the dtype of a tensor type's name, such as ``torch.FloatTensor``."""
    for dtype, tensor_name in _TENSOR_NAMES.items():
        if name == f"torch.{tensor_name}":
            return dtype
    raise ValueError(f"invalid type: '{name}'")
