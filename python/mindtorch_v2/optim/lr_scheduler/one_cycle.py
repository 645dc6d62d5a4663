"""A schedule that goes up once and then down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mindtorch_v2.optim.lr_scheduler.momentum import begin_cycle, set_momentum, uses_beta1
from mindtorch_v2.optim.lr_scheduler.scheduler import LRScheduler, check_optimizer, for_each_group

if TYPE_CHECKING:
    from typing import Literal

    from mindtorch_v2.optim.optimizer import Optimizer

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """Up to ``max_lr`` and then down to almost nothing, over all steps of a training; the momentum goes the other way.

    Args:
        optimizer: whose learning rates to set.
        max_lr: the highest learning rate, of all groups or of each.
        total_steps: how many steps there will be; or else give ``epochs`` and ``steps_per_epoch``.
        epochs: how many epochs there will be.
        steps_per_epoch: how many steps each has.
        pct_start: the part of all steps that goes up.
        anneal_strategy: along a cosine (``"cos"``) or a line (``"linear"``).
        cycle_momentum: whether to set the momentum too.
        base_momentum: the lowest momentum.
        max_momentum: the highest.
        div_factor: begins at ``max_lr / div_factor``.
        final_div_factor: ends at that, divided by this.
        three_phase: goes down to where it began, first, and then to the end.
        last_epoch: the last step that was run, when training goes on; -1 begins.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = [phase._asdict() for phase in _phases(self.total_steps, pct_start, three_phase)]
        self._anneal_func_type = anneal_strategy
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                begin_cycle(optimizer, base_momentums, max_momentums, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates, and set the momentum."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        phase, part = self._position()
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                set_momentum(group, momentum, self.use_beta1)
        return rates

    def _position(self) -> tuple[dict[str, Any], float]:
        """Return the present phase, and how much of it has passed."""
        start = 0.0
        *others, last = self._schedule_phases
        for phase in others:
            if self.last_epoch <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = last
        return phase, (self.last_epoch - start) / (phase["end_step"] - start)

    def _anneal(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start


class _Phase(NamedTuple):
    """Until when, and between which options of a group, learning rate and momentum move."""

    end_step: float
    start_lr: str
    end_lr: str
    start_momentum: str
    end_momentum: str


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[_Phase]:
    top = float(pct_start * total_steps) - 1
    end = total_steps - 1
    up = _Phase(top, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        return [up, _Phase(end, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    down_to = float(2 * pct_start * total_steps) - 2
    return [
        up,
        _Phase(down_to, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        _Phase(end, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: int) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value
