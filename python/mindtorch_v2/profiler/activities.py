"""What can be recorded."""

from __future__ import annotations

from enum import Enum

from mindtorch_v2 import _core, _torch
from mindtorch_v2._torch._values import is_torchs
from mindtorch_v2.profiler._errors import InvalidActivityError

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from mindtorch_v2.profiler._configs import ProfilerActivityConfig

    Activity: TypeAlias = "ProfilerActivity | str"
    Activities: TypeAlias = "Iterable[Activity | Mapping[Activity, list[str] | ProfilerActivityConfig | None]]"


class ProfilerActivity(Enum):
    """A kind of activity: what the host does, or what a device does.

    CUDA, GPU, NPU and PrivateUse1 all are the accelerator, and equal.

    >>> ProfilerActivity.CUDA == ProfilerActivity.NPU == ProfilerActivity.GPU == ProfilerActivity.PrivateUse1
    True
    >>> ProfilerActivity.CUDA
    <ProfilerActivity.CUDA: 2>
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    NPU = 5
    PrivateUse1 = 5
    GPU = 2

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ProfilerActivity) and self._is_accelerator and other._is_accelerator)

    def __hash__(self) -> int:
        return 5 if self._is_accelerator else self._value_

    @property
    def _is_accelerator(self) -> bool:
        return self._value_ in {2, 5}


# What users may say instead of a member.
_NAMES = ("CPU", "NPU", "CUDA", "GPU")


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded on this machine.

    >>> ProfilerActivity.CPU in supported_activities()
    True
    """
    return {ProfilerActivity.CPU, ProfilerActivity.NPU} if has_device() else {ProfilerActivity.CPU}


def has_device() -> bool:
    """Say whether there is an accelerator to record."""
    return _core._npu_device_count() > 0 or _torch.with_cuda() is not None


def device_name() -> str:
    """Return what the accelerator is called: ``"cuda"`` where PyTorch has a GPU, else ``"npu"``.

    >>> device_name()
    'npu'
    """
    return "npu" if _torch.with_cuda() is None else "cuda"


def kineto_available() -> bool:
    """Say whether there is an engine to record with: always.

    >>> kineto_available()
    True
    """
    return True


class ParsedActivities:
    """What a user asked to be recorded."""

    def __init__(self, activities: Activities | None) -> None:
        self.members: set[ProfilerActivity] = set()
        self.configs: dict[ProfilerActivity, ProfilerActivityConfig] = {}
        # The names of activities that this machine lacks.
        self.absent: list[str] = []
        if activities is None:
            self.members = supported_activities()
            return
        if isinstance(activities, (str, ProfilerActivity)) or not hasattr(activities, "__iter__"):
            raise InvalidActivityError(f"activities must be a list of activities, such as ['CPU'], not {activities!r}")
        # A lone dict is meant as one, and not as the list of its keys.
        for item in [activities] if isinstance(activities, dict) else activities:
            if isinstance(item, dict):
                for key, config in item.items():
                    self.configs[self._add(key)] = _config(config)
            else:
                self._add(item)

    def _add(self, item: object) -> ProfilerActivity:
        activity = parse(item)
        if activity in self.members:
            raise ValueError(f"Activity {activity} specified more than once")
        self.members.add(activity)
        is_known = activity in {ProfilerActivity.NPU, ProfilerActivity.XPU, ProfilerActivity.HPU}
        if is_known and activity not in supported_activities():
            self.absent.append(activity.name)
        return activity


def parse(item: object) -> ProfilerActivity:
    """Return the activity that is meant: a member, or CPU, NPU, CUDA or GPU by name."""
    if is_torchs(item, "ProfilerActivity"):
        item = ProfilerActivity.__members__.get(item.name, item)  # type: ignore[attr-defined]
    if isinstance(item, ProfilerActivity):
        return ProfilerActivity.NPU if item._is_accelerator else item
    if not isinstance(item, str):
        raise InvalidActivityError(f"Expected ProfilerActivity or dict, got {type(item)}")
    if item not in _NAMES:
        raise InvalidActivityError(f"Unknown profiler activity {item!r}: expected one of {', '.join(_NAMES)}")
    return ProfilerActivity.CPU if item == "CPU" else ProfilerActivity.NPU


def _config(value: object) -> ProfilerActivityConfig:
    from mindtorch_v2.profiler._configs import ProfilerActivityConfig  # noqa: PLC0415 (it takes time, and few need it)

    if isinstance(value, ProfilerActivityConfig):
        return value
    if value is not None and (isinstance(value, str) or not hasattr(value, "__iter__")):
        raise InvalidActivityError(
            f"the types of an activity must be a list of their names, such as ['CPU_OP'], not {value!r}"
        )
    return ProfilerActivityConfig(None if value is None else list(value))
