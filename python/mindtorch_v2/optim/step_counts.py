"""The counts of steps of many parameters."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.optim.per_parameter import State


class StepCounts:
    """Counts the steps of many parameters by one addition: their counts are views of one tensor."""

    def __init__(self) -> None:
        self._counts = torch.zeros(0)
        self._views: list[torch.Tensor] = []

    def advance(self, states: list[State]) -> list[torch.Tensor]:
        """Count a step in each state, and return the counts."""
        steps = [state["step"] for state in states]
        if len(steps) != len(self._views) or not all(map(operator.is_, steps, self._views)):
            # The first time, and when it is others that have gradients, or when a state was loaded.
            self._counts = torch.stack(steps)
            self._views = list(self._counts.unbind())
            for state, view in zip(states, self._views, strict=True):
                state["step"] = view
        self._counts.add_(1)
        return self._views
