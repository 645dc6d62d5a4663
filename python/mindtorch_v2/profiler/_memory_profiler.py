"""What memory was used for, over time."""

from __future__ import annotations

from enum import Enum

__all__ = ["Action", "Category", "MemoryProfile", "MemoryProfileTimeline"]


class Category(Enum):
    """What a block of memory is used for.

    >>> Category.PARAMETER
    <Category.PARAMETER: 6>
    """

    INPUT = 1
    TEMPORARY = 2
    ACTIVATION = 3
    GRADIENT = 4
    AUTOGRAD_DETAIL = 5
    PARAMETER = 6
    OPTIMIZER_STATE = 7


class Action(Enum):
    """What happened to a block of memory.

    >>> Action(2)
    <Action.CREATE: 2>
    """

    PREEXISTING = 1
    CREATE = 2
    INCREMENT_VERSION = 3
    DESTROY = 4


class MemoryProfile:
    """Would say of each block what it is used for; this is not implemented yet."""

    def __init__(self, result: object) -> None:
        raise NotImplementedError(NOT_YET)


class MemoryProfileTimeline:
    """Would say how much memory was in use for what at each moment; this is not implemented yet."""

    def __init__(self, memory_profile: object) -> None:
        raise NotImplementedError(NOT_YET)


NOT_YET = (
    "the memory timeline is not implemented yet; profile_memory=True gives the memory of each event "
    "(event.cpu_memory_usage) and of each group of them (key_averages()), and every allocation in the Chrome trace"
)
