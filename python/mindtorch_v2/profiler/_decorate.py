"""``record_function`` as a decorator."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from mindtorch_v2._core import record_function


def decorate(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` in a wrapper that records its calls.

    A call of an ``async def`` is one span, from its first step to its end. A generator has a span each time that it
    runs, from being resumed to its next ``yield``: what its consumer does in between is not its time.
    """
    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine(scope, function)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(scope, function)
    elif inspect.isgeneratorfunction(function):
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
        with scope:
            return await function(*args, **kwargs)

    return wrapper


def _generator(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        resume = functools.partial(next, generator)
        while True:
            try:
                with scope:
                    item = resume()
            except StopIteration as end:
                return end.value
            try:
                sent = yield item
            except GeneratorExit:
                with scope:
                    generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
            else:
                resume = functools.partial(generator.send, sent)

    return wrapper


def _async_generator(scope: record_function, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        resume = generator.__anext__
        while True:
            try:
                with scope:
                    item = await resume()
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except GeneratorExit:
                with scope:
                    await generator.aclose()
                raise
            except BaseException as error:
                resume = functools.partial(generator.athrow, error)
            else:
                resume = functools.partial(generator.asend, sent)

    return wrapper
