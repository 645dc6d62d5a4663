"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.optim._checks import check_lr, check_not_negative
from mindtorch_v2.optim.fused import Fused
from mindtorch_v2.optim.per_parameter import number, with_weight_decay

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT
    from mindtorch_v2.optim.per_parameter import Group, State

__all__ = ["SGD"]


class SGD(Fused):
    """Stochastic gradient descent, with momentum, Nesterov's if asked for, and weight decay."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | torch.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _state_of(self, group: Group, param: torch.Tensor) -> State:
        # Without momentum there is nothing to remember, and so no entry in the state dict.
        return self.state[param] if group["momentum"] != 0 else {}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        grad = with_weight_decay(group, param, grad)
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-number(group["lr"]))

    def _step_fused(self, group: Group, params: list[torch.Tensor]) -> None:
        if group["momentum"] == 0:
            self._call_fused(group, params, [], is_first_step=False)
            return
        starting: list[tuple[torch.Tensor, State]] = []
        going: list[tuple[torch.Tensor, State]] = []
        for param in params:
            state = self.state[param]
            (starting if state.get("momentum_buffer") is None else going).append((param, state))
        for param, state in starting:
            state["momentum_buffer"] = torch.empty_like(param)
        for entries, is_first_step in ((going, False), (starting, True)):
            if entries:
                buffers = [state["momentum_buffer"] for _, state in entries]
                self._call_fused(group, [param for param, _ in entries], buffers, is_first_step=is_first_step)

    def _call_fused(
        self, group: Group, params: list[torch.Tensor], buffers: list[torch.Tensor], *, is_first_step: bool
    ) -> None:
        grads: list[Any] = [param.grad for param in params]
        _core._fused_sgd_(
            params,
            grads,
            buffers,
            weight_decay=number(group["weight_decay"]),
            momentum=group["momentum"],
            lr=number(group["lr"]),
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            is_first_step=is_first_step,
        )
