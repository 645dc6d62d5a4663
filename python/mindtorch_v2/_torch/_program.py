"""What PyTorch knows of the program that is recorded, and what it is told of being recorded."""

from __future__ import annotations

import sys

from mindtorch_v2 import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Whether it was told by us.
_was_told = False


def tell() -> None:
    """Tell PyTorch whether something is recorded: what it compiles names its parts only then."""
    global _was_told  # noqa: PLW0603 (there is one PyTorch)
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if profiler is None or not hasattr(profiler, "_is_profiler_enabled") or _core._torch_bridge() is None:
        return
    if _core._is_recording():
        if not profiler._is_profiler_enabled:
            profiler._is_profiler_enabled = _was_told = True
    elif _was_told:
        _was_told = False
        # If PyTorch's own is on, it says so itself when it ends.
        profiler._is_profiler_enabled = bool(sys.modules["torch"]._C._autograd._profiler_enabled())


def distributed_info() -> dict[str, object] | None:
    """Return what a Chrome trace has of PyTorch's process groups, if there are any."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    backend = distributed.get_backend()
    info = {
        "backend": backend,
        "rank": distributed.get_rank(),
        "world_size": distributed.get_world_size(),
        "pg_count": distributed.get_pg_count(),
        "pg_config": distributed.distributed_c10d._get_all_pg_configs(),
    }
    if backend == "nccl":
        info["nccl_version"] = ".".join(map(str, sys.modules["torch"].cuda.nccl.version()))
    return info
