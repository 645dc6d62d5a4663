"""Schedules that the user gives as functions of the epoch."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from mindtorch_v2.optim.lr_scheduler.scheduler import LRScheduler, group_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindtorch_v2.optim.optimizer import Optimizer

    Lambda = Callable[[int], float]

__all__ = ["LambdaLR", "MultiplicativeLR"]


class _Lambdas(LRScheduler):
    """A scheduler with one function for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Lambda | Sequence[Lambda], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        lambdas: list[Any] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lambdas)}")
        for function in lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        self.lr_lambdas: list[Lambda] = lambdas
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's attributes; of functions nothing is kept, of callable objects their attributes."""
        state = super().state_dict()
        state["lr_lambdas"] = [attributes_of(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned; the functions stay."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                vars(function).update(attributes)


class LambdaLR(_Lambdas):
    """The initial learning rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates."""
        self._warn_outside_step()
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Lambdas):
    """The present learning rate times ``lr_lambda(epoch)``, each epoch."""

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates."""
        self._warn_outside_step()
        rates = group_values(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * factor(self.last_epoch) for factor, rate in zip(self.lr_lambdas, rates, strict=True)]


def attributes_of(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Return the attributes of a callable object, which can be saved; functions cannot."""
    if function is None or isinstance(function, types.FunctionType):
        return None
    return vars(function).copy()
