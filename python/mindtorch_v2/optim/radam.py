"""RAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.optim._checks import check_betas, check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, count_step, number, with_weight_decay

if TYPE_CHECKING:
    import mindtorch_v2 as torch
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """RAdam: Adam that trusts the mean square only once it has seen enough of it."""

    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        step = count_step(state)
        beta1, beta2 = group["betas"]
        lr = number(group["lr"])
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_weight_decay(group, param, grad)
        mean: torch.Tensor = state["exp_avg"].lerp_(grad, 1 - beta1)
        square: torch.Tensor = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        # How many gradients the mean square amounts to; with five or fewer its variance is not known.
        length = longest - 2 * step * beta2**step / correction
        rate = lr / (1 - beta1**step)
        if length > 5:
            rect = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            spread = square.sqrt().add_(group["eps"])
            param.addcdiv_(mean, spread, value=-rate * (correction * rect) ** 0.5)
        else:
            param.add_(mean, alpha=-rate)
