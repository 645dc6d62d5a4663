"""Adagrad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.optim._checks import check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, count_step, number, with_weight_decay

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """Adagrad: each weight at a pace that falls with the gradients it has seen."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        if fused:
            raise ValueError("fused=True is not supported by Adagrad: leave it None")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        # Others begin a state with the first gradient; torch's Adagrad, and so every state dict of it, begins here.
        for group in self.param_groups:
            for param in group["params"]:
                self._state_of(group, param)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        total = torch.full_like(param, group["initial_accumulator_value"])
        return super()._initial_state(group, param) | {"sum": total}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        step = count_step(state)
        grad = with_weight_decay(group, param, grad)
        lr = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        total: torch.Tensor = state["sum"].addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-lr)
