"""MindTorch: tensor programs with the shape of PyTorch, and a profiler for them."""

# ruff: noqa: F401, F403 (what is imported here is what the package has)

from __future__ import annotations

from math import e, inf, nan, pi

from mindtorch_v2 import _core, _interpreter
from mindtorch_v2._core import *
from mindtorch_v2._core import Generator, OutOfMemoryError, Tensor, default_generator, device, dtype
from mindtorch_v2._functions import *
from mindtorch_v2._size import Size
from mindtorch_v2._tensor_str import set_printoptions

# From here on modules use what is above.
from mindtorch_v2 import _tensor, autograd, npu, profiler, return_types  # isort: skip
from mindtorch_v2.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # isort: skip

# Not imported from typing, which this package does without.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mindtorch_v2 import nn, optim, utils
    from mindtorch_v2.serialization import load, save

__version__ = "0.1.0"

# Programs that know their accelerator as CUDA find it here.
cuda = npu

# Loaded when they are first used: who only profiles does not wait for them.
_LATER = {"nn": "nn", "optim": "optim", "utils": "utils", "serialization": "serialization"}
_LATER |= {"load": "serialization", "save": "serialization"}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    found = import_module(f"{__name__}.{module}")
    value = found if module == name else getattr(found, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
