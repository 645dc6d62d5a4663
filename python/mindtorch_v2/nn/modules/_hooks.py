"""Calling a module, and the hooks that run around its ``forward``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch_v2.nn.modules._backward_hooks import BackwardHooks
from mindtorch_v2.nn.modules._registry import Hook, Registry
from mindtorch_v2.utils.hooks import RemovableHandle, register

if TYPE_CHECKING:
    from collections.abc import Callable


def _forward_unimplemented(self: Hooked, *_input: Any) -> None:
    """Compute the module's result; every module that is called overrides this."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Hooked(Registry):
    """The part of a module that is called, and calls its hooks."""

    # A variable, so that what overrides it may have any signature.
    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return _call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``, which gets what the hook returns instead.

        With ``with_kwargs``, it is ``hook(module, args, kwargs)``, which returns both.
        """
        return register(self._forward_pre_hooks, Hook(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``, whose result becomes what the hook returns.

        With ``with_kwargs``, it is ``hook(module, args, kwargs, output)``. With ``always_call``, the hook is called
        even if there is an error before it, with the output that there is, or ``None``.
        """
        return register(self._forward_hooks, Hook(hook, with_kwargs, always_call), prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the backward pass of this module, which gets what it returns."""
        return register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the backward pass of this module.

        What the hook returns takes the place of ``grad_input``. Arguments of ``forward`` that are given by keyword are
        not among the inputs.
        """
        return register(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Raise: such a hook saw the last operation of a module alone."""
        raise NotImplementedError("register_backward_hook is not supported: use register_full_backward_hook")


# Functions, not methods: a module's methods are for its subclasses to name.


def _call_with_hooks(module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    called: set[int] = set()
    result = None
    try:
        args, kwargs = _call_pre_hooks(module, args, kwargs)
        backward = None
        if module._backward_hooks or module._backward_pre_hooks:
            backward = BackwardHooks(module, [*module._backward_hooks.values()], [*module._backward_pre_hooks.values()])
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for number, hook in [*module._forward_hooks.items()]:
            called.add(number)
            result = _call_forward_hook(module, hook, args, kwargs, result)
        return result if backward is None else backward.watch_outputs(result)
    except Exception:
        _call_remaining_hooks(module, called, args, kwargs, result)
        raise


def _call_pre_hooks(
    module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook in [*module._forward_pre_hooks.values()]:
        if hook.with_kwargs:
            changed = hook.function(module, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook.function(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _call_forward_hook(module: Hooked, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    arguments = (args, kwargs, result) if hook.with_kwargs else (args, result)
    changed = hook.function(module, *arguments)
    return result if changed is None else changed


def _call_remaining_hooks(
    module: Hooked, called: set[int], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> None:
    """After an error, call the hooks that are always called and were not."""
    for number, hook in [*module._forward_hooks.items()]:
        if number in called or not hook.always_call:
            continue
        try:
            result = _call_forward_hook(module, hook, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                f"error was raised in forward: {error}",
                stacklevel=4,
            )
