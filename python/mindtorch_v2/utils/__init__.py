"""Tools around tensors: data loading and hooks."""

from mindtorch_v2.utils import data, hooks

__all__ = ["data", "hooks"]
