"""Our tables are those that torch's own formatter makes of the same numbers, byte for byte."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from torch.autograd.profiler_util import EventList, FunctionEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    import mindtorch_v2.profiler as ours

OPTIONS: list[dict[str, Any]] = [
    {},
    {"sort_by": "self_cpu_time_total"},
    {"sort_by": "cpu_time_total", "row_limit": 3},
    {"sort_by": "cpu_time"},
    {"sort_by": "count", "row_limit": -1},
    {"sort_by": "key"},
    {"sort_by": "cuda_time_total"},
    {"sort_by": "self_cpu_memory_usage"},
    {"row_limit": 0},
    {"row_limit": None},
    {"max_name_column_width": 20},
    {"max_name_column_width": None},
    {"max_name_column_width": 4},
    {"max_src_column_width": 10, "max_shapes_column_width": 10},
    {"header": "A header\nof two lines"},
    {"top_level_events_only": True},
    {"top_level_events_only": True, "header": "Both", "sort_by": "count", "row_limit": 2},
    {"time_unit": "s"},
    {"time_unit": "ms"},
    {"time_unit": "us"},
    {"time_unit": "fortnights"},
]


@pytest.fixture(scope="module")
def events(record_ours: Callable[[], ours.profile]) -> Any:
    """Our events, of a recording in which the last bit of torch's sums of fractions makes no difference to a table."""
    recordings = (record_ours() for _ in range(1000))
    return next(prof.events() for prof in recordings if is_clear(prof))


def is_clear(prof: ours.profile) -> bool:
    """Whether no printed number is half-way between two, and no two rows are equal in what they are sorted by."""
    averages = prof.key_averages()
    names = ("cpu_time", "cpu_time_total", "self_cpu_time_total")
    columns = [sorted(getattr(row, name) for row in averages) for name in names]
    if any(other - one < 1e-6 for column in columns for one, other in itertools.pairwise(column)):
        return False
    times = [time for column in columns for time in column]
    times += [time for event in prof.events() for time in (event.cpu_time_total, event.self_cpu_time_total)]
    return not any(is_half_way(time) for time in [*times, averages.self_cpu_time_total])


def is_half_way(us: float) -> bool:
    return any(abs(scaled % 1 - 0.5) < 1e-4 for scaled in (us * 1000, us, us / 1000))


@pytest.fixture(scope="module")
def torch_events(events: Any) -> EventList:
    """The same events, as torch has them."""
    converted = [
        FunctionEvent(
            id=event.id,
            name=event.name,
            thread=event.thread,
            start_us=event["start_ns"] / 1000,
            end_us=event["end_ns"] / 1000,
            overload_name="",
            input_shapes=[],
            stack=[],
            scope=event.scope,
            is_async=event.is_async,
            trace_name=event.trace_name,
            is_user_annotation=event.is_user_annotation,
        )
        for event in events
    ]
    torch_events = EventList(converted)
    torch_events._build_tree()
    assert len(torch_events) == len(events)
    return torch_events


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_table_of_averages(events: Any, torch_events: EventList, options: dict[str, Any]) -> None:
    assert events.key_averages().table(**options) == torch_events.key_averages().table(**options)


# Many events take equally long, and torch's order of these is that of rounding errors.
@pytest.mark.parametrize(
    "options", [options for options in OPTIONS if "time" not in options.get("sort_by", "")], ids=str
)
def test_table_of_events(events: Any, torch_events: EventList, options: dict[str, Any]) -> None:
    assert events.table(**options) == torch_events.table(**options)


def test_printing(events: Any, torch_events: EventList) -> None:
    assert str(events) == str(torch_events)
    assert str(events.key_averages()) == str(torch_events.key_averages())


def test_sums(events: Any, torch_events: EventList) -> None:
    assert events.self_cpu_time_total == pytest.approx(torch_events.self_cpu_time_total)
    for row, torch_row in zip(events.key_averages(), torch_events.key_averages(), strict=True):
        assert (row.key, row.count) == (torch_row.key, torch_row.count)
        for attribute in ("cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total"):
            assert getattr(row, attribute) == pytest.approx(getattr(torch_row, attribute))


@pytest.mark.parametrize("key", ["nonsense", "self_cpu_time"])
def test_both_refuse_an_unknown_sort_key(events: Any, torch_events: EventList, key: str) -> None:
    for table in (events.key_averages().table, torch_events.key_averages().table):
        with pytest.raises(AttributeError):
            table(sort_by=key)
