"""Adam."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.optim._checks import check_betas, check_lr, check_not_negative
from mindtorch_v2.optim.fused import Fused
from mindtorch_v2.optim.per_parameter import number, with_weight_decay
from mindtorch_v2.optim.step_counts import StepCounts

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["Adam"]


class Adam(Fused):
    """Adam: steps in the direction of the mean gradient, each weight at its own pace.

    ``decoupled_weight_decay`` shrinks the weights themselves, as AdamW does, rather than add to their gradients.
    """

    _zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_not_negative(epsilon=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        _check_beta_types(betas, foreach)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        self._step_counts: defaultdict[Any, StepCounts] = defaultdict(StepCounts)
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._step_counts = defaultdict(StepCounts)

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        state = super()._initial_state(group, param)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = torch.zeros_like(param)
        return state

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        state["step"] += 1
        beta1, beta2 = map(number, group["betas"])
        lr = number(group["lr"])
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_weight_decay(group, param, grad)
        mean: torch.Tensor = state["exp_avg"].lerp_(grad, 1 - beta1)
        square: torch.Tensor = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(torch.maximum(state["max_exp_avg_sq"], square))
        step = float(state["step"].item())
        spread = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        param.addcdiv_(mean, spread, value=-lr / (1 - beta1**step))

    def _step_fused(self, group: Group, params: list[torch.Tensor]) -> None:
        states = [self._state_of(group, param) for param in params]
        steps = self._step_counts[id(group), params[0].device, params[0].dtype].advance(states)
        beta1, beta2 = map(number, group["betas"])
        fused = _core._fused_adamw_ if group["decoupled_weight_decay"] else _core._fused_adam_
        grads: list[Any] = [param.grad for param in params]
        fused(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
            steps,
            amsgrad=group["amsgrad"],
            lr=number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def _check_beta_types(betas: tuple[Any, Any], foreach: bool | None) -> None:
    tensors = [isinstance(beta, torch.Tensor) for beta in betas]
    if not any(tensors) and all(isinstance(beta, float) for beta in betas):
        return
    if not all(tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if foreach:
            raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")
