"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.optim._checks import check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, count_step, number, scalar, with_weight_decay

if TYPE_CHECKING:
    import mindtorch_v2 as torch
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Stochastic gradient descent that also keeps the average of the weights, as ``ax`` in the state."""

    _zeros = ("ax",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(lambd=lambd, alpha=alpha, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        eta, mu = scalar(number(group["lr"]), param.device), scalar(1.0, param.device)
        return super()._initial_state(group, param) | {"eta": eta, "mu": mu}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        step = count_step(state)
        grad = with_weight_decay(group, param, grad)
        lambd, lr = group["lambd"], number(group["lr"])
        eta, mu = number(state["eta"]), number(state["mu"])
        param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(param)
        else:
            state["ax"].add_(param.sub(state["ax"]).mul_(mu))
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
