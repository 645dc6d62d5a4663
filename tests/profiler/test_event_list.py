"""A list of events: a list in every way, over a recording or made by hand."""

from __future__ import annotations

import copy
import functools
import heapq
import itertools
import json
import operator
import pickle
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler import stored_events

import mindtorch_v2
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent
from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

torch: Any = mindtorch_v2
NAMES = ["outer", "a", "b", "last"]
DECIMAL = re.compile(r"-?\d+\.\d+")


@pytest.fixture
def events() -> EventList[FunctionEvent]:
    """Record outer(a, b), last."""
    with profile(activities=["CPU"]) as prof:
        with record_function("outer"):
            with record_function("a"):
                pass
            with record_function("b"):
                pass
        with record_function("last"):
            pass
    return prof.events()


def names(items: Any) -> list[str]:
    return [item.name for item in items]


def is_lazy(items: EventList[Any]) -> bool:
    return items._source is not None


def event(name: str, start: float, end: float, **values: Any) -> FunctionEvent:
    return FunctionEvent(int(start), name, 1, start, end, **values)


def test_reads_like_a_list_and_makes_nothing(events: EventList[FunctionEvent]) -> None:
    assert isinstance(events, list)
    assert (len(events), bool(events), names(events)) == (4, True, NAMES)
    assert (events[0].name, events[-1].name) == ("outer", "last")
    assert (names(events[1:3]), type(events[1:3]), names(events[::-1])) == (["a", "b"], list, NAMES[::-1])
    assert names(reversed(events)) == NAMES[::-1]
    assert events[2] in events
    assert "outer" not in events
    assert (events.index(events[2]), events.index(events[2], 1), events.count(events[2]), events.count(3)) == (
        2,
        2,
        1,
        0,
    )
    with pytest.raises(ValueError, match="is not in list"):
        events.index(events[2], 3)
    assert names(sorted(events, key=lambda item: item.name)) == sorted(NAMES)
    assert names(list(events)) == names([*events]) == names(events.copy()) == NAMES
    assert names(max(zip(NAMES, events, strict=True))[1:]) == ["outer"]
    assert (type(events.copy()), type(operator.add(events, [])), type(events * 2)) == (list, list, list)
    assert names(operator.add(events, [events[0]])) == [*NAMES, "outer"]
    assert names(events * 2) == names(2 * events) == NAMES * 2
    assert events == copy.copy(events)
    assert (events == list(events), list(events) == events, events != [], events == 3) == (True, True, True, False)
    assert repr(events) == repr(list(events))
    first, *_, last = events
    assert (first, last) == (events[0], events[3])
    assert names(itertools.chain(*[events])) == NAMES
    assert len(set(enumerate(events))) == 4
    match events:
        case [one, *_]:
            assert one == events[0]
    assert is_lazy(events)
    assert list.__len__(events) == 0
    with pytest.raises(TypeError, match="unhashable"):
        hash(events)
    for wrong in ("a", 1.0, None):
        with pytest.raises(TypeError, match=f"list indices must be integers or slices, not {type(wrong).__name__}"):
            events[wrong]  # type: ignore[call-overload]
    for index in (4, -5, 10**30):
        with pytest.raises(IndexError, match="list index out of range"):
            events[index]


CHANGES: list[tuple[str, Any, list[str]]] = [
    ("append", lambda items: items.append(items[0]), [*NAMES, "outer"]),
    ("insert", lambda items: items.insert(1, items[3]), ["outer", "last", "a", "b", "last"]),
    ("extend", lambda items: items.extend(items[:1]), [*NAMES, "outer"]),
    ("extend by itself", lambda items: items.extend(items), NAMES * 2),
    ("sort", lambda items: items.sort(key=lambda item: item.name), sorted(NAMES)),
    ("reverse", lambda items: items.reverse(), NAMES[::-1]),
    ("pop", lambda items: items.pop(0), NAMES[1:]),
    ("remove", lambda items: items.remove(items[1]), ["outer", "b", "last"]),
    ("clear", lambda items: items.clear(), []),
    ("del", lambda items: items.__delitem__(slice(1, 3)), ["outer", "last"]),
    ("set", lambda items: items.__setitem__(0, items[3]), ["last", "a", "b", "last"]),
    ("set slice", lambda items: items.__setitem__(slice(None), items[:2]), ["outer", "a"]),
    ("+=", lambda items: items.__iadd__(items[:1]), [*NAMES, "outer"]),
    ("*=", lambda items: items.__imul__(2), NAMES * 2),
]


