"""Section 3 of the requirements: what an event answers to."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest
from tests.profiler.support import events, in_thread, named, only, scope, square, torch

from mindtorch_v2.profiler import profile, record_function

BASE_KEYS = {
    *("name", "kind", "device_type", "start_ns", "end_ns", "duration_ns"),
    *("step", "thread_id", "correlation_id"),
}
OPTIONAL_KEYS = ["input_shapes", "stack"] + [
    f"{device}_memory_allocated_{when}" for device in ("npu", "cpu") for when in ("before", "after", "delta")
]


ATTRIBUTES = """
    id name key trace_name overload_name thread fwd_thread count cpu_children cpu_parent kernels time_range
    input_shapes structured_input_shapes structured_input_strides input_dtypes concrete_inputs kwinputs stack
    scope sequence_nr cpu_memory_usage device_memory_usage self_cpu_memory_usage self_device_memory_usage flops
    is_async is_remote is_legacy node_id device_type device_index device_resource_id use_device
    is_python_function is_user_annotation activity_type flow_id flow_type flow_start external_id
    linked_correlation_id python_id python_parent_id python_module_id metadata cpu_time_total
    self_cpu_time_total device_time_total self_device_time_total cpu_time device_time cpu_time_str
    device_time_str cpu_time_total_str device_time_total_str self_cpu_time_total_str self_device_time_total_str
