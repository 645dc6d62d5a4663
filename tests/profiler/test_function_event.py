"""One event: made by hand, and of a recording."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from tests.profiler import stored_events

import mindtorch_v2
from mindtorch_v2.autograd import profiler_util
from mindtorch_v2.autograd.profiler_util import (
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    StringTable,
)
from mindtorch_v2.profiler import profile, record_function

torch: Any = mindtorch_v2


def event(name: str = "x", start: float = 0.0, end: float = 10.0, **values: Any) -> FunctionEvent:
    return FunctionEvent(7, name, 1, start, end, **values)


@pytest.fixture
def recorded() -> EventList[FunctionEvent]:
    """Record outer(inner(ones)), last."""
    with profile(activities=["CPU"], record_shapes=True) as prof:
        with record_function("outer"), record_function("inner", "batch=32"):
            torch.ones(2)
        with record_function("last"):
            pass
    return prof.events()


def test_repr_is_torchs() -> None:
    first = stored_events.events("g01_mlp_sgd/events.json")[0]
    averages = stored_events.averages("g01_mlp_sgd/key_averages.json")
    lines = [repr(item) for item in (first, averages[0], averages.total_average())]
    assert "\n".join(lines) + "\n" == stored_events.text("g01_mlp_sgd/repr_event0.txt")


def test_defaults_of_the_constructor() -> None:
    made = event()
    assert made.device_type is DeviceType.CPU
    assert made.device_resource_id == made.thread == 1
    assert (made.sequence_nr, made.node_id, made.python_id, made.count) == (-1, -1, -1, 1)
    assert [made.flops, made.trace_name, made.input_shapes, made.stack, made.cpu_parent] == [None] * 5
    assert (made.kernels, made.cpu_children, made.is_finished) == ([], [], True)
    assert event(device_resource_id=0).device_resource_id == 0


def test_times_and_memory_of_its_own() -> None:
    parent = event(cpu_memory_usage=100, device_memory_usage=50)
    for start in (1.0, 5.0):
        parent.append_cpu_child(event("child", start, start + 2.0, cpu_memory_usage=30, device_memory_usage=20))
    assert (parent.cpu_time_total, parent.self_cpu_time_total, parent.cpu_time) == (10.0, 6.0, 10.0)
    assert (parent.self_cpu_memory_usage, parent.self_device_memory_usage) == (40, 10)
    assert (parent.cpu_time_str, parent.self_cpu_time_total_str) == ("10.000us", "6.000us")
    parent.is_async = True
    assert parent.self_cpu_time_total == parent.self_cpu_memory_usage == parent.self_device_memory_usage == 0


def test_device_time_is_that_of_kernels_below() -> None:
    parent, child = event(use_device="npu"), event(use_device="npu")
    parent.append_cpu_child(child)
    parent.append_kernel("a", 0, 2.0)
    child.append_kernel("b", 0, 5.0)
    assert (parent.device_time_total, parent.self_device_time_total) == (7.0, 2.0)
    assert (child.device_time_total, child.self_device_time_total) == (5.0, 5.0)
    parent.is_legacy = True
    assert (parent.device_time_total, parent.self_device_time_total) == (2.0, -3.0)
    kernel = event(use_device="npu", device_type=DeviceType.NPU)
    assert (kernel.cpu_time_total, kernel.self_cpu_time_total, kernel.device_time_total) == (0, 0, 10.0)
    assert event().device_time_total == 0
    with pytest.raises(AssertionError, match=r"Expected device_type to be CUDA, PrivateUse1, MTIA, HPU or XPU"):
        _ = event(use_device="npu", device_type=DeviceType.Meta).device_time_total


def test_device_time_of_what_is_nested_deeply() -> None:
    top = current = event(use_device="npu")
    for _ in range(5000):
        below = event(use_device="npu")
        current.append_cpu_child(below)
        below.set_cpu_parent(current)
        current = below
    current.append_kernel("k", 0, 3.0)
    assert top.device_time_total == 3.0
    again = pickle.loads(pickle.dumps(top))
    assert again.device_time_total == copy.deepcopy(top).device_time_total == 3.0


def test_links_are_checked() -> None:
    host, device = event(), event(device_type=DeviceType.NPU)
    wrong: Any = 3
    with pytest.raises(AssertionError, match=r"^Expected device_type to be CPU$"):
        device.append_kernel("k", 0, 1.0)
    with pytest.raises(AssertionError, match=r"^Expected child to be a FunctionEvent$"):
        host.append_cpu_child(wrong)
    with pytest.raises(AssertionError, match=r"^Expected child device_type to be CPU$"):
        host.append_cpu_child(device)
    with pytest.raises(AssertionError, match=r"^Expected parent to be a FunctionEvent$"):
        host.set_cpu_parent(wrong)
    with pytest.raises(AssertionError, match=r"^Expected parent device_type to be CPU$"):
        host.set_cpu_parent(device)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda_time", "`cuda_time` is deprecated, please use `device_time` instead."),
        ("cuda_time_total", "`cuda_time_total` is deprecated. Use `device_time_total` instead."),
        ("self_cuda_time_total", "`self_cuda_time_total` is deprecated. Use `self_device_time_total` instead."),
        ("self_cuda_memory_usage", "`self_cuda_memory_usage` is deprecated. Use `self_device_memory_usage` instead."),
        ("event_metadata", "`event_metadata` is deprecated. Use `metadata` instead."),
    ],
)
def test_deprecated_names_warn_at_their_caller(name: str, message: str) -> None:
    with pytest.warns(FutureWarning) as caught:
        getattr(event(), name)
    assert str(caught[0].message) == message
    assert caught[0].filename == __file__


def test_metadata_of_a_device() -> None:
    made = event(extra_meta={"stream": "7", "blocks per SM": "1.5", "Collective name": '"allreduce"', "x": "1"})
    with pytest.warns(FutureWarning):
        metadata = made.event_metadata
    assert (metadata.stream, metadata.blocks_per_sm, metadata.collective_name) == (7, 1.5, "allreduce")
    assert metadata.grid is None


def test_is_a_mapping_of_what_its_attributes_say() -> None:
    made = event("work", 1.5, 4.0, stack=["a.py(3): f", "<built-in>"], input_shapes=[[2, 3]])
    assert dict(made) == {
        "name": "work",
        "kind": "op",
        "device_type": "CPU",
        "start_ns": 1500,
        "end_ns": 4000,
        "duration_ns": 2500,
        "thread_id": 1,
        "correlation_id": 7,
        "input_shapes": [[2, 3]],
        "stack": ["a.py:3:f", "<built-in>"],
    }
    assert list(made) == list(made.keys())
    assert made.items() == list(zip(made.keys(), made.values(), strict=True))
    assert "stack" not in event()
    assert event().get("stack", 5) == 5
    assert event(is_user_annotation=True)["kind"] == "scope"
    with pytest.raises(KeyError):
        made["colour"]


def test_events_of_a_recording_have_torchs_attributes_and_our_keys(recorded: EventList[FunctionEvent]) -> None:
    outer, inner, ones, *_ = recorded
    assert [outer.name, inner.name, ones.name] == ["outer", "inner", "aten::ones"]
    assert isinstance(outer.time_range, Interval)
    assert outer.time_range.elapsed_us() == pytest.approx(outer.cpu_time_total)
    assert outer.device_type is DeviceType.CPU
    assert (outer.is_user_annotation, ones.is_user_annotation, outer.key) == (True, False, "outer")
    assert (outer["name"], outer["kind"], ones["kind"]) == ("outer", "scope", "op")
    assert outer["duration_ns"] == round(outer.cpu_time_total * 1000)
    assert inner.args == "batch=32"
    assert "batch=32" in str(vars(inner))
    assert outer.metadata is None
    with pytest.raises(AttributeError, match="'FunctionEvent' object has no attribute 'colour'"):
        _ = outer.colour  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        outer["colour"]


def test_events_of_a_recording_are_linked(recorded: EventList[FunctionEvent]) -> None:
    outer, inner, ones, *_ = recorded
    assert outer.cpu_parent is None
    assert inner.cpu_parent == outer
    assert outer.cpu_children == [inner]
    assert ones.cpu_parent == inner
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)


def test_an_event_is_equal_to_itself_however_it_was_reached(recorded: EventList[FunctionEvent]) -> None:
    assert recorded[0] == recorded[0]
    assert recorded[0] != recorded[1]
    assert len({recorded[0], recorded[0], recorded[1]}) == 2
    assert event() != event()


def test_what_is_set_is_there_when_the_event_is_touched_again(recorded: EventList[FunctionEvent]) -> None:
    inner: Any = recorded[1]
    inner.note = "mine"
    del inner
    assert [vars(again)["note"] for again in (recorded[1], recorded[0].cpu_children[0])] == ["mine", "mine"]
    assert "inner" in recorded.table()
    recorded[1].name = "renamed"
    assert recorded[1].name == recorded[1].key == recorded[1]["name"] == recorded[0].cpu_children[0].name == "renamed"
    assert "renamed" in recorded.table()
    assert "inner" not in recorded.table()
    assert [average.key for average in recorded.key_averages()][:2] == ["outer", "renamed"]


def test_figures_follow_what_was_changed(recorded: EventList[FunctionEvent]) -> None:
    before = recorded[0].self_cpu_time_total
    start_ns, gone = recorded[1]["start_ns"], recorded[1].cpu_time_total
    recorded[1].time_range = Interval(recorded[1].time_range.start + 1.0, recorded[1].time_range.start + 1.0)
    assert recorded[1].cpu_time_total == 0
    assert recorded[0].self_cpu_time_total == pytest.approx(before + gone)
    assert recorded[1]["start_ns"] == start_ns + 1000
    assert recorded[1]["duration_ns"] == 0
    recorded[0].append_kernel("k", 0, 2.0)
    assert recorded[0].kernels == [Kernel("k", 0, 2.0)]


def test_what_torch_computes_cannot_be_set(recorded: EventList[FunctionEvent]) -> None:
    for target in (recorded[0], event()):
        with pytest.raises(AttributeError):
            target.cpu_time_total = 3.0  # type: ignore[misc]


@pytest.mark.parametrize("copied", [lambda item: pickle.loads(pickle.dumps(item)), copy.deepcopy])
def test_copies_are_complete_and_independent(recorded: EventList[FunctionEvent], copied: Any) -> None:
    outer = recorded[0]
    again = copied(outer)
    assert again._source is None
    assert again != outer
    assert dict(again) == dict(outer)
    assert repr(again) == repr(outer)
    inner = again.cpu_children[0]
    assert (inner.name, inner.cpu_parent, inner.args) == ("inner", again, "batch=32")
    inner.name = "changed"
    assert (inner["name"], inner["step"], recorded[1].name) == ("changed", 0, "inner")


def test_a_shallow_copy_shares_its_relatives(recorded: EventList[FunctionEvent]) -> None:
    again = copy.copy(recorded[1])
    assert again.cpu_parent == recorded[0]
    again.name = "changed"
    assert recorded[1].name == "inner"


def test_events_that_are_pickled_together_stay_together(recorded: EventList[FunctionEvent]) -> None:
    outer, inner = pickle.loads(pickle.dumps(recorded[:2]))
    assert inner.cpu_parent is outer
    assert outer.cpu_children[0] is inner
    one, other = event(), event()
    one.other, other.other = other, one
    again = pickle.loads(pickle.dumps(one))
    assert again.other.other is again


def test_json_of_its_items(recorded: EventList[FunctionEvent]) -> None:
    assert json.loads(json.dumps([dict(item) for item in recorded]))[0]["name"] == "outer"


def test_sums() -> None:
    average = FunctionEventAvg()
    assert (average.key, average.count, average.cpu_time, average.flops) == (None, 0, 0.0, 0)
    parent = event()
    first = event(end=4.0, flops=5, stack=["a"], input_shapes=[[1]])
    first.set_cpu_parent(parent)
    average.add(first)
    average += event(end=8.0, flops=None)
    assert (average.key, average.count, average.cpu_time_total, average.cpu_time) == ("x", 2, 12.0, 6.0)
    assert (average.flops, average.stack, average.input_shapes, average.cpu_parent) == (5, ["a"], [[1]], parent)
    with pytest.raises(AssertionError, match=r"^Expected keys to match, but got y vs x$"):
        average += event("y")
    with pytest.raises(AssertionError, match=r"^Expected other to be a FunctionEvent or FunctionEventAvg$"):
        average.add(3)  # type: ignore[arg-type]
    total = FunctionEventAvg().add(average)
    assert total.count == 2
    again = pickle.loads(pickle.dumps(average))
    assert (again.key, again.count, again.cpu_parent.name) == ("x", 2, "x")


def test_averages_of_a_recording(recorded: EventList[FunctionEvent]) -> None:
    outer, inner, *_ = recorded.key_averages()
    assert (outer.key, outer.count, outer.device_type) == ("outer", 1, DeviceType.CPU)
    assert (outer.cpu_parent, inner.cpu_parent, outer.cpu_children) == (None, recorded[0], [recorded[1]])
    assert (outer.input_shapes, outer.overload_name, outer.stack) == ("", "", [])
    again = pickle.loads(pickle.dumps(outer))
    assert again._source is None
    assert repr(again) == repr(outer)
    outer.add(outer)
    assert outer.count == 2
    for name in ("name", "cuda_time_total", "trace_name"):
        assert not hasattr(outer, name)


def test_names_are_not_taken_for_symbols() -> None:
    # Defect 03.
    for name in ("re", "rs", "Pf", "PKc", "Ss", "t"):
        assert StringTable()[name] == event(name).name == event(name).key == name


def test_formats() -> None:
    times = [profiler_util._format_time(us) for us in (0.5, 999.9996, 1000, 1e6, -2000.0)]
    assert times == ["0.500us", "1000.000us", "1.000ms", "1.000s", "-2000.000us"]
    sizes = [profiler_util._format_memory(size) for size in (0, 1023, 1024, -(1 << 20), 3 << 30)]
    assert sizes == ["0 B", "1023 B", "1.00 KB", "-1.00 MB", "3.00 GB"]
    assert profiler_util._format_time_share(0, 0) == "NaN"
    with pytest.raises(AssertionError, match=r"^Expected time_us == 0 but got 3$"):
        profiler_util._format_time_share(3, 0)
