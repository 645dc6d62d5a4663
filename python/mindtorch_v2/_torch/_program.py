"""What PyTorch knows of the program that is recorded, and what it is told of being recorded."""

from __future__ import annotations

import sys

from mindtorch_v2 import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Whether PyTorch's own profiler records, as it has said itself.
_is_its_own_on = False


def listen(profiler: Any) -> None:
    """Hear what PyTorch's own profiler says of itself from now on: when it ends, it does not speak for ours."""
    global _is_its_own_on  # noqa: PLW0603 (there is one PyTorch)
    if not hasattr(profiler, "_set_is_profiler_enabled"):  # an older version, which asks nobody
        return
    _is_its_own_on = profiler._is_profiler_enabled

    def say(enable: bool) -> None:
        global _is_its_own_on  # noqa: PLW0603
        _is_its_own_on = enable
        tell()

    profiler._set_is_profiler_enabled = say


def tell() -> None:
    """Tell PyTorch whether something is recorded: what it compiles names its parts only then."""
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if hasattr(profiler, "_set_is_profiler_enabled") and _core._torch_bridge() is not None:
        profiler._is_profiler_enabled = _is_its_own_on or _core._is_recording()


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
