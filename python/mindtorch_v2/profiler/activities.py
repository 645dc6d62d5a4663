"""What can be recorded."""

from __future__ import annotations

from enum import Enum

from mindtorch_v2 import _core

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ProfilerActivity(Enum):
    """A kind of activity: what the host does, or what the accelerator does."""

    CPU = 0
    NPU = 2
    CUDA = 2
    GPU = 2


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded on this machine."""
    return {ProfilerActivity.CPU, ProfilerActivity.NPU} if _core._npu_device_count() > 0 else {ProfilerActivity.CPU}


def parse_activities(activities: Iterable[ProfilerActivity | str] | None) -> set[ProfilerActivity]:
    """Return the activities that a user asked for, by member or by name; None asks for all that are supported."""
    if activities is None:
        return supported_activities()
    if isinstance(activities, str) or not hasattr(activities, "__iter__"):
        raise ValueError(f"activities must be a list of activities, such as ['CPU'], not {activities!r}")
    parsed: set[ProfilerActivity] = set()
    for item in activities:
        activity = _parse(item)
        if activity in parsed:
            raise ValueError(f"Activity {activity} specified more than once")
        parsed.add(activity)
    if not parsed:
        raise AssertionError("No valid profiler activities found")
    return parsed


def _parse(item: ProfilerActivity | str) -> ProfilerActivity:
    if isinstance(item, ProfilerActivity):
        return item
    activity = ProfilerActivity.__members__.get(item) if isinstance(item, str) else None
    if activity is None:
        names = ", ".join(ProfilerActivity.__members__)
        raise ValueError(f"Unknown profiler activity {item!r}: expected one of {names}")
    return activity
