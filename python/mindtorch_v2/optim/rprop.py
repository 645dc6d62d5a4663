"""Resilient backpropagation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.optim._checks import check_lr
from mindtorch_v2.optim.per_parameter import PerParameter, number

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Rprop: steps by the sign of the gradient, longer while it stays the same and shorter when it turns."""

    _zeros = ("prev",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        step_size = torch.full_like(param, number(group["lr"]))
        return super()._initial_state(group, param) | {"step_size": step_size}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        state["step"].add_(1)
        shorter, longer = group["etas"]
        turn = grad.mul(state["prev"])
        turned = turn < 0
        factor = torch.ones_like(turn).masked_fill_(turn > 0, longer).masked_fill_(turned, shorter)
        size: torch.Tensor = state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        # Where the sign turned, this step stands still and the next one starts anew.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        state["prev"].copy_(grad)
