"""What a profile of ``mindtorch_v2.autograd.profiler`` was asked to do, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindtorch_v2.profiler._configs import _ExperimentalConfig


class ProfilerState(Enum):
    """Which engine records. Here it is always ``KINETO``, for want of a name of its own."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5
    KINETO = 6
    KINETO_GPU_FALLBACK = 7
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9


@dataclass(frozen=True)
class ProfilerConfig:
    """The options of a recording, and its id."""

    state: ProfilerState
    report_input_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    experimental_config: _ExperimentalConfig
    trace_id: str = ""
