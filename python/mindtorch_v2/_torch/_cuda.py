"""The GPUs that PyTorch computes on: what they do is recorded, too."""

from __future__ import annotations

import os
from pathlib import Path

from mindtorch_v2 import _core
from mindtorch_v2._torch._hook import imported
from mindtorch_v2.profiler._warnings import warn_user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Where the toolkit is, if it is not where the system looks for libraries.
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")

# Torch's keys of what a device is, in the order in which it has them, and what PyTorch calls them.
_PROPERTIES = {
    "name": "name",
    "totalGlobalMem": "total_memory",
    "computeMajor": "major",
    "computeMinor": "minor",
    "maxThreadsPerBlock": "max_threads_per_block",
    "maxThreadsPerMultiprocessor": "max_threads_per_multi_processor",
    "warpSize": "warp_size",
    "sharedMemPerBlock": "shared_memory_per_block",
    "numSms": "multi_processor_count",
    "regsPerMultiprocessor": "regs_per_multiprocessor",
    "sharedMemPerBlockOptin": "shared_memory_per_block_optin",
    "sharedMemPerMultiprocessor": "shared_memory_per_multiprocessor",
}


def start(torch: Any, *, waits: bool) -> bool:
    """Have PyTorch's GPUs tell what they do; say whether they will. If not, the user is told why."""
    try:
        return _core._start_cuda(_libraries(torch), waits)
    except RuntimeError as error:
        warn_user(f"CUDA is not recorded: {error}")
        return False


def finish(torch: Any) -> None:
    """Wait for the GPUs, so that nothing which they were asked to do is missing."""
    try:
        for index in _used(torch):
            torch.cuda.synchronize(index)
    finally:
        # An error of the program's, in a kernel, does not cost what came before it.
        _flush()


def _used(torch: Any) -> list[int]:
    """Return the GPUs that the program uses: to wait for another would make it use that."""
    if not torch.cuda.is_initialized():
        return []
    is_used = getattr(torch._C, "_cuda_hasPrimaryContext", None)
    if is_used is None:
        return [torch.cuda.current_device()]
    return [index for index in range(torch.cuda.device_count()) if is_used(index)]


def _flush() -> None:
    try:
        lost = _core._flush_cuda()
    except RuntimeError as error:
        warn_user(f"not all of what the GPUs did is recorded: {error}")
    else:
        if lost:
            warn_user(f"not all of what the GPUs did is recorded: {lost} activities came faster than they were read")


def versions(torch: Any) -> dict[str, str]:
    """Return what traces say of CUDA in their head, as JSON texts."""
    found = _core._cuda_versions()
    if found is None:
        return {}
    driver, cupti = found
    runtime = torch._C._cuda_getCompiledVersion()
    return {"cuda_driver_version": str(driver), "cuda_runtime_version": str(runtime), "cupti_version": str(cupti)}


def properties(torch: Any) -> list[dict[str, object]]:
    """Return what the GPUs are, under the keys that traces have for it."""
    devices = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [
        {"id": index, **{key: getattr(device, name) for key, name in _PROPERTIES.items() if hasattr(device, name)}}
        for index, device in enumerate(devices)
    ]


def _libraries(torch: Any) -> list[Path]:
    """Return the files that may be CUPTI: of the packages that PyTorch was installed with, and of a toolkit."""
    home = Path(torch.__file__).parent
    directories = [*home.parent.glob("nvidia/*/lib"), home / "lib"]
    toolkits = [*(os.environ[name] for name in _TOOLKITS if os.environ.get(name)), f"{os.sep}usr/local/cuda"]
    directories += [Path(toolkit, "extras", "CUPTI", "lib64") for toolkit in toolkits]
    major = str(torch.version.cuda or "").partition(".")[0]
    found = [library for directory in directories for library in sorted(directory.glob("libcupti.so.*"))]
    # That of PyTorch's own version first.
    return sorted(found, key=lambda library: f".so.{major}" not in library.name)


def pytorch() -> Any | None:
    """Return PyTorch, if it is imported, is to be recorded, and has a GPU."""
    from mindtorch_v2._torch import _is_pytorch  # noqa: PLC0415 (that imports this)

    torch = imported("torch")
    if torch is None or os.environ.get("MINDTORCH_TORCH") == "0" or not _is_pytorch(torch):
        return None
    cuda: Any = getattr(torch, "cuda", None)
    return torch if cuda is not None and cuda.is_available() else None
