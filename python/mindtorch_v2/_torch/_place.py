"""The place that PyTorch has for one profiler of a thread: ours is there while nobody else wants it."""

from __future__ import annotations

from functools import wraps

from mindtorch_v2 import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# What takes a profiler's place, which has to be free. Memory is told to one only, so that ours stays where it has that.
_STARTS = ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy")
# What takes whatever it finds there for PyTorch's own.
_OTHERS = ("_disable_profiler", "_disable_profiler_legacy", "_toggle_collection_dynamic")


def share(torch: Any) -> None:
    """Make room for PyTorch's own profilers from now on, and be back when they have ended."""
    core = torch._C._autograd
    names = [name for name in (*_STARTS, *_OTHERS) if hasattr(core, name)]
    functions = {name: _beside(getattr(core, name), even_with_memory=name in _OTHERS) for name in names}
    # All have them from there, by their names.
    legacy = getattr(torch.autograd, "profiler_legacy", None)
    for module in (core, torch.autograd, torch.autograd.profiler, legacy):
        for name, function in functions.items():
            if hasattr(module, name):
                setattr(module, name, function)


def _beside(function: Callable[..., Any], *, even_with_memory: bool) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _core._give_way_to_torch(even_with_memory)
        try:
            return function(*args, **kwargs)
        finally:
            _core._sync_torch_bridge()

    return call