@pytest.mark.parametrize(("change", "expected"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_changes_like_a_list(events: EventList[FunctionEvent], change: Any, expected: list[str]) -> None:
    change(events)
    assert names(events) == expected
    assert len(events) == len(expected)
    assert not is_lazy(events)
    assert events.self_cpu_time_total == pytest.approx(sum(item.self_cpu_time_total for item in events))


def test_what_c_reads_past_our_methods(events: EventList[FunctionEvent]) -> None:
    # CPython reads a list's memory for these; they are right all the same.
    target: list[Any] = [1]
    alias = target
    target += copy.copy(events)
    assert alias is target
    assert len(target) == 5
    assert len(operator.add([1], copy.copy(events))) == 5
    assert len(functools.reduce(operator.add, [[], copy.copy(events)])) == 4
    assert len(sum([copy.copy(events), copy.copy(events)], [])) == 8  # noqa: RUF017
    plain: list[Any] = [1, 2, 3]
    plain[1:2] = copy.copy(events)
    assert len(plain) == 6
    assert json.dumps(copy.copy(events), default=lambda item: item.name) == json.dumps(NAMES)
    appended = copy.copy(events)
    list.append(appended, appended[0])
    assert names(appended) == [*NAMES, "outer"]
    assert is_lazy(events)


def test_what_cannot_be_told_needs_a_plain_list(events: EventList[FunctionEvent]) -> None:
    assert operator.concat([], events) == []
    assert len(operator.concat([], list(events))) == 4
    pairs = [(item.cpu_time_total, index) for index, item in enumerate(events)]
    heapq.heapify(pairs)
    assert len(pairs) == 4


def test_the_length_is_known_before_the_order_is() -> None:
    kept = torch.ones(4)
    with profile(activities=["CPU"], profile_memory=True) as prof:
        del kept
        torch.ones(2, requires_grad=True).sum().backward()
    events = prof.events()
    length = len(events)
    assert length == len(names(events))
    assert "[memory]" in names(events)


def test_a_change_during_iteration_is_seen(events: EventList[FunctionEvent]) -> None:
    seen = []
    for item in events:
        seen.append(item.name)
        if item.name == "a":
            events.append(events[0])
    assert seen == [*NAMES, "outer"]


def test_changing_the_list_does_not_change_the_recording() -> None:
    with profile(activities=["CPU"]) as prof, record_function("x"):
        pass
    listed = prof.events()
    whole = copy.copy(listed)
    listed.clear()
    assert names(whole) == ["x"]


@pytest.mark.parametrize("copied", [lambda item: pickle.loads(pickle.dumps(item)), copy.deepcopy])
def test_copies_are_complete_and_independent(events: EventList[FunctionEvent], copied: Any) -> None:
    again: Any = copied(events)
    assert type(again) is EventList
    assert not is_lazy(again)
    assert names(again) == NAMES
    assert again[1].cpu_parent is again[0]
    assert again[0].cpu_children == [again[1], again[2]]
    assert [dict(item) for item in again] == [dict(item) for item in events]
    assert again.table() == events.table()
    assert again.key_averages().table() == events.key_averages().table()
    vars(again)["extra"] = 3
    assert (copied(again).extra, copied(again)._tree_built) == (3, True)
    averages = copied(events.key_averages())
    assert averages.table() == events.key_averages().table()
    assert is_lazy(copy.copy(events))
    assert type(copy.copy(events)) is EventList


def test_lists_made_or_changed_by_hand_say_what_the_recording_says() -> None:
    with profile(activities=["CPU"], record_shapes=True, profile_memory=True) as prof:
        weights = torch.ones(4, 3, requires_grad=True)
        for _ in range(2):
            with record_function("step"):
                torch.ones(2, 4).matmul(weights).sum().backward()
    lazy = prof.events()
    filled = copy.copy(lazy)
    filled.append(filled.pop())
    assert not is_lazy(filled)
    assert is_lazy(lazy)
    assert filled.self_cpu_time_total == pytest.approx(lazy.self_cpu_time_total)
    for options in ({}, {"group_by_input_shapes": True}, {"group_by_overload_name": True}, {"group_by_stack_n": 3}):
        theirs, ours = lazy.key_averages(**options), filled.key_averages(**options)
        assert is_lazy(theirs)
        assert [(row.key, row.count) for row in theirs] == [(row.key, row.count) for row in ours]
        # One sums nanoseconds, the other fractions of microseconds: means may differ in the last digit.
        tables = [averages.table(sort_by="count").split() for averages in (theirs, ours)]
        assert [DECIMAL.sub("", cell) for cell in tables[0]] == [DECIMAL.sub("", cell) for cell in tables[1]]
        numbers = [[float(number) for cell in table for number in DECIMAL.findall(cell)] for table in tables]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.011)
        for one, other in zip(theirs, ours, strict=True):
            assert one.cpu_time == pytest.approx(other.cpu_time)
            assert one.self_cpu_time_total == pytest.approx(other.self_cpu_time_total)
    for name in (
        "count",
        "cpu_time_total",
        "self_cpu_time_total",
        "cpu_memory_usage",
        "self_cpu_memory_usage",
        "scope",
    ):
        total, other = lazy.total_average(), filled.total_average()
        assert getattr(total, name) == pytest.approx(getattr(other, name)), name
    assert (total.key, total.name if hasattr(total, "name") else None) == ("Total", None)


def test_attributes_that_rows_do_not_know_sort_a_table(events: EventList[FunctionEvent]) -> None:
    rows = [line.split()[0] for line in events.table(sort_by="thread").splitlines()[3:7]]
    assert rows == NAMES
    for place, item in enumerate(events):
        item.place = place
    rows = [line.split()[0] for line in events.table(sort_by="place").splitlines()[3:7]]
    assert rows == NAMES[::-1]
    assert is_lazy(events)
    with pytest.raises(AttributeError, match="colour"):
        events.table(sort_by="colour")
    with pytest.raises(AttributeError, match="colour"):
        events.key_averages().table(sort_by="colour")
    with pytest.raises(TypeError):
        events.table(sort_by="device_type")


def test_shares_are_there_once_a_table_was_printed(events: EventList[FunctionEvent]) -> None:
    before: object = events[0].self_cpu_percent
    assert before == -1
    events.table()
    share = events[0].self_cpu_time_total * 100 / events.self_cpu_time_total
    assert events[0].self_cpu_percent == f"{share:.2f}%"
    assert events[0].total_device_percent == -1


def test_averages_of_what_has_no_tree_are_refused(events: EventList[FunctionEvent]) -> None:
    message = "^Expected tree to be built before calling key_averages$"
    for listed in (EventList([event("a", 0.0, 1.0)]), events.key_averages()):
        with pytest.raises(AssertionError, match=message):
            listed.key_averages()


def test_total_of_nothing() -> None:
    total = EventList([]).total_average()
    assert (total.key, total.count, total.cpu_time) == ("Total", 0, 0.0)


@pytest.mark.parametrize("golden", ["g01_mlp_sgd", "g05_flops"])
def test_the_tree_is_torchs(golden: str) -> None:
    flat = stored_events.flat_events(f"{golden}/events.json")
    flat._build_tree()
    linked = stored_events.events(f"{golden}/events.json")
    places = {id(item): place for place, item in enumerate(flat)}
    expected = {id(item): place for place, item in enumerate(linked)}
    assert len(flat) == len(linked)
    for ours, theirs in zip(flat, linked, strict=True):
        assert ours.name == theirs.name
        assert [places[id(child)] for child in ours.cpu_children] == [
            expected[id(child)] for child in theirs.cpu_children
        ]
        assert (ours.cpu_parent is None) == (theirs.cpu_parent is None)
    with pytest.raises(AssertionError, match="There is already a CPU parent event for"):
        flat._build_tree()


def test_nesting_is_by_thread_and_node_and_not_by_overlap() -> None:
    outer, overlapping = event("outer", 0.0, 10.0), event("overlapping", 5.0, 15.0)
    inner, touching = event("inner", 2.0, 10.0), event("touching", 10.0, 10.0)
    other, late = event("other node", 1.0, 2.0, node_id=3), event("async", 3.0, 4.0, is_async=True)
    listed = EventList([overlapping, inner, outer, touching, other, late])
    listed._build_tree()
    assert outer.cpu_children == [inner]
    assert [item.cpu_parent for item in (overlapping, other, late)] == [None] * 3
    assert touching.cpu_parent is overlapping


def test_an_op_over_its_namesake_is_one_call_and_a_scope_is_recursion() -> None:
    chain = [event("sum", float(depth), 20.0 - depth) for depth in range(3)]
    leaf = event("leaf", 5.0, 6.0)
    chain[2].append_kernel("k", 0, 1.0)
    listed = EventList([*chain, leaf])
    listed._build_tree()
    assert names(listed) == ["sum", "leaf"]
    assert (leaf.cpu_parent, chain[0].cpu_children, len(chain[0].kernels)) == (chain[0], [leaf], 1)
    scopes = EventList(event("fib", float(d), 20.0 - d, is_user_annotation=True) for d in range(3))
    scopes._build_tree()
    assert scopes.key_averages()[0].count == 3


def test_backward_ops_have_the_stack_of_the_forward_op() -> None:
    forward = event("mul", 0.0, 1.0, sequence_nr=4, stack=["model.py(3): forward"])
    node = event("MulBackward0", 2.0, 5.0, sequence_nr=4, scope=1, fwd_thread=1, stack=["engine"])
    inside = event("aten::mul", 3.0, 4.0, stack=["engine"])
    lost = event("AddBackward0", 6.0, 7.0, sequence_nr=9, scope=1, fwd_thread=1, stack=["engine"])
    EventList([forward, node, inside, lost])._build_tree()
    assert [item.stack for item in (node, inside, lost)] == [forward.stack, forward.stack, []]
    with pytest.raises(AssertionError, match="Expected fwd_thread to be set for backward parent"):
        EventList([event("XBackward0", 0.0, 1.0, scope=1)])._build_tree()


def test_trees_may_be_deep() -> None:
    depth = 5000
    listed = EventList(event(f"n{level}", float(level), 20000.0 - level) for level in range(depth))
    listed._build_tree()
    assert listed[-1].cpu_parent is listed[-2]
    assert len(pickle.loads(pickle.dumps(listed))) == depth


def test_groups_by_what_is_asked() -> None:
    listed = EventList(
        [
            event("add", 0.0, 1.0, input_shapes=[[1]], overload_name="Tensor", stack=["a", "x"]),
            event("add", 2.0, 3.0, input_shapes=[[2]], overload_name="out", stack=["a", "y"]),
            event("add", 4.0, 5.0, input_shapes=[[2]], overload_name="out", stack=["b", "y"], is_user_annotation=True),
            event("f", 6.0, 7.0, is_python_function=True, stack=[]),
        ]
    )
    listed._build_tree()
    assert [row.count for row in listed.key_averages()] == [2, 1]
    assert [row.input_shapes for row in listed.key_averages(True)] == [[[1]], [[2]], [[2]]]
    assert [row.overload_name for row in listed.key_averages(group_by_overload_name=True)] == ["Tensor", "out", "out"]
    assert [row.stack for row in listed.key_averages(group_by_stack_n=1)] == [["a"], ["b"]]
    assert len(listed.key_averages(group_by_stack_n=2)) == 3
    assert listed.key_averages()[0].stack == []
    assert listed.key_averages(include_python_functions=True)[-1].key == "f"


def test_time_of_python_functions_is_their_callers_unless_they_are_shown() -> None:
    work = event("work", 0.0, 10.0, is_user_annotation=True)
    function = event("f", 1.0, 9.0, is_python_function=True)
    deeper = event("g", 2.0, 8.0, is_python_function=True)
    op = event("op", 3.0, 4.0)
    listed = EventList([work, function, deeper, op])
    listed._build_tree()
    shown = {row.key: row.self_cpu_time_total for row in listed.key_averages(include_python_functions=True)}
    assert shown == {"work": 2.0, "f": 2.0, "g": 5.0, "op": 1.0}
    hidden = {row.key: row.self_cpu_time_total for row in listed.key_averages()}
    assert hidden == {"work": 9.0, "op": 1.0}


def test_export_of_stacks(tmp_path: Path) -> None:
    listed = EventList(
        [
            event("a", 0.0, 5.5, stack=["leaf x;y", "root"]),
            event("b", 10.0, 12.6, stack=["leaf x;y", "root"]),
            event("c", 20.0, 20.25, stack=["other"]),
            event("d", 30.0, 30.0, stack=["nothing"]),
            event("e", 40.0, 50.0),
        ]
    )
    listed._build_tree()
    path = tmp_path / "stacks.txt"
    for exported in (listed, listed.key_averages(), listed.key_averages(group_by_stack_n=5)):
        exported.export_stacks(path, "self_cpu_time_total")
        assert path.read_text(encoding="utf-8") == "root;leaf_x_y 8\nother 1\n"
    for metric in listed.supported_export_stacks_metrics()[1:]:
        listed.export_stacks(path, metric)
        assert path.read_text(encoding="utf-8") == ""
    metrics = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]
    assert listed.supported_export_stacks_metrics() == metrics
    with pytest.raises(ValueError, match=r"^metric should be one of: "):
        listed.export_stacks(path, "count")


