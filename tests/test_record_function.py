"""Naming parts of a program."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import pickle
import types
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator

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
    for seen in (early, prof):
        (event,) = seen.events()
        assert (event.name, event["start_ns"], event.is_finished) == ("outer", 0, False)
        assert event.is_cut_at_start
    with early, scope:
        prof.start()
    prof.stop()
    (event,) = prof.events()
    assert (event.name, event["start_ns"], event.is_finished) == ("outer", 0, True)
    assert event.is_cut_at_start
    (whole,) = early.events()
    assert not whole.is_cut_at_start


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
    around, first, after = prof.events()
    assert (around.name, first.name, after.name) == ("x", "x", "after")
    assert (around.is_finished, first.is_finished) == (False, True)
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


def test_wrong_arguments_to_a_decorated_generator_are_an_error_of_the_call() -> None:
    @record_function("produce")
    def produce(first: int) -> Iterator[int]:
        yield first

    with pytest.raises(TypeError, match="first"):
        produce()  # type: ignore[call-arg]


def test_a_generator_may_be_decorated_twice() -> None:
    @record_function("outer")
    @record_function("inner")
    def produce() -> Iterator[int]:
        yield 1

    with profile() as prof:
        assert list(produce()) == [1]
    assert names(prof) == ["outer", "inner"] * 2


def test_generators_of_one_function_may_take_turns() -> None:
    @record_function("produce")
    def produce(name: str) -> Iterator[None]:
        for _ in range(2):
            with record_function(name):
                yield

    with profile() as prof:
        assert list(zip(produce("a"), produce("b"), strict=True)) == [(None, None)] * 2
    runs = [event for event in prof.events() if event.name == "produce"]
    assert len(runs) == 6
    assert all(one["end_ns"] <= next_one["start_ns"] for one, next_one in itertools.pairwise(runs))


def inner_generator(decorated: Callable[..., Any]) -> Any:
    """Return the generator that a decorated function has made; who refers to it keeps it from closing by itself."""
    code = inspect.unwrap(decorated).__code__
    objects = gc.get_objects()
    generators = [each for each in objects if inspect.isgenerator(each) and each.gi_code is code]
    async_generators = [each for each in objects if inspect.isasyncgen(each) and each.ag_code is code]
    (generator,) = generators + async_generators
    return generator


def test_closing_a_decorated_generator_closes_it() -> None:
    @record_function("produce")
    def produce() -> Generator[int, None, None]:
        yield 1

    generator = produce()
    assert next(generator) == 1
    inner = inner_generator(produce)
    assert inspect.getgeneratorstate(inner) == inspect.GEN_SUSPENDED
    generator.close()
    assert inspect.getgeneratorstate(inner) == inspect.GEN_CLOSED


def test_a_closed_generator_is_freed_without_the_garbage_collector() -> None:
    class Data:
        pass

    data: list[weakref.ref[Data]] = []

    @record_function("produce")
    def produce() -> Generator[int, None, None]:
        held = Data()
        data.append(weakref.ref(held))
        yield 1

    gc.disable()
    try:
        generator = produce()
        next(generator)
        generator.close()
        del generator
        assert data[0]() is None
    finally:
        gc.enable()


def test_a_decorated_generator_may_answer_its_end() -> None:
    @record_function("produce")
    def produce(answer: str) -> Generator[int, None, str]:
        try:
            yield 1
        except GeneratorExit:
            if answer == "yield":
                yield 2
        return answer

    returns = produce("return")
    next(returns)
    with pytest.raises(StopIteration, match="return"):
        returns.throw(GeneratorExit())
    yields = produce("yield")
    next(yields)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        yields.close()


def test_a_decorated_generator_based_coroutine_can_be_awaited() -> None:
    @record_function("wait")
    @types.coroutine
    def wait() -> Generator[None, None, int]:
        yield
        return 7

    async def main() -> int:
        return await wait()

    with profile() as prof:
        assert asyncio.run(main()) == 7
    assert names(prof) == ["wait"] * 2


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


def in_turns(call: Callable[[asyncio.Event], Awaitable[object]]) -> profile:
    """Make two calls that wait: the one that begins first ends first."""

    async def main() -> None:
        gates = [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.ensure_future(call(gate)) for gate in gates]
        await asyncio.sleep(0)
        for name, gate, task in zip(("first ended", "second ended"), gates, tasks, strict=True):
            gate.set()
            await task
            with record_function(name):
                pass

    with profile() as prof:
        asyncio.run(main())
    return prof


def test_coroutines_of_one_function_may_overlap() -> None:
    @record_function("call")
    async def call(gate: asyncio.Event) -> None:
        await gate.wait()

    prof = in_turns(call)
    first, second, first_ended, second_ended = prof.events()
    assert [event.name for event in prof.events()] == ["call", "call", "first ended", "second ended"]
    assert first["end_ns"] <= first_ended["start_ns"] <= second["end_ns"] <= second_ended["start_ns"]


def test_async_generators_of_one_function_may_overlap() -> None:
    @record_function("call")
    async def produce(gate: asyncio.Event) -> AsyncGenerator[int, None]:
        await gate.wait()
        yield 1

    prof = in_turns(lambda gate: anext(produce(gate)))
    first, second = [event for event in prof.events() if event.name == "call"][:2]
    first_ended, second_ended = [event for event in prof.events() if event.name.endswith("ended")]
    assert first["end_ns"] <= first_ended["start_ns"] <= second["end_ns"] <= second_ended["start_ns"]


def test_a_decorated_async_generator_can_be_sent_to_thrown_into_and_closed() -> None:
    heard: list[object] = []

    @record_function("produce")
    async def produce() -> AsyncGenerator[int, str]:
        heard.append((yield 1))
        try:
            yield 2
        except KeyError as error:
            heard.append(error)
        try:
            yield 3
        finally:
            await asyncio.sleep(0)
            heard.append("closed")

    async def consume() -> None:
        generator = produce()
        assert await anext(generator) == 1
        inner = inner_generator(produce)
        assert await generator.asend("sent") == 2
        assert await generator.athrow(thrown) == 3
        await generator.aclose()
        assert heard == ["sent", thrown, "closed"]
        assert inner.ag_frame is None

    thrown = KeyError("thrown")
    with profile() as prof:
        asyncio.run(consume())
    assert names(prof) == ["produce"] * 4


def test_an_object_can_be_pickled_and_subclassed() -> None:
    class Named(record_function):
        pass

    copy = pickle.loads(pickle.dumps(record_function("x", "y")))
    assert (copy.name, copy.args) == ("x", "y")
    with profile() as prof, Named("sub"):
        pass
    assert names(prof) == ["sub"]


def test_a_subclass_may_pass_its_arguments_on() -> None:
    class Step(record_function):
        def __new__(cls, number: int) -> Step:
            return super().__new__(cls, f"step {number}")

        def __init__(self, number: int) -> None:
            super().__init__(f"step {number}")
            self.number = number

        def __enter__(self) -> Step:
            entered.append(self.number)
            return super().__enter__()

    @Step(2)
    async def decorated() -> None:
        pass

    entered: list[int] = []
    with profile() as prof:
        with Step(1):
            pass
        asyncio.run(decorated())
    assert names(prof) == ["step 1", "step 2"]
    assert entered == [1, 2]


def test_an_object_can_be_referred_to_weakly() -> None:
    scope = record_function("x")
    assert weakref.ref(scope)() is scope
