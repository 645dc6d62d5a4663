"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.optim._checks import check_betas, check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, count_step, number, with_weight_decay

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Adamax: Adam with the largest recent gradient in the place of the mean square."""

    _zeros = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(epsilon=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        step = count_step(state)
        grad = with_weight_decay(group, param, grad)
        beta1, beta2 = group["betas"]
        mean: torch.Tensor = state["exp_avg"].lerp_(grad, 1 - beta1)
        peak: torch.Tensor = state["exp_inf"].mul_(beta2)
        peak.copy_(torch.maximum(peak, grad.abs().add_(group["eps"])))
        param.addcdiv_(mean, peak, value=-number(group["lr"]) / (1 - beta1**step))
