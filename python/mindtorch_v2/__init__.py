"""MindTorch: tensor programs with the shape of PyTorch, and a profiler for them."""

from mindtorch_v2 import profiler

__all__ = ["profiler"]
