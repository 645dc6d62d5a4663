"""Filters: which events of a trace are taken."""

from __future__ import annotations

from mindtorch_v2.profiler._activity_types import engine_types
from mindtorch_v2.profiler.activities import ParsedActivities, ProfilerActivity

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias, TypedDict

    from mindtorch_v2.profiler.activities import Activities

    # Kinds of events, patterns of names, the least duration and the time, both in nanoseconds, threads, the depth.
    NativeFilter: TypeAlias = tuple[list[str], list[str], int, tuple[int, int] | None, list[str], int | None]

    class FilterArguments(TypedDict, total=False):
        """The arguments that say which events to take; of those that are not given, any will do."""

        # As the argument of ``profile``: ``["CPU"]``, or ``[{"CPU": ["CPU_OP"]}]``.
        activities: Activities
        # Names, in which ``*`` stands for any text and ``?`` for any character.
        name: str | Iterable[str]
        # Events that took at least so long; what has no length, such as an allocation, is left out.
        min_duration_us: float
        # What was going on between these times, in microseconds since the start, as ``event.time_range`` has them.
        time_range_us: tuple[float, float]
        # Threads by name, in which ``*`` and ``?`` stand for text, or by the operating system's number.
        thread: str | int | Iterable[str | int]
        # How deep spans are nested at most; 1 are those that no other contains.
        max_depth: int


_ARGUMENTS = ("activities", "name", "min_duration_us", "time_range_us", "thread", "max_depth")

# What the engine calls the types of events that activities are made of.
_KINDS = {
    "CPU_OP": ("op",),
    "USER_ANNOTATION": ("annotation",),
    "PYTHON_FUNCTION": ("function",),
    "CPU_INSTANT_EVENT": ("memory", "instant"),
    "KERNEL": ("kernel", "sync", "device_annotation"),
    "GPU_MEMCPY": ("copy",),
    "GPU_MEMSET": ("set",),
    "PRIVATEUSE1_RUNTIME": ("runtime",),
}


def native_filter(arguments: FilterArguments) -> NativeFilter | None:
    """Return the filter as the engine takes it, or None if it takes everything.

    Raises:
        TypeError: an argument is not one of a filter, or is of another type than it should be.
        ValueError: an activity, a duration or a range makes no sense.
    """
    for argument in arguments:
        if argument not in _ARGUMENTS:
            raise TypeError(f"unexpected keyword argument {argument!r}: a filter has {', '.join(_ARGUMENTS)}")
    if all(value is None for value in arguments.values()):
        return None
    duration = arguments.get("min_duration_us")
    return (
        _kinds(arguments.get("activities")),
        _names(arguments.get("name")),
        0 if duration is None else _nanoseconds("min_duration_us", duration),
        _range(arguments.get("time_range_us")),
        _threads(arguments.get("thread")),
        _depth(arguments.get("max_depth")),
    )


def _kinds(activities: Activities | None) -> list[str]:
    if activities is None:
        return []
    parsed = ParsedActivities(activities)
    if not parsed.members:
        raise ValueError("activities is empty: no event would be taken")
    # An activity that is not named gives no types; one that is named without types gives all of its own.
    types: dict[ProfilerActivity, list[str] | None] = {ProfilerActivity.CPU: [], ProfilerActivity.NPU: []}
    for member in parsed.members:
        config = parsed.configs.get(member)
        types[member] = None if config is None else config.activity_types
    names = engine_types(types)
    kinds = [kind for name in (_KINDS if names is None else names) for kind in _KINDS[name]]
    if not kinds:
        raise ValueError(f"nothing here makes events of these activities: {activities!r}")
    return kinds


def _names(name: str | Iterable[str] | None) -> list[str]:
    if name is None:
        return []
    names = [name] if isinstance(name, str) else list(name) if hasattr(name, "__iter__") else []
    if not names or not all(isinstance(pattern, str) for pattern in names):
        raise TypeError(f"name must be a name or a list of names, such as 'aten::*', not {name!r}")
    return names


def _threads(thread: str | int | Iterable[str | int] | None) -> list[str]:
    if thread is None:
        return []
    threads = [thread] if isinstance(thread, (str, int)) else list(thread) if hasattr(thread, "__iter__") else []
    if not threads or not all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in threads):
        raise TypeError(f"thread must be the name or the number of a thread, or a list of them, not {thread!r}")
    return [str(item) for item in threads]


def _depth(max_depth: int | None) -> int | None:
    if max_depth is None:
        return None
    if isinstance(max_depth, bool) or not isinstance(max_depth, int):
        raise TypeError(f"max_depth must be a number of spans, not {max_depth!r}")
    if max_depth < 1:
        raise ValueError(f"max_depth must be at least 1, not {max_depth!r}: no span would be taken")
    return min(max_depth, 2**32)


def _range(time_range_us: tuple[float, float] | None) -> tuple[int, int] | None:
    if time_range_us is None:
        return None
    try:
        start, end = time_range_us
    except (TypeError, ValueError):
        raise TypeError(f"time_range_us must be a start and an end, not {time_range_us!r}") from None
    first, last = _nanoseconds("the start of time_range_us", start), _nanoseconds("the end of time_range_us", end)
    if last < first:
        raise ValueError(f"time_range_us ends before it begins: {time_range_us!r}")
    return first, last


def _nanoseconds(what: str, us: float) -> int:
    if isinstance(us, bool) or not isinstance(us, (int, float)):
        raise TypeError(f"{what} must be a number of microseconds, not {us!r}")
    # Not a number is not even that.
    if not us >= 0:
        raise ValueError(f"{what} must not be negative, not {us!r}")
    # What is longer than any recording may be infinite.
    return 2**63 - 1 if us >= 2**53 else round(us * 1000)
