"""Tables, byte for byte: those that torch printed, and what it should have printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.profiler import stored_events
from tests.profiler.stored_events import text

from mindtorch_v2.autograd.profiler_util import DeviceType, EventList, FunctionEvent, FunctionEventAvg, Kernel

G01 = "g01_mlp_sgd/"
G04 = "g04_with_stack/"
BY_SELF_TIME: dict[str, Any] = {"sort_by": "self_cpu_time_total"}


@pytest.mark.parametrize(
    ("golden", "options"),
    [
        ("str_of_eventlist", {}),
        ("table_default", {}),
        ("table_sort_self_cpu_limit5", {"sort_by": "self_cpu_time_total", "row_limit": 5}),
        ("table_row_limit_minus1_sort_count", {"sort_by": "count", "row_limit": -1}),
        ("table_row_limit_minus1_sort_count", {"sort_by": "count", "row_limit": None}),
        ("table_header_ms", {"header": "A HEADER", "time_unit": "ms", "row_limit": 3}),
        ("table_unit_s", {"time_unit": "s", "row_limit": 3}),
        ("table_unit_us", {"time_unit": "us", "row_limit": 3}),
        ("table_top_level_only", {"top_level_events_only": True}),
        ("table_narrow_name", {"max_name_column_width": 20, "row_limit": 8}),
        ("table_name_none", {"max_name_column_width": None, "row_limit": 8}),
    ],
)
def test_averages_are_printed_as_torch_prints_them(golden: str, options: dict[str, Any]) -> None:
    averages = stored_events.averages(f"{G01}key_averages.json")
    assert averages.table(**options) == text(f"{G01}{golden}.txt")


def test_str_is_the_table() -> None:
    averages = stored_events.averages(f"{G01}key_averages.json")
    assert str(averages) == averages.table() == text(f"{G01}str_of_eventlist.txt")


@pytest.mark.parametrize(
    ("golden", "width"), [("table_shapes", 80), ("table_shapes_narrow", 20), ("table_shapes_none", None)]
)
def test_shapes(golden: str, width: int | None) -> None:
    averages = stored_events.averages(f"{G01}key_averages_by_shape.json")
    table = averages.table(sort_by="cpu_time_total", row_limit=12, max_shapes_column_width=width)
    assert table == text(f"{G01}{golden}.txt")


def test_events() -> None:
    assert stored_events.events(f"{G01}events.json").table(row_limit=12) == text(f"{G01}table_events_raw.txt")


def test_memory() -> None:
    averages = stored_events.averages("g02_adam_memory/key_averages.json", profile_memory=True)
    table = averages.table(sort_by="self_cpu_memory_usage", row_limit=15)
    assert table == text("g02_adam_memory/table_mem.txt")


def test_memory_of_averages_that_are_ours() -> None:
    events = stored_events.events("g02_adam_memory/events_memory_small.json", profile_memory=True)
    assert events.key_averages().table() == text("g02_adam_memory/table_memory_small.txt")


@pytest.mark.parametrize("threads", ["default", "all_threads"])
def test_annotations(threads: str) -> None:
    folder = "g03_annotations_threads"
    averages = stored_events.averages(f"{folder}/key_averages_{threads}.json")
    assert averages.table() == text(f"{folder}/table_{threads}.txt")
    events = stored_events.events(f"{folder}/events_{threads}.json")
    assert events.key_averages().table() == text(f"{folder}/table_{threads}.txt")
    assert events.table(top_level_events_only=True) == text(f"{folder}/table_top_level_{threads}.txt")


@pytest.mark.parametrize("kind", ["plain", "verbose"])
def test_stacks(kind: str) -> None:
    averages = stored_events.averages(f"{G04}key_averages_{kind}_stack5.json")
    assert averages.table(**BY_SELF_TIME, row_limit=6) == text(f"{G04}table_{kind}_stack5.txt")
    narrow = averages.table(**BY_SELF_TIME, row_limit=4, max_src_column_width=30)
    assert narrow == text(f"{G04}table_{kind}_stack5_narrow.txt")


@pytest.mark.parametrize("kind", ["plain", "verbose"])
def test_python_functions(kind: str) -> None:
    averages = stored_events.events(f"{G04}events_{kind}.json").key_averages(include_python_functions=True)
    assert averages.table(**BY_SELF_TIME, row_limit=12) == text(f"{G04}table_{kind}_python_functions.txt")


@pytest.mark.parametrize("kind", ["plain", "verbose"])
def test_without_python_functions_their_time_is_their_callers(kind: str) -> None:
    # Defect 35: torch drops it, so that shares pass 100 %.
    events = stored_events.events(f"{G04}events_{kind}.json")
    averages = events.key_averages()
    dropped = sum(
        event.self_cpu_time_total
        for event in events
        if event.is_python_function and any(not parent.is_python_function for parent in parents_of(event))
    )
    golden = text(f"{G04}table_{kind}_default.txt")
    of_torch = sum(event.self_cpu_time_total for event in events if not event.is_python_function)
    assert golden.endswith(f"Self CPU time total: {of_torch / 1000:.3f}ms\n")
    assert averages.self_cpu_time_total == pytest.approx(of_torch + dropped)
    assert [average.key for average in averages] == list(
        dict.fromkeys(event.key for event in events if not event.is_python_function)
    )


def test_flops() -> None:
    averages = stored_events.averages("g05_flops/key_averages.json", with_flops=True)
    assert averages.table(sort_by="flops", row_limit=-1) == text("g05_flops/table.txt")
    events = stored_events.events("g05_flops/events.json", with_flops=True)
    assert events.key_averages().table(sort_by="flops", row_limit=-1) == text("g05_flops/table.txt")


@pytest.mark.parametrize("golden", ["g06_schedule/table_cycle0.txt", "g06_schedule/table_cycle1.txt"])
def test_steps(golden: str) -> None:
    assert stored_events.averages_of_table(text(golden)).table() == text(golden)


def test_overload_names() -> None:
    golden = text("g08_modules_execution_trace/table_overloads.txt")
    assert stored_events.averages_of_table(golden).table() == golden


@pytest.mark.parametrize(
    ("events", "averages", "options"),
    [
        ("g01_mlp_sgd/events.json", "g01_mlp_sgd/key_averages.json", {}),
        ("g01_mlp_sgd/events.json", "g01_mlp_sgd/key_averages_by_shape.json", {"group_by_input_shapes": True}),
        ("g05_flops/events.json", "g05_flops/key_averages.json", {}),
    ],
)
def test_averages_of_stored_events_are_the_stored_averages(events: str, averages: str, options: dict[str, Any]) -> None:
    ours = stored_events.events(events).key_averages(**options)
    theirs = json.loads(text(averages))
    assert len(ours) == theirs["n"]
    for average, values in zip(ours, theirs["averages"], strict=True):
        for name in values.keys() - {"device_type", "n_cpu_children", "has_cpu_parent"}:
            assert_equal(getattr(average, name), values[name], name)
        assert (average.cpu_parent is not None) == values["has_cpu_parent"]
        assert average.cpu_children is not None
        assert len(average.cpu_children) == values["n_cpu_children"]
    total = ours.total_average()
    for name, value in theirs["total_average"].items():
        assert_equal(getattr(total, name), value, name)


def assert_equal(ours: object, theirs: object, name: str) -> None:
    # Sums of times depend on the order of the summands in their last digits.
    assert ours == (pytest.approx(theirs) if isinstance(theirs, float) else theirs), name


def parents_of(event: FunctionEvent) -> list[FunctionEvent]:
    parents = []
    while event.cpu_parent is not None:
        event = event.cpu_parent
        parents.append(event)
    return parents


def some_events() -> EventList[FunctionEvent]:
    """Return work(launch, copy) and its kernel on the device."""
    work = FunctionEvent(1, "work", 1, 0.0, 10.0, use_device="npu", flops=4000)
    launch = FunctionEvent(2, "launch", 1, 1.0, 4.0, use_device="npu", cpu_memory_usage=2048)
    copy = FunctionEvent(3, "copy", 1, 5.0, 6.0, use_device="npu")
    kernel = FunctionEvent(
        4, "kernel", 0, 5.0, 9.0, use_device="npu", device_type=DeviceType.NPU, device_memory_usage=1 << 20
    )
    launch.append_kernel("kernel", 0, 4.0)
    events = EventList([work, launch, copy, kernel], use_device="npu")
    events._build_tree()
    return events


def test_device_columns() -> None:
    lines = some_events().table().splitlines()
    headings = [heading.strip() for heading in lines[1].split("  ") if heading.strip()]
    assert headings[6:10] == ["Self NPU", "Self NPU %", "NPU total", "NPU time avg"]
    work, launch, _, kernel = (line.split() for line in lines[3:7])
    assert work[6:10] == ["0.000us", "0.00%", "4.000us", "4.000us"]
    assert launch[6:10] == ["4.000us", "100.00%", "4.000us", "4.000us"]
    assert kernel[6:10] == ["4.000us", "100.00%", "4.000us", "4.000us"]
    assert lines[-2:] == ["Self CPU time total: 10.000us", "Self NPU time total: 4.000us"]


def test_device_time_without_a_device_is_an_error() -> None:
    event = FunctionEvent(1, "x", 0, 0.0, 1.0, use_device="npu", device_type=DeviceType.NPU)
    events = EventList([FunctionEvent(2, "host", 1, 0.0, 1.0), event])
    with pytest.raises(RuntimeError, match=r"^use_device is None, but there is device performance data\.$"):
        events.table()


def test_flops_and_stacks_stand_under_their_own_headings() -> None:
    # Defect 37: torch swaps them.
    event = FunctionEvent(1, "mm", 1, 0.0, 1.0, flops=2_000_000, stack=["a.py(1): f", "b.py(2): g"])
    header, rule, row, second = EventList([event], with_flops=True).table().splitlines()[1:5]
    assert set(rule) == {"-", " "}
    place = header.index("Source Location")
    assert row[place:].startswith("a.py(1): f")
    assert second[place:].startswith("b.py(2): g")
    assert header.rstrip().endswith("Total MFLOPs")
    assert row.rstrip().endswith("2.000")


def test_flops_that_are_none_are_none() -> None:
    # Defect 38: torch's rows of memory have no number there, and its table raises.
    events = EventList([FunctionEvent(1, "[memory]", 1, 0.0, 0.0), *some_events()], with_flops=True)
    rows = events.table(sort_by="flops").splitlines()[3:8]
    assert rows[0].split()[0] == "work"
    assert rows[0].rstrip().endswith("4.000")
    assert rows[-1].rstrip().endswith("--")


def test_sorts_by_any_attribute() -> None:
    events = some_events()
    names = [event.name for event in events]

    def rows(sort_by: str) -> list[str]:
        return [line.split()[0] for line in events.table(sort_by=sort_by).splitlines()[3:7]]

    assert rows("key") == sorted(names, reverse=True)
    assert rows("id") == names[::-1]
    for key in ("self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total", "self_npu_time_total"):
        assert rows(key) == rows("self_device_time_total") == ["launch", "kernel", "work", "copy"]
    for event in events:
        event.rank = event.id % 2
    assert rows("rank") == ["work", "copy", "launch", "kernel"]


def test_a_key_that_is_no_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'FunctionEvent' object has no attribute 'colour'"):
        some_events().table(sort_by="colour")
    with pytest.raises(TypeError, match="not supported between instances"):
        some_events().table(sort_by="device_type")


def test_an_empty_list_is_an_empty_text() -> None:
    assert EventList([]).table() == str(EventList([])) == ""
    assert EventList([]).table(sort_by="colour") == ""


def test_no_rows_but_the_totals_of_all() -> None:
    lines = some_events().table(row_limit=0).splitlines()
    assert len(lines) == 6
    assert lines[-2] == "Self CPU time total: 10.000us"


def test_shares_are_written_into_what_was_printed() -> None:
    events = some_events()
    assert shares(events[0]) == [-1, -1, -1]
    events.table()
    assert shares(events[0]) == ["60.00%", "100.00%", "0.00%"]
    assert shares(events[1]) == ["30.00%", "30.00%", "100.00%"]


def shares(event: FunctionEvent) -> list[str | int]:
    return [event.self_cpu_percent, event.total_cpu_percent, event.total_device_percent]


def test_lists_of_both_kinds_and_of_averages_made_by_hand() -> None:
    average = FunctionEventAvg()
    for event in some_events()[1:2]:
        average += event
    average.input_shapes = ""
    average.flops = None
    assert EventList([average], with_flops=True).table().splitlines()[3].split()[0] == "launch"


def test_kernels_are_tuples_with_names() -> None:
    assert some_events()[1].kernels == [Kernel("kernel", 0, 4.0)]
    assert some_events()[1].kernels[0].duration == 4.0
