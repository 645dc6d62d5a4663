"""Functions whose gradient the program computes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _core
from mindtorch_v2.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2._core import Tensor

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What a function's ``forward`` leaves for its ``backward``."""

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._saved: tuple[Tensor | None, ...] = ()
        self._versions: tuple[int | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._without_gradient: tuple[Tensor, ...] = ()
        self._materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors, which must not be changed until ``backward`` has run."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept."""
        for tensor, version in zip(self._saved, self._versions, strict=False):
            if tensor is not None and version is not None and tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{tensor.type()} {list(tensor.shape)}] is at version {tensor._version}; "
                    f"expected version {version} instead."
                )
        return self._saved

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._without_gradient = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether gradients that are nothing are given to ``backward`` as zeros (the default) or as None."""
        self._materialize = value


def _backward(
    cls: type[Function], ctx: FunctionCtx, outputs: list[Tensor], inputs: tuple[Any, ...]
) -> Callable[..., Any]:
    shapes = [(output.shape, output.dtype, output.device) for output in outputs]
    places = [index for index, value in enumerate(inputs) if isinstance(value, _core.Tensor)]

    def backward(grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        if ctx._materialize:
            grads = tuple(
                _core.zeros(shape, dtype=dtype, device=device) if grad is None else grad
                for grad, (shape, dtype, device) in zip(grads, shapes, strict=True)
            )
        results = cls.backward(ctx, *grads)
        results = results if isinstance(results, tuple) else (results,)
        if len(results) > len(inputs) and all(extra is None for extra in results[len(inputs) :]):
            results = results[: len(inputs)]
        if len(results) != len(inputs):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {len(inputs)}, got {len(results)})"
            )
        return tuple(results[place] for place in places)

    return backward


class Function:
    """A function with a ``forward`` and a ``backward`` of its own; call it with ``apply``."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: of ``ctx`` and the arguments, or of the arguments if there is a ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Leave in ``ctx`` what ``backward`` needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments from those of the results."""
        raise NotImplementedError("You must implement the backward function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as part of the graph."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(value, _core.Tensor) and value.requires_grad for value in args)
        tensors = [value for value in args if isinstance(value, _core.Tensor)]
        with _core._OperatorScope(cls.__name__, tensors), no_grad():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args, **kwargs)
            else:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
        results = result if isinstance(result, (tuple, list)) else (result,)
        if not (_core.is_grad_enabled() and any(ctx.needs_input_grad)):
            return result
        # An output that is an input, unchanged, must be a tensor of its own: it has another history.
        fresh = [value.detach() if _is_input(value, tensors, ctx) else value for value in results]
        outputs = [
            value
            for value in fresh
            if isinstance(value, _core.Tensor)
            and value.is_floating_point()
            and not any(value is other for other in ctx._without_gradient)
        ]
        ctx._versions = tuple(None if value is None else value._version for value in ctx._saved)
        _core._track_function(f"{cls.__name__}Backward", tensors, outputs, _backward(cls, ctx, outputs, args))
        return type(result)(fresh) if isinstance(result, (tuple, list)) else fresh[0]


def _is_input(value: Any, inputs: list[Tensor], ctx: FunctionCtx) -> bool:
    return any(value is own for own in inputs) and not any(value is own for own in ctx._dirty)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` as one that has no gradient itself."""

    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            return function(ctx, *grads)

    return wrapper
