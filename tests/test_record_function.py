"""Naming parts of a program."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterator

ODD_NAMES = [
    "",
    'say "hi"',
    "a\\b",
    "a\nb",
    "a\tb",
    "café",
    "日本語",
    "a\x01b",
    "a\x00b",
    "re",
    "Pf",
    "𝄞",
    "x" * 10_000,
]


def names(prof: profile) -> list[str]:
    return [event.name for event in prof.events()]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_is_kept_exactly(name: str, exported: Callable[[profile], dict[str, Any]]) -> None:
    with profile() as prof, record_function(name):
        pass
    assert names(prof) == [name]
    annotations = [event for event in exported(prof)["traceEvents"] if event.get("cat") == "user_annotation"]
    assert [event["name"] for event in annotations] == [name]


@pytest.mark.parametrize(
    ("given", "shown"),
    [("bad\ud800name", "bad\ufffdname"), (b"caf\xc3\xa9", "café"), (b"a\xffb", "a\ufffdb"), ("\udc00", "\ufffd")],
)
def test_bytes_are_text_and_what_is_not_text_is_replaced(given: str | bytes, shown: str) -> None:
    with profile() as prof, record_function(given):
        pass
    assert names(prof) == [shown]


@pytest.mark.parametrize("name", [5, None, ["x"]])
def test_a_name_of_another_type_is_a_type_error_that_says_which(name: object) -> None:
    with pytest.raises(TypeError, match=rf"name must be str or bytes, not {type(name).__name__}"):
        record_function(name)  # type: ignore[arg-type]


def test_args_of_another_type_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="args must be str or None, not int"):
        record_function("x", 5)  # type: ignore[arg-type]


def test_args_are_shown_with_the_span(exported: Callable[[profile], dict[str, Any]]) -> None:
    with profile() as prof, record_function("step", "batch=32"):
        pass
    assert prof.events()[0].args == "batch=32"
    (span,) = [event for event in exported(prof)["traceEvents"] if event["name"] == "step"]
    assert "batch=32" in span["args"].values()


def test_has_the_attributes_it_was_made_with() -> None:
    scope = record_function("x", "y")
    assert (scope.name, scope.args) == ("x", "y")
    assert record_function(b"x").args is None
    assert repr(scope) == "record_function('x', 'y')"


def test_entering_gives_the_object() -> None:
    scope = record_function("x")
    with scope as entered:
        assert entered is scope


def test_does_not_swallow_exceptions() -> None:
    with pytest.raises(KeyError), record_function("x"):
        raise KeyError


def test_leaving_without_entering_is_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="Expected record to be set"):
        record_function("x").__exit__(None, None, None)


def test_leaving_twice_is_harmless() -> None:
    scope = record_function("x")
    with profile() as prof:
        with scope:
            pass
        scope.__exit__(None, None, None)
    scope.__exit__(None, None, None)
    assert names(prof) == ["x"]


def test_one_object_may_be_nested_in_itself() -> None:
    scope = record_function("x")
    with profile() as prof, scope, scope, scope:
        pass
    events = prof.events()
    assert [event.cpu_parent for event in events] == [None, events[0], events[1]]
    assert all(event.is_finished for event in events)


def test_recursion_is_counted_in_full() -> None:
    @record_function("fib")
    def count_down(n: int) -> None:
        if n:
            count_down(n - 1)

    with profile() as prof:
        count_down(4)
    assert names(prof) == ["fib"] * 5
    assert [row.count for row in prof.key_averages()] == [5]


def test_a_scope_that_was_open_before_the_start_is_shown_from_the_start() -> None:
    scope = record_function("outer")
    with scope, profile() as early, profile() as prof:
        pass
    assert names(prof) == []
    with early, scope:
        prof.start()
    prof.stop()
    (event,) = prof.events()
    assert (event.name, event["start_ns"], event.is_finished) == ("outer", 0, True)


def test_a_scope_still_open_at_the_stop_ends_there(exported: Callable[[profile], dict[str, Any]]) -> None:
    scope = record_function("open")
    with profile() as prof:
        scope.__enter__()
    (event,) = prof.events()
    (span,) = [span for span in exported(prof)["traceEvents"] if span["name"] == "open"]
    assert not event.is_finished
    assert span["args"]["finished"] is False
    assert round(span["dur"] * 1000) == event["duration_ns"]
    scope.__exit__(None, None, None)
    assert prof.events()[0]["duration_ns"] == event["duration_ns"]


def test_leaving_an_unrecorded_scope_does_not_end_the_recorded_one() -> None:
    scope = record_function("x")
    with scope, profile() as prof:
        with scope:
            pass
        with record_function("after"):
            pass
    first, after = prof.events()
    assert (first.name, after.name) == ("x", "after")
    assert first["end_ns"] <= after["start_ns"]


def test_a_decorated_function_keeps_its_identity_and_result() -> None:
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    decorated = record_function("add")(add)
    assert (decorated.__name__, decorated.__doc__) == ("add", "Add.")
    assert inspect.unwrap(decorated) is add
    with profile() as prof:
        assert decorated(1) == 3
        assert decorated(a=1, b=1) == 2
    assert names(prof) == ["add", "add"]


def test_a_decorated_method_is_bound() -> None:
    class Adder:
        base = 10

        @record_function("add")
        def add(self, value: int) -> int:
            return self.base + value

    with profile() as prof:
        assert Adder().add(1) == 11
    assert names(prof) == ["add"]


def test_a_decorated_coroutine_is_one_span_to_its_end() -> None:
    @record_function("fetch")
    async def fetch() -> int:
        with record_function("inside"):
            await asyncio.sleep(0)
        return 7

    assert inspect.iscoroutinefunction(fetch)
    with profile() as prof:
        assert asyncio.run(fetch()) == 7
    inside = next(event for event in prof.events() if event.name == "inside")
    assert inside.cpu_parent is not None
    assert inside.cpu_parent.name == "fetch"


def test_a_decorated_generator_is_a_span_for_each_time_it_runs() -> None:
    @record_function("produce")
    def produce() -> Generator[int, str, str]:
        received = yield 1
        try:
            yield len(received)
        except KeyError:
            return "ended"
        return "not reached"

    with profile() as prof:
        generator = produce()
        assert next(generator) == 1
        with record_function("consumer"):
            pass
        assert generator.send("abc") == 3
        with pytest.raises(StopIteration, match="ended"):
            generator.throw(KeyError())
    events = prof.events()
    assert [event.name for event in events] == ["produce", "consumer", "produce", "produce"]
    assert all(event.cpu_parent is None for event in events)


def test_closing_a_decorated_generator_runs_its_cleanup() -> None:
    cleaned = []

    @record_function("produce")
    def produce() -> Iterator[int]:
        try:
            yield 1
        finally:
            cleaned.append(True)

    generator = produce()
    assert next(iter(generator)) == 1
    generator.close()  # type: ignore[attr-defined]
    assert cleaned == [True]


def test_a_decorated_async_generator_is_a_span_for_each_time_it_runs() -> None:
    @record_function("produce")
    async def produce() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    async def consume() -> list[int]:
        return [item async for item in produce()]

    with profile() as prof:
        assert asyncio.run(consume()) == [1, 2]
    assert names(prof) == ["produce"] * 3


def test_an_object_can_be_pickled_and_subclassed() -> None:
    class Named(record_function):
        pass

    copy = pickle.loads(pickle.dumps(record_function("x", "y")))
    assert (copy.name, copy.args) == ("x", "y")
    with profile() as prof, Named("sub"):
        pass
    assert names(prof) == ["sub"]
