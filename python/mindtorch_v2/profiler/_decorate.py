"""``record_function`` as a decorator."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any

from mindtorch_v2._core import record_function

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

# The wrappers of generators, which are no generator functions themselves, so that they can be decorated again.
_generator_wrappers: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()


def decorate(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` in a wrapper that records its calls.

    A call of an ``async def`` is one span, from its first step to its end. A generator has a span each time that it
    runs, from being resumed to its next ``yield``: what its consumer does in between is not its time.
    """
    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine(scope, function)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(scope, function)
    elif inspect.isgeneratorfunction(function) or _is_generator_wrapper(function):
        wrapper = _generator(scope, function)
    else:
        wrapper = _plain(scope, function)
    return functools.wraps(function)(wrapper)


def _plain(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return function(*args, **kwargs)

    return wrapper


def _coroutine(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _fresh(scope):
            return await function(*args, **kwargs)

    return wrapper


def _generator(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        # Called here, not when the generator first runs, so that wrong arguments are an error of this call.
        generator = function(*args, **kwargs)
        # What types.coroutine has made awaitable stays so.
        run = _run_awaitable if inspect.isawaitable(generator) else _run
        return run(scope, generator)

    _generator_wrappers.add(wrapper)
    return wrapper


def _is_generator_wrapper(function: Callable[..., Any]) -> bool:
    return inspect.isfunction(function) and function in _generator_wrappers


def _run(scope: record_function, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    resume = functools.partial(next, generator)
    while True:
        try:
            with scope:
                item = resume()
        except StopIteration as end:
            return end.value
        finally:
            # An error that was thrown in refers to this frame: together they would wait for the garbage collector.
            del resume
        try:
            sent = yield item
        except BaseException as error:
            # GeneratorExit too, with which close() ends a generator: it may still yield, return or raise another.
            resume = functools.partial(generator.throw, error)
        else:
            resume = functools.partial(generator.send, sent)


_run_awaitable = types.coroutine(_run)


def _async_generator(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        own_scope = _fresh(scope)
        generator = function(*args, **kwargs)
        resume = generator.__anext__
        while True:
            try:
                with own_scope:
                    item = await resume()
            except StopAsyncIteration:
                return
            finally:
                del resume
            try:
                sent = yield item
            except BaseException as error:
                resume = functools.partial(generator.athrow, error)
            else:
                resume = functools.partial(generator.asend, sent)

    return wrapper


def _fresh(scope: record_function) -> record_function:
    """Return a scope like this one for a single call.

    Leaving a scope ends what its thread began last in it, and calls that await do not end in that order.
    """
    # Not by calling the class: a subclass may take other arguments.
    fresh = record_function.__new__(type(scope), scope.name, scope.args)
    getattr(fresh, "__dict__", {}).update(getattr(scope, "__dict__", {}))
    return fresh
