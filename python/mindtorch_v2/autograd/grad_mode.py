"""Switches of autograd: for a block, a function, or from here on."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

F = TypeVar("F", bound="Callable[..., Any]")


class _Switch:
    """A context manager that can also decorate functions and generators."""

    def _copy(self) -> _Switch:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return _around_each_step(self, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self._copy():
                return function(*args, **kwargs)

        return switched  # type: ignore[return-value]


def _around_each_step(switch: _Switch, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a generator run each of its steps, and nothing of its consumer's, under the switch."""

    @functools.wraps(function)
    def switched(*args: Any, **kwargs: Any) -> Any:
        with switch._copy():
            generator = function(*args, **kwargs)
        step, argument = generator.send, None
        while True:
            try:
                with switch._copy():
                    item = step(argument)
            except StopIteration as stop:
                return stop.value
            try:
                argument, step = (yield item), generator.send
            except GeneratorExit:
                with switch._copy():
                    generator.close()
                raise
            except BaseException as error:
                argument, step = error, generator.throw

    return switched


class _GradSwitch(_Switch):
    _on: bool

    def __enter__(self) -> None:
        self._before = _core._set_grad_enabled(self._on)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _core._set_grad_enabled(self._before)


class no_grad(_GradSwitch):
    """Operations in it become part of no graph."""

    _on = False

    if not TYPE_CHECKING:
        # Types know it as a class: what else it can be is for those who leave out the brackets.

        def __new__(cls, function: Any = None) -> Any:
            """Decorate at once if a function is given: ``@no_grad`` is as good as ``@no_grad()``."""
            return super().__new__(cls) if function is None else cls()(function)


class enable_grad(_GradSwitch):
    """Operations in it become part of the graph again."""

    _on = True

    if not TYPE_CHECKING:
        # Types know it as a class: what else it can be is for those who leave out the brackets.

        def __new__(cls, function: Any = None) -> Any:
            """Decorate at once if a function is given."""
            return super().__new__(cls) if function is None else cls()(function)


class set_grad_enabled(_GradSwitch):
    """Switches recording: at once, and back at the end if it is used as a context."""

    def __init__(self, mode: bool) -> None:
        self._on = mode
        self._before = _core._set_grad_enabled(mode)

    def _copy(self) -> set_grad_enabled:
        return type(self)(self._on)

    def __call__(self, function: F) -> F:
        """Decorate a function, and leave the mode of what comes after as it was."""
        _core._set_grad_enabled(self._before)
        return super().__call__(function)

    def __enter__(self) -> None:
        _core._set_grad_enabled(self._on)


class inference_mode(_Switch):
    """Tensors made in it can never be part of a graph, which makes them cheaper still than those of ``no_grad``."""

    if not TYPE_CHECKING:
        # Types know it as a class: what else it can be is for those who leave out the brackets.

        def __new__(cls, mode: Any = True) -> Any:
            """Decorate at once if a function is given."""
            return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _copy(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._inference = _core._set_inference(self.mode)
        self._grad = _core._set_grad_enabled(not self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _core._set_inference(self._inference)
        _core._set_grad_enabled(self._grad)
