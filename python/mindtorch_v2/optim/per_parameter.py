"""The shape that the optimisers share: a state for each parameter, and an update of one parameter at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Group = dict[str, Any]
    State = dict[str, Any]


class PerParameter(Optimizer):
    """An optimiser that says what is remembered of a parameter, and what a step does to one parameter."""

    # What begins as zeros, of the parameter's shape.
    _zeros: tuple[str, ...] = ()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure`` computes the loss anew and returns it."""
        loss = None
        with torch.no_grad():
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: Group) -> None:
        self._step_each(group, group["params"])

    def _step_each(self, group: Group, params: Iterable[torch.Tensor]) -> None:
        # What is remembered of each comes first: a step that begins must not end half way for want of memory.
        entries = [(param, self._state_of(group, param)) for param in params if param.grad is not None]
        for param, state in entries:
            grad: Any = param.grad
            self._update(group, param, -grad if group["maximize"] else grad, state)

    def _state_of(self, group: Group, param: torch.Tensor) -> State:
        state = self.state[param]
        if not state:
            state.update(self._initial_state(group, param))
        return state

    def _initial_state(self, group: Group, param: torch.Tensor) -> State:
        """Return what is remembered of a parameter before its first step."""
        if self._keeps_step_beside(group, param):
            step = torch.zeros((), dtype=torch.float32, device=param.device)
        else:
            step = scalar(0.0)
        return {"step": step} | {name: torch.zeros_like(param) for name in self._zeros}

    def _update(self, group: Group, param: torch.Tensor, grad: torch.Tensor, state: State) -> None:
        """Move ``param``, in place, against ``grad``."""
        raise NotImplementedError


def scalar(value: float, device: torch.device | None = None) -> torch.Tensor:
    """Return a number that a state remembers, as a tensor of the host unless another device is given."""
    dtype = torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32
    return torch.tensor(value, dtype=dtype, device=device)


def number(value: float | torch.Tensor) -> float:
    """Return an option as a number, which it may have been given as a tensor of one element."""
    return float(value.item()) if isinstance(value, torch.Tensor) else value


def count_step(state: State) -> float:
    """Count a step, and return the number of those so far."""
    step = state["step"]
    step += 1
    return float(step.item())


def with_weight_decay(group: Group, param: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return the gradient with that of the L2 penalty."""
    weight_decay = number(group["weight_decay"])
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad
