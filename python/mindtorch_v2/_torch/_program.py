"""What PyTorch knows of the program that is recorded, and what it is told of being recorded."""

from __future__ import annotations

from mindtorch_v2 import _core
from mindtorch_v2._torch._hook import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# PyTorch's profiler module, if it has a flag for running profilers.
_listener: Any = None
# Whether PyTorch's own profiler records, as it has said itself.
_is_its_own_on = False


def listen(profiler: Any) -> None:
    """Hear what PyTorch's own profiler says of itself from now on: when it ends, it does not speak for ours."""
    global _listener, _is_its_own_on
    if not hasattr(profiler, "_set_is_profiler_enabled"):  # an older version, which asks nobody
        return
    _listener, _is_its_own_on = profiler, profiler._is_profiler_enabled

    def say(enable: bool) -> None:
        global _is_its_own_on  # noqa: PLW0603
        _is_its_own_on = enable
        tell()

    profiler._set_is_profiler_enabled = say
    # A recording may have begun before PyTorch was imported.
    tell()


def tell() -> None:
    """Tell PyTorch whether something is recorded: what it compiles names its parts only then."""
    if _listener is not None:
        _listener._is_profiler_enabled = _is_its_own_on or _core._is_recording()


def distributed_info() -> dict[str, object] | None:
    """Return what a Chrome trace has of PyTorch's process groups, if there are any."""
    distributed = imported("torch.distributed")
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
        info["nccl_version"] = ".".join(map(str, imported("torch").cuda.nccl.version()))
    return info
