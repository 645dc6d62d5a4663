"""The types of events that make up an activity, by which it can be recorded in part."""

from __future__ import annotations

from mindtorch_v2.profiler.activities import ProfilerActivity

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HOST = ("CPU_OP", "USER_ANNOTATION", "PYTHON_FUNCTION", "CPU_INSTANT_EVENT")
_DEVICE = ("KERNEL", "GPU_MEMCPY", "GPU_MEMSET", "CUDA_SYNC", "GPU_USER_ANNOTATION", "PRIVATEUSE1_RUNTIME")

# PyTorch's names that mean one of the above here.
_SAME = {"CONCURRENT_KERNEL": "KERNEL", "CUDA_RUNTIME": "PRIVATEUSE1_RUNTIME"}

# PyTorch's names of events that nothing here makes. To ask for them is no mistake.
_NEVER_HOST = {
    *("EXTERNAL_CORRELATION", "CUDA_RUNTIME", "CUDA_DRIVER", "XPU_RUNTIME", "XPU_DRIVER"),
    *("PRIVATEUSE1_RUNTIME", "PRIVATEUSE1_DRIVER"),
}
_NEVER_DEVICE = {
    *("EXTERNAL_CORRELATION", "CUDA_DRIVER", "PRIVATEUSE1_DRIVER", "OVERHEAD"),
    *("COLLECTIVE_COMM", "CUDA_EVENT", "CUDA_PROFILER_RANGE", "GPU_PM_COUNTER"),
}


def engine_types(filters: Mapping[ProfilerActivity, Iterable[str] | None]) -> list[str] | None:
    """Return what the engine is to keep, or None if that is everything.

    Raises:
        RuntimeError: a name is that of no type of its activity.
    """
    types: list[str] = []
    is_filtered = False
    for activity, known, never in (
        (ProfilerActivity.CPU, _HOST, _NEVER_HOST),
        (ProfilerActivity.NPU, _DEVICE, _NEVER_DEVICE),
    ):
        names = filters.get(activity)
        is_filtered = is_filtered or names is not None
        for name in known if names is None else names:
            if _SAME.get(name, name) in known:
                types.append(_SAME.get(name, name))
            elif name not in never:
                raise RuntimeError(f"Unknown or non-member activity type name: {name!r}")
    return types if is_filtered else None
