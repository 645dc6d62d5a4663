"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.optim._checks import check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, number, with_weight_decay

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """RMSprop: divides each gradient by the root of a running mean of its square."""

    _zeros = ("square_avg",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        state = super()._initial_state(group, param)
        if group["momentum"] > 0:
            state["momentum_buffer"] = torch.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = torch.zeros_like(param)
        return state

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        state["step"].add_(1)
        grad = with_weight_decay(group, param, grad)
        alpha = group["alpha"]
        square: torch.Tensor = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        spread = square.sqrt().add_(group["eps"])
        lr = number(group["lr"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, spread)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, spread, value=-lr)
