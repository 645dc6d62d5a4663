"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.optim._checks import check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, number, with_weight_decay

if TYPE_CHECKING:
    import mindtorch_v2 as torch
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """Adadelta: steps in the units of the weights, from running means of squared gradients and steps."""

    _zeros = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        state["step"].add_(1)
        grad = with_weight_decay(group, param, grad)
        rho, eps = group["rho"], group["eps"]
        square: torch.Tensor = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        spread = square.add(eps).sqrt_()
        delta: torch.Tensor = state["acc_delta"].add(eps).sqrt_().div_(spread).mul_(grad)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-number(group["lr"]))
