"""``LRScheduler``: when a learning rate changes, and by what rules it may."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)


class LRScheduler:
    """Sets the learning rates of an optimiser's groups; the base of all schedulers.

    A subclass has ``get_lr``, which computes the next rates from the present ones, so that schedulers can be chained,
    and may have ``_get_closed_form_lr``, which computes them from ``base_lrs`` and ``last_epoch`` alone.

    Args:
        optimizer: whose learning rates to set.
        last_epoch: the last epoch that was run, when training goes on; -1 begins.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _get_closed_form_lr: Callable[[], list[Any]] | None = None
    _last_lr: list[Any]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                    "last_epoch >= 0: load the optimizer's state before making the scheduler, or begin with "
                    "last_epoch=-1"
                )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if optimizer._opt_called is None:
            optimizer._opt_called = False
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with self._marked("_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's attributes, all but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates, one for each group."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch. To be called after the optimiser's own ``step()``."""
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_of_order(self) -> None:
        if not getattr(self.optimizer.step, "hooked", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in "
                "skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        with self._marked("_get_lr_called_within_step"):
            closed_form = None if epoch is None else self._get_closed_form_lr
            rates = self.get_lr() if closed_form is None else closed_form()
        self._set_lrs(rates)

    def _set_lrs(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_group_value(group, "lr", rate)
        self._last_lr = group_values(self.optimizer, "lr")

    def _scaled_lrs(self, factor: float) -> list[Any]:
        """Return the present learning rates, times ``factor``."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    @contextlib.contextmanager
    def _marked(self, flag: str) -> Iterator[None]:
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, False)

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


def check_optimizer(optimizer: object) -> None:
    """Refuse what is not an optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """Return ``value``, or a copy of it if it is a tensor, which would change in place."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """Return an option of all groups."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor stays the same tensor."""
    if isinstance(group[key], torch.Tensor):
        group[key].fill_(value.item() if isinstance(value, torch.Tensor) else value)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return ``value`` once for each group, unless it is a list that has one for each already."""
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [copied(item) for item in value]
