"""NAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.optim._checks import check_betas, check_lr, check_not_negative
from mindtorch_v2.optim.per_parameter import PerParameter, count_step, number, scalar, with_weight_decay

if TYPE_CHECKING:
    import mindtorch_v2 as torch
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """NAdam: Adam with Nesterov's momentum, which grows over the steps."""

    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        return super()._initial_state(group, param) | {"mu_product": scalar(1.0)}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        step = count_step(state)
        beta1, beta2 = group["betas"]
        lr = number(group["lr"])
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_weight_decay(group, param, grad)
        mu, next_mu = (beta1 * (1 - 0.5 * 0.96 ** (at * group["momentum_decay"])) for at in (step, step + 1))
        product = number(state["mu_product"].mul_(mu))
        mean: torch.Tensor = state["exp_avg"].lerp_(grad, 1 - beta1)
        square: torch.Tensor = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = square.div(1 - beta2**step).sqrt_().add_(group["eps"])
        param.addcdiv_(grad, spread, value=-lr * (1 - mu) / (1 - product))
        param.addcdiv_(mean, spread, value=-lr * next_mu / (1 - product * next_mu))