def test_stacks_are_those_that_torch_wrote_merged(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    stored_events.events("g04_with_stack/events_verbose.json").export_stacks(path, "self_cpu_time_total")
    golden = stored_events.text("g04_with_stack/stacks_verbose.txt").splitlines()
    expected = list(dict.fromkeys(line.rpartition(" ")[0] for line in golden))
    ours = [line.rpartition(" ")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    # Torch leaves out what took less than a microsecond.
    assert [stack for stack in ours if stack in expected] == sorted(expected, key=ours.index)
    assert set(expected) <= set(ours)
    assert len(ours) == len(set(ours))


def test_chrome_list_is_torchs(tmp_path: Path, events: EventList[FunctionEvent]) -> None:
    path = tmp_path / "trace.json"
    stored_events.events("g01_mlp_sgd/events.json").export_chrome_trace(path)
    assert path.read_text(encoding="utf-8") == stored_events.text("g01_mlp_sgd/eventlist_export_chrome_trace.json")
    events.export_chrome_trace(path)
    assert [item["name"] for item in json.loads(path.read_text(encoding="utf-8"))] == NAMES


def test_chrome_list_of_kernels_names_and_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    launch = event('say "hi"\n', 0.0, 1.5, trace_name='say "hi"\n')
    launch.append_kernel("k", 0, 1.0)
    EventList([launch, event("x", 0.0, 1.0)], use_device="npu").export_chrome_trace(path)
    work, flow = json.loads(path.read_text(encoding="utf-8"))
    assert (work["name"], work["ph"], work["dur"], work["pid"]) == ('say "hi"\n', "X", 1.5, "CPU functions")
    assert (flow["ph"], flow["cat"], flow["id"]) == ("s", "cpu_to_npu", 0)
    # Defect 39.
    EventList([event("[memory]", 0.0, 0.0)]).export_chrome_trace(path)
    assert path.read_text(encoding="utf-8") == "[]"


def test_averages_have_no_chrome_list(tmp_path: Path, events: EventList[FunctionEvent]) -> None:
    path = tmp_path / "trace.json"
    path.write_text("kept", encoding="utf-8")
    with pytest.raises(AttributeError, match="trace_name"):
        events.key_averages().export_chrome_trace(path)
    assert path.read_text(encoding="utf-8") == "kept"
