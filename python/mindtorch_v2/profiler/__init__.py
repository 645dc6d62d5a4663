"""A profiler with the API of ``torch.profiler``.

>>> from mindtorch_v2.profiler import profile, record_function
>>> with profile() as prof:
...     with record_function("work"):
...         total = sum(range(1000))
>>> [(row.key, row.count) for row in prof.key_averages()]
[('work', 1)]
"""

from __future__ import annotations

from mindtorch_v2._core import record_function
from mindtorch_v2.autograd._events.device_type import DeviceType
from mindtorch_v2.autograd._step_tracker import KinetoStepTracker as KinetoStepTracker
from mindtorch_v2.profiler import _memory_profiler as _memory_profiler
from mindtorch_v2.profiler import _utils as _utils
from mindtorch_v2.profiler import itt as itt
from mindtorch_v2.profiler import profiler as profiler
from mindtorch_v2.profiler._base import _KinetoProfile as _KinetoProfile
from mindtorch_v2.profiler._configs import CuspyConfig, PerformanceMetricsConfig, ProfilerActivityConfig
from mindtorch_v2.profiler._configs import _ExperimentalConfig as _ExperimentalConfig
from mindtorch_v2.profiler._handlers import tensorboard_trace_handler
from mindtorch_v2.profiler._schedule import ProfilerAction, schedule
from mindtorch_v2.profiler._scopes import RecordScope as RecordScope
from mindtorch_v2.profiler.activities import ProfilerActivity, kineto_available, supported_activities
from mindtorch_v2.profiler.profiler import profile

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mindtorch_v2.optim.optimizer import (
        Optimizer as Optimizer,
    )
    from mindtorch_v2.optim.optimizer import (
        register_optimizer_step_post_hook as register_optimizer_step_post_hook,
    )
    from mindtorch_v2.profiler._errors import TraceFormatError
    from mindtorch_v2.profiler._flight_recorder import flight_recorder
    from mindtorch_v2.profiler._overhead import Overhead
    from mindtorch_v2.profiler._trace import Trace
    from mindtorch_v2.profiler.execution_trace import ExecutionTraceObserver

__all__ = [
    "CuspyConfig",
    "DeviceType",
    "ExecutionTraceObserver",
    "Overhead",
    "PerformanceMetricsConfig",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerActivityConfig",
    "Trace",
    "TraceFormatError",
    "flight_recorder",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_supported_activities = supported_activities

# Modules that import this one, or that few need.
_LATER = {
    "ExecutionTraceObserver": "mindtorch_v2.profiler.execution_trace",
    "Optimizer": "mindtorch_v2.optim.optimizer",
    "Overhead": "mindtorch_v2.profiler._overhead",
    "Trace": "mindtorch_v2.profiler._trace",
    "TraceFormatError": "mindtorch_v2.profiler._errors",
    "flight_recorder": "mindtorch_v2.profiler._flight_recorder",
    "register_optimizer_step_post_hook": "mindtorch_v2.optim.optimizer",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (few need it, and the package is to be imported quickly)

    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def is_fbcode() -> bool:
    """Say whether this is Meta's internal build: it is not.

    >>> is_fbcode()
    False
    """
    return False


def _optimizer_post_hook(optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG001 (a hook's signature)
    """Count a step of an optimiser as one of the program's."""
    KinetoStepTracker.increment_step("Optimizer")
