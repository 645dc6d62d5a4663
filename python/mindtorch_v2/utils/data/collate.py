"""How the samples of a batch become one."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: Any) -> Any:
    """Put samples together: tensors and numbers are stacked, in mappings and sequences each for itself."""
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(list(batch), 0)
    if _is_numpy(first):
        return torch.stack([torch.as_tensor(sample) for sample in batch], 0)
    if isinstance(first, (int, float)):
        return torch.tensor(list(batch), dtype=torch.float64 if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return _like_sequence(first, columns)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """Make tensors of numpy arrays, in mappings and sequences too, and leave everything else as it is."""
    if isinstance(data, (torch.Tensor, str, bytes)):
        return data
    if _is_numpy(data):
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def _is_numpy(value: Any) -> bool:
    """Say whether a value is an array or a number of numpy's, which need not be installed."""
    kind = type(value)
    if kind.__module__ != "numpy" or not hasattr(value, "dtype"):
        return False
    # Text and objects have no tensors.
    return value.dtype.kind not in "SUO"


def _like_mapping(original: Any, items: dict[Any, Any]) -> Any:
    try:
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)
            clone.update(items)
            return clone
        return type(original)(items)
    except TypeError:
        # A mapping that is not made of a dict, or that cannot be copied or changed.
        return items


def _like_sequence(original: Any, items: list[Any]) -> Any:
    if hasattr(original, "_fields"):
        return type(original)(*items)
    if isinstance(original, tuple):
        # A list even so, which is what torch gives.
        return items
    try:
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for position, item in enumerate(items):
                clone[position] = item
            return clone
        return type(original)(items)
    except TypeError:
        # A sequence that is not made of a list, such as a range, or that cannot be copied or changed.
        return items
