"""``schedule``: which steps of a program are recorded."""

from __future__ import annotations

from enum import Enum

from mindtorch_v2._torch._values import is_torchs
from mindtorch_v2.profiler._errors import InvalidScheduleError, InvalidScheduleTypeError
from mindtorch_v2.profiler._warnings import warn_user

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class ProfilerAction(Enum):
    """What a profiler does during a step; a schedule returns one for each step.

    >>> [action.name for action in ProfilerAction]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'DEVICE_STOPPED']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    # The profiler's own: a schedule may not return it.
    DEVICE_STOPPED = 4


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule that repeats a cycle: steps that wait, that warm up and that record.

    The last recording step of a cycle is also the one after which the trace is ready.

    Args:
        wait: how many steps at the start of a cycle do nothing.
        warmup: how many steps follow in which the profiler is made ready.
        active: how many steps follow that are recorded.
        repeat: after how many cycles to end; 0 never ends.
        skip_first: how many steps to leave alone before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Raises:
        AssertionError: a number is too small; it is a ValueError too, or a TypeError if it is no whole number.

    >>> action = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [action(step).name for step in range(6)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE', 'NONE']
    """
    _check_types(wait, warmup, active, repeat, skip_first, skip_first_wait)
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        # As in PyTorch, which does not look at skip_first_wait.
        also = "" if skip_first_wait >= 0 else f", skip_first_wait={skip_first_wait} (need >= 0)"
        raise InvalidScheduleError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0){also}."
        )
    if warmup == 0:
        warn_user("Profiler won't be using warmup, this can skew profiler results")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _check_types(*numbers: object) -> None:
    for number in numbers:
        if not hasattr(number, "__index__"):
            raise InvalidScheduleTypeError(
                f"Invalid profiler schedule arguments. Got {number!r}, but they must be whole numbers."
            )


def always_record(_step: int) -> ProfilerAction:
    """Return the action of every step of a profiler that has no schedule."""
    return ProfilerAction.RECORD


def checked(action: object, step: int) -> ProfilerAction:
    """Return what a user's schedule returned, if it may."""
    if is_torchs(action, "ProfilerAction"):
        action = ProfilerAction.__members__.get(action.name, action)  # type: ignore[attr-defined]
    if not isinstance(action, ProfilerAction):
        raise TypeError(f"a schedule must return a ProfilerAction, but for step {step} it returned {action!r}")
    if action is ProfilerAction.DEVICE_STOPPED:
        raise ValueError(
            "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
            "user-provided schedule"
        )
    return action
