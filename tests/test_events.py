"""What events() gives."""

from __future__ import annotations

from typing import NoReturn

import pytest

from mindtorch_v2.profiler import profile, record_function


@pytest.fixture(scope="module")
def prof() -> profile:
    """Record outer(inner a, inner b) and then last."""
    with profile() as prof:
        with record_function("outer"):
            with record_function("inner a"):
                pass
            with record_function("inner b"):
                pass
        with record_function("last"):
            pass
    return prof


def test_is_a_list_in_the_order_of_time(prof: profile) -> None:
    events = prof.events()
    assert len(events) == 4
    assert [event.name for event in events] == ["outer", "inner a", "inner b", "last"]
    starts = [event["start_ns"] for event in events]
    assert starts == sorted(starts)


def test_answers_to_indices_slices_and_in(prof: profile) -> None:
    events = prof.events()
    assert events[-1].name == "last"
    assert events[0] == events[-4]
    assert [event.name for event in events[1:3]] == ["inner a", "inner b"]
    assert [event.name for event in events[::-2]] == ["last", "inner a"]
    assert isinstance(events[:2], list)
    assert [event.name for event in reversed(events)][0] == "last"  # noqa: RUF015
    assert events[2] in events
    assert "outer" not in events
    for index in (4, -5, 10**30, -(10**30)):
        with pytest.raises(IndexError, match="list index out of range"):
            events[index]
    for wrong in ("outer", 1.0, None):
        found = type(wrong).__name__
        with pytest.raises(TypeError, match=f"list indices must be integers or slices, not {found}"):
            events[wrong]  # type: ignore[call-overload]


def test_an_index_may_be_any_object_with_an_index(prof: profile) -> None:
    class Last:
        def __index__(self) -> int:
            return -1

    class Fails:
        def __index__(self) -> NoReturn:
            raise error

    error = ZeroDivisionError()
    assert prof.events()[Last()].name == "last"
    assert prof.events()[True].name == "inner a"
    with pytest.raises(ZeroDivisionError) as raised:
        prof.events()[Fails()]
    assert raised.value is error


def test_events_of_another_recording_are_not_in_the_list(prof: profile) -> None:
    with profile() as other, record_function("outer"):
        pass
    assert other.events()[0] not in prof.events()
    assert other.events()[0] != prof.events()[0]


def test_each_event_knows_its_parent_and_children(prof: profile) -> None:
    outer, a, b, last = prof.events()
    assert outer.cpu_children == [a, b]
    assert (a.cpu_parent, b.cpu_parent) == (outer, outer)
    assert (outer.cpu_parent, last.cpu_parent) == (None, None)
    assert last.cpu_children == []
    assert len({outer, a, b, last, a.cpu_parent}) == 4


def children_by_parents(prof: profile) -> bool:
    """Say whether the children of all events are those of which they are the parents."""
    events = prof.events()
    children = {event: [child for child in events if child.cpu_parent == event] for event in events}
    return all(event.cpu_children == children[event] for event in events)


def test_children_are_those_that_have_it_as_their_parent() -> None:
    @record_function("call")
    def call(depth: int) -> None:
        for _ in range(depth % 4):
            call(depth - 1)

    with profile() as prof:
        for depth in range(7):
            call(depth)
    assert len(prof.events()) > 30
    assert children_by_parents(prof)


def test_each_of_many_nested_events_has_the_next_one_as_its_child() -> None:
    scope = record_function("x")
    with profile() as deep:
        for _ in range(10_000):
            scope.__enter__()
        for _ in range(10_000):
            scope.__exit__(None, None, None)
    events = list(deep.events())
    assert [event.cpu_children for event in events] == [[event] for event in events[1:]] + [[]]


def test_times_are_microseconds_and_add_up(prof: profile) -> None:
    outer, a, b, _ = prof.events()
    assert outer.cpu_time_total == outer.cpu_time == outer["duration_ns"] / 1000
    assert outer.time_range.start == outer["start_ns"] / 1000
    assert outer.time_range.elapsed_us() == pytest.approx(outer.cpu_time_total)
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - a.cpu_time_total - b.cpu_time_total)
    assert prof.events().self_cpu_time_total == pytest.approx(sum(e.self_cpu_time_total for e in prof.events()))


def test_has_the_attributes_of_an_annotation(prof: profile) -> None:
    event = prof.events()[0]
    assert (event.name, event.key, event.trace_name, event.count) == ("outer",) * 3 + (1,)
    assert (event.is_user_annotation, event.is_async, event.is_finished, event.scope) == (True, False, True, 7)
    assert event.args is None
    assert len({event.id for event in prof.events()}) == 4


def test_is_a_mapping_in_nanoseconds(prof: profile) -> None:
    event = prof.events()[0]
    fields = dict(event)
    assert list(fields) == list(event.keys()) == list(event)
    assert set(fields) == {
        *("name", "kind", "device_type", "start_ns", "end_ns"),
        *("duration_ns", "step", "thread_id", "correlation_id"),
    }
    assert (fields["name"], fields["kind"], fields["device_type"], fields["step"]) == ("outer", "scope", "CPU", 0)
    assert fields["end_ns"] - fields["start_ns"] == fields["duration_ns"] >= 0
    assert all(isinstance(fields[key], int) for key in ("start_ns", "end_ns", "duration_ns", "thread_id"))
    assert len({event["correlation_id"] for event in prof.events()}) == 4
    assert (dict(event.items()), event.values()) == (fields, list(fields.values()))
    assert (event.get("name"), event.get("stack"), event.get(5, "nothing")) == ("outer", None, "nothing")


@pytest.mark.parametrize("key", ["stack", "input_shapes", "cpu_memory_allocated_delta"])
def test_optional_keys_are_absent_without_their_flags(prof: profile, key: str) -> None:
    event = prof.events()[0]
    assert key not in event
    with pytest.raises(KeyError, match=key):
        event[key]


def test_a_missing_attribute_is_an_attribute_error(prof: profile) -> None:
    with pytest.raises(AttributeError):
        _ = prof.events()[0].nonsense


def test_steps_are_shown_under_one_name() -> None:
    with profile() as prof:
        for number in range(2):
            with record_function(f"ProfilerStep#{number}"):
                pass
    assert [event.name for event in prof.events()] == ["ProfilerStep*"] * 2
    assert [event.trace_name for event in prof.events()] == ["ProfilerStep#0", "ProfilerStep#1"]
    assert [(row.key, row.count) for row in prof.key_averages()] == [("ProfilerStep*", 2)]


def test_prints_as_a_table_with_a_row_for_each_event(prof: profile) -> None:
    lines = str(prof.events()).splitlines()
    assert [line.strip().split("  ")[0] for line in lines[3:7]] == ["outer", "inner a", "inner b", "last"]
    assert str(prof.events()) == prof.events().table()
    assert repr(prof.events()).startswith("[<FunctionEvent id=")
