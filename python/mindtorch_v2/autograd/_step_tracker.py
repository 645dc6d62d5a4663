"""``KinetoStepTracker``: one count of steps for all who count them."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar


class KinetoStepTracker:
    """Counts the steps of a program that several parties count: profilers, optimisers.

    The count of the program is that of the party that is furthest.

    >>> KinetoStepTracker.init_step_count("loop")
    >>> before = KinetoStepTracker.current_step()
    >>> KinetoStepTracker.increment_step("loop") - before
    1
    >>> KinetoStepTracker.erase_step_count("loop"), KinetoStepTracker.erase_step_count("loop")
    (True, False)
    """

    _current_step = 0
    _step_dict: ClassVar[defaultdict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a party begin to count, from where the program is."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a party; say whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a party, and return the count of the program."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        step = max(cls._step_dict.values())
        if step > cls._current_step + 1:
            from mindtorch_v2.profiler._warnings import warn_user  # noqa: PLC0415 (the package may still be importing)

            warn_user(
                "Profiler step count has increased more than 1 - "
                f"current_step = {cls._current_step} step dict =  {cls._step_dict}"
            )
        cls._current_step = max(cls._current_step, step)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the count of the program."""
        return cls._current_step
