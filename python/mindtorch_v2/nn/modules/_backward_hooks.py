"""The hooks that run around the backward pass of one call of a module."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindtorch_v2 import Tensor

Grads = tuple["Tensor | None", ...]


class BackwardHooks:
    """Watches the gradients of a call's outputs and of its inputs.

    The tensors that need a gradient pass through an identity, whose own gradient is complete when it is asked for:
    that of an output when the backward pass reaches the module, that of an input when it leaves.
    """

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]) -> None:
        self._module = module
        self._hooks = hooks
        self._pre_hooks = pre_hooks
        self._input_count = 0
        self._inputs_watched = False
        self._grad_outputs: Grads | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments that ``forward`` is to be called with."""
        self._input_count = len(args)
        watched = _watch(args, self._leave)
        self._inputs_watched = watched is not args
        return watched

    def watch_outputs(self, result: Any) -> Any:
        """Return the result that the caller is to get."""
        if isinstance(result, torch.Tensor):
            return _watch((result,), self._enter)[0]
        if isinstance(result, tuple):
            watched = _watch(result, self._enter)
            return type(result)(*watched) if hasattr(result, "_fields") else watched
        warnings.warn(
            "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
            f"but received {type(result)}",
            stacklevel=4,
        )
        return result

    def _enter(self, grad_outputs: Grads) -> Grads:
        for hook in self._pre_hooks:
            grad_outputs = _replaced(grad_outputs, hook(self._module, grad_outputs), "Backward pre hook", "grad_output")
        if self._inputs_watched:
            self._grad_outputs = grad_outputs
        elif self._hooks:
            self._call_without_inputs(grad_outputs)
        return grad_outputs

    def _leave(self, grad_inputs: Grads) -> Grads:
        # A gradient can get to the inputs by a way that is not through the outputs: that is not the module's.
        if self._grad_outputs is None:
            return grad_inputs
        for hook in self._hooks:
            returned = hook(self._module, grad_inputs, self._grad_outputs)
            grad_inputs = _replaced(grad_inputs, returned, "Backward hook", "grad_input")
        self._grad_outputs = None
        return grad_inputs

    def _call_without_inputs(self, grad_outputs: Grads) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients.",
            stacklevel=2,
        )
        for hook in self._hooks:
            returned = hook(self._module, (None,) * self._input_count, grad_outputs)
            if returned is not None and any(grad is not None for grad in returned):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )


def _replaced(grads: Grads, returned: Any, who: str, what: str) -> Grads:
    if returned is None:
        return grads
    replacement: Grads = (returned,) if isinstance(returned, torch.Tensor) else tuple(returned)
    if len(replacement) != len(grads):
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(replacement)}, but expected {len(grads)}"
        )
    return replacement


def _watch(values: tuple[Any, ...], on_grads: Callable[[Grads], Grads]) -> tuple[Any, ...]:
    """Return the values, those that need a gradient as copies whose gradients all go through ``on_grads`` at once."""
    places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor) and value.requires_grad]
    if not places or not torch.is_grad_enabled():
        return values
    tensors: list[Tensor] = [values[place] for place in places]
    joined = _join(tensors)

    def on_joined(grad: Tensor) -> Tensor:
        grads: list[Tensor | None] = [None] * len(values)
        for place, part in zip(places, _part(grad, tensors), strict=True):
            grads[place] = part
        returned = on_grads(tuple(grads))
        kept = zip((returned[place] for place in places), tensors, strict=True)
        return _join([torch.zeros_like(tensor) if part is None else part for part, tensor in kept])

    joined.register_hook(on_joined)
    watched = list(values)
    for place, part in zip(places, _part(joined, tensors), strict=True):
        watched[place] = part
    return tuple(watched)


def _join(tensors: Sequence[Tensor]) -> Tensor:
    """Return one tensor of all elements, so that one gradient is that of all."""
    first = tensors[0]
    if len(tensors) == 1:
        return first.view(first.shape)
    if any(tensor.dtype != first.dtype or tensor.device != first.device for tensor in tensors):
        raise NotImplementedError(
            "full backward hooks need the tensors that go into a module, and those that come out of it, "
            "to be of one dtype and on one device"
        )
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _part(joined: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the parts of what ``_join`` made, in the shapes of the tensors."""
    if len(tensors) == 1:
        return [joined]
    sizes = [tensor.numel() for tensor in tensors]
    return [part.view(tensor.shape) for part, tensor in zip(joined.split(sizes), tensors, strict=True)]