"""


def work() -> None:
    with record_function("scope"):
        left = torch.ones(2, 3)
        left @ torch.ones(3, 4)


def test_there_is_one_entry_for_each_op_and_scope() -> None:
    with profile() as prof:
        work()
    assert [(event["name"], event["kind"]) for event in events(prof) if event.cpu_parent is None] == [
        ("scope", "scope")
    ]
    outer = only(named(prof, "scope"))
    assert [(event["name"], event["kind"]) for event in outer.cpu_children] == [
        ("aten::ones", "op"),
        ("aten::ones", "op"),
        ("aten::matmul", "op"),
    ]


def test_an_entry_is_a_mapping() -> None:
    with profile() as prof:
        work()
    for event in events(prof):
        assert event["name"] == event.name
        assert "name" in event
        assert "stack" not in event
        fields = dict(event)
        assert list(fields) == list(event.keys())
        assert dict(event.items()) == fields
        assert list(event.values()) == list(fields.values())
        assert event.get("nonsense", 7) == 7
        with pytest.raises(KeyError, match="nonsense"):
            event["nonsense"]


def test_an_entry_has_torchs_attributes() -> None:
    with profile() as prof:
        work()
    for event in events(prof):
        assert [name for name in ATTRIBUTES.split() if not hasattr(event, name)] == []


def test_device_type_is_cpu_or_npu() -> None:
    with profile() as prof:
        square()
        torch.ones(4, device="npu")
    assert {event["device_type"] for event in events(prof)} == {"CPU", "NPU"}


def test_times_are_integers_and_end_minus_start_is_the_duration() -> None:
    with profile() as prof:
        work()
        torch.ones(4, device="npu").add_(1)
    for event in events(prof):
        start, end, duration = event["start_ns"], event["end_ns"], event["duration_ns"]
        assert all(type(value) is int for value in (start, end, duration))
        assert end - start == duration >= 0


def test_step_is_the_step_in_which_it_was_recorded() -> None:
    with profile() as prof:
        for number in range(3):
            scope(f"step {number}")
            prof.step()
    assert [(event["name"], event["step"]) for event in events(prof)] == [(f"step {n}", n) for n in range(3)]


def test_thread_id_is_the_thread_that_it_ran_on() -> None:
    ids: list[int] = []

    def elsewhere() -> None:
        ids.append(threading.get_native_id())
        scope("there")

    with profile() as prof:
        scope("here")
        in_thread(elsewhere)
    assert only(named(prof, "here"))["thread_id"] == threading.get_native_id()
    assert only(named(prof, "there"))["thread_id"] == ids[0]


def test_correlation_ids_of_ops_are_unique_within_the_recording() -> None:
    with profile() as prof:
        for _ in range(20):
            work()
        in_thread(work)
    ids = [event["correlation_id"] for event in events(prof) if event["kind"] == "op"]
    assert len(ids) == len(set(ids)) > 100
    assert all(type(number) is int for number in ids)


@pytest.mark.parametrize("key", OPTIONAL_KEYS)
def test_optional_keys_are_absent_when_their_flag_is_off(key: str) -> None:
    with profile() as prof:
        work()
        torch.ones(4, device="npu").add_(1)
    for event in events(prof):
        assert key not in event
        assert key not in dict(event)
        with pytest.raises(KeyError, match=key):
            event[key]


def test_an_event_with_no_flags_has_these_keys_and_no_others() -> None:
    with profile() as prof:
        work()
    for event in events(prof):
        assert set(event.keys()) == BASE_KEYS


def test_with_all_flags_off_no_call_of_python_is_watched() -> None:
    def called() -> None:
        assert sys.getprofile() is None
        assert threading.getprofile() is None

    with profile():
        called()
        in_thread(called)


def shapes_of(call: Any, name: str) -> Any:
    with profile(record_shapes=True) as prof:
        call()
    event = named(prof, name)[0]
    assert json.loads(json.dumps(event["input_shapes"])) == event["input_shapes"]
    return event["input_shapes"]


def test_input_shapes_are_those_of_the_tensor_arguments() -> None:
    left, right = torch.ones(2, 3), torch.ones(3, 4)
    assert shapes_of(lambda: left @ right, "aten::mm") == [[2, 3], [3, 4]]
    bias = torch.ones(4)
    assert shapes_of(lambda: torch.addmm(bias, left, right), "aten::addmm")[:3] == [[4], [2, 3], [3, 4]]


def test_input_shapes_have_tensor_lists() -> None:
    parts = [torch.ones(2, 3), torch.ones(5, 3)]
    assert [[2, 3], [5, 3]] in shapes_of(lambda: torch.cat(parts), "aten::cat")
    assert [[2, 3], [2, 3]] in shapes_of(lambda: torch.stack([parts[0]] * 2), "aten::stack")


def test_input_shapes_have_keyword_arguments() -> None:
    left, right = torch.ones(2, 3), torch.ones(3, 4)
    assert shapes_of(lambda: torch.mm(input=left, mat2=right), "aten::mm") == [[2, 3], [3, 4]]
    assert [[2, 3], [2, 3]] in shapes_of(lambda: torch.cat(tensors=[left, left], dim=0), "aten::cat")


def test_input_shapes_of_a_scalar_and_of_an_empty_tensor() -> None:
    assert shapes_of(lambda: torch.add(torch.tensor(1.0), torch.ones(0, 3)), "aten::add")[:2] == [[], [0, 3]]


def test_the_stack_has_entries_of_file_line_and_function() -> None:
    with profile(with_stack=True) as prof:
        work()
    for name in ("scope", "aten::matmul", "aten::mm"):
        event = only(named(prof, name))
        here = only(entry for entry in event["stack"] if entry.endswith(":work"))
        file, line, _ = here.rsplit(":", 2)
        assert file.endswith("test_mission_events.py")
        assert work.__code__.co_firstlineno <= int(line) < work.__code__.co_firstlineno + 4
        assert any(entry.endswith(":test_the_stack_has_entries_of_file_line_and_function") for entry in event["stack"])


def test_the_stack_leaves_the_profilers_and_the_dispatchers_own_frames_out() -> None:
    with profile(with_stack=True) as prof:
        work()
    entries = {entry for event in events(prof) if "stack" in event for entry in event["stack"]}
    assert entries
    assert [entry for entry in entries if "/mindtorch_v2/profiler/" in entry or "/autograd/profiler" in entry] == []


def test_every_op_and_scope_has_the_key_stack_with_its_flag() -> None:
    with profile(with_stack=True) as prof:
        work()
    assert all("stack" in event for event in events(prof) if event.activity_type in {"cpu_op", "user_annotation"})


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_memory_delta_is_after_minus_before(device: str) -> None:
    with profile(profile_memory=True) as prof:
        kept = torch.ones(1 << 18, device=device)
    found = [event for event in events(prof) if f"{device}_memory_allocated_delta" in event]
    assert found
    for event in found:
        before, after = event[f"{device}_memory_allocated_before"], event[f"{device}_memory_allocated_after"]
        assert event[f"{device}_memory_allocated_delta"] == after - before
        assert min(before, after) >= 0
        assert event["device_type"] == device.upper()
    assert (1 << 20) in [event[f"{device}_memory_allocated_delta"] for event in found]
    del kept


def test_memory_keys_are_those_of_the_events_device() -> None:
    with profile(profile_memory=True) as prof:
        kept = [torch.ones(4), torch.ones(4, device="npu")]
    for event in events(prof):
        device = event["device_type"].lower()
        other = {"cpu": "npu", "npu": "cpu"}[device]
        assert f"{device}_memory_allocated_before" in event
        assert f"{other}_memory_allocated_before" not in event
    del kept


def test_attributes_speak_torch_and_keys_speak_mindtorch() -> None:
    with profile(with_stack=True) as prof:
        work()
    event = only(named(prof, "aten::matmul"))
    own = [frame for frame in event.stack if frame.endswith("): work")]
    assert len(own) == 1
    assert "test_mission_events.py(" in own[0]
    assert any(entry.endswith(":work") for entry in event["stack"])
    assert event.time_range.start == pytest.approx(event["start_ns"] / 1000)
    assert event.time_range.elapsed_us() == pytest.approx(event["duration_ns"] / 1000)
    assert event.cpu_time_total == pytest.approx(event["duration_ns"] / 1000)
