"""Section 4 of the requirements: the Chrome trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import events, in_thread, only, read_json, scope, spans, square, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

FLAGS: dict[str, Any] = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_flops": True}


def work() -> Any:
    with record_function("scope", "batch=32"):
        left = torch.ones(2, 3, requires_grad=True)
        (left @ torch.ones(3, 4)).sum().backward()
    return torch.ones(8, 8, device="npu") @ torch.ones(8, 8, device="npu")


@pytest.mark.parametrize("flags", [{}, FLAGS], ids=["plain", "all flags"])
def test_the_file_is_valid_json(flags: dict[str, Any], tmp_path: Path) -> None:
    with profile(**flags) as prof:
        work()
        in_thread(lambda: scope("elsewhere"))
    assert spans(trace_of(prof, tmp_path))


def test_the_file_of_an_empty_recording_is_valid_json(tmp_path: Path) -> None:
    with profile() as prof:
        pass
    trace = trace_of(prof, tmp_path)
    assert spans(trace) == []
    assert {event["name"] for event in trace["traceEvents"]} >= {"Record Window End"}


def test_every_complete_event_has_its_fields(tmp_path: Path) -> None:
    with profile(**FLAGS) as prof:
        work()
    for event in trace_of(prof, tmp_path)["traceEvents"]:
        if event["ph"] == "X":
            assert {"name", "ph", "ts", "dur", "pid", "tid"} <= set(event)
            assert event["dur"] >= 0


def test_pid_is_the_real_process_id(tmp_path: Path) -> None:
    with profile(activities=["CPU"]) as prof:
        square()
    assert {event["pid"] for event in spans(trace_of(prof, tmp_path))} == {os.getpid()}


def test_the_first_entry_is_a_complete_event(tmp_path: Path) -> None:
    with profile() as prof:
        work()
    assert trace_of(prof, tmp_path)["traceEvents"][0]["ph"] == "X"


def test_args_carry_device_type_and_step(tmp_path: Path) -> None:
    with profile() as prof:
        for _ in range(2):
            work()
            prof.step()
    for span in spans(trace_of(prof, tmp_path)):
        assert span["args"]["device_type"] in {"CPU", "NPU"}
        assert span["args"]["step"] in {0, 1}
    assert {span["args"]["device_type"] for span in spans(trace_of(prof, tmp_path))} == {"CPU", "NPU"}


def test_args_carry_what_was_captured(tmp_path: Path) -> None:
    with profile(**FLAGS) as prof:
        work()
    by_id = {event["correlation_id"]: event for event in events(prof) if event.activity_type == "cpu_op"}
    compared = set()
    for span in spans(trace_of(prof, tmp_path), "cpu_op"):
        event = by_id.get(span["args"]["External id"])
        if event is None:
            # An op inside one of the same name is in the file alone.
            continue
        for key in (
            "input_shapes",
            "stack",
            *(f"cpu_memory_allocated_{when}" for when in ("before", "after", "delta")),
        ):
            assert (key in event) == (key in span["args"]), key
            if key in event:
                assert span["args"][key] == event[key]
                compared.add(key)
    assert {"input_shapes", "stack", "cpu_memory_allocated_before", "cpu_memory_allocated_delta"} <= compared


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_args_carry_the_memory_fields_of_each_device(device: str, tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        kept = torch.ones(1 << 18, device=device)
    deltas = [span["args"].get(f"{device}_memory_allocated_delta") for span in spans(trace_of(prof, tmp_path))]
    assert 1 << 20 in deltas
    del kept


def test_args_carry_nothing_that_was_not_captured(tmp_path: Path) -> None:
    with profile() as prof:
        work()
    absent = {"input_shapes", "stack", "Input Dims", "Call stack", "Flops"}
    for span in spans(trace_of(prof, tmp_path)):
        assert not absent & set(span["args"])
        assert not [key for key in span["args"] if "memory_allocated" in key]


def test_metadata_added_by_the_user_is_in_the_file(tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("preset", "[1, 2]")
    with prof:
        prof.add_metadata("text", 'a "quoted" \\ value')
        prof.add_metadata_json("json", '{"deep": {"list": [1, null, true]}}')
    trace = trace_of(prof, tmp_path)
    assert trace["preset"] == [1, 2]
    assert trace["text"] == 'a "quoted" \\ value'
    assert trace["json"] == {"deep": {"list": [1, None, True]}}


def test_option_flags_are_in_the_file(tmp_path: Path) -> None:
    with profile(**FLAGS) as prof:
        pass
    trace = trace_of(prof, tmp_path)
    assert {flag: trace.get(flag) for flag in FLAGS} == dict.fromkeys(FLAGS, 1)
    with profile() as plain:
        pass
    assert not set(FLAGS) & set(trace_of(plain, tmp_path))


def test_the_rules_that_torch_checks_on_every_trace(tmp_path: Path) -> None:
    with profile(**FLAGS) as prof:
        work()
    trace = trace_of(prof, tmp_path)
    entries = trace["traceEvents"]
    window = only(event for event in entries if event.get("cat") == "Trace")
    begin = only(event for event in entries if event["name"] == "Iteration Start: PyTorch Profiler")
    assert window["name"] == "PyTorch Profiler (0)"
    assert entries[-1]["name"] == "Record Window End"
    end = entries[-1]["ts"]
    assert window["ts"] >= begin["ts"]
    assert window["ts"] + window["dur"] <= end + 0.001
    for span in spans(trace):
        assert window["ts"] <= span["ts"]
        assert span["ts"] + span["dur"] <= end + 0.001


def test_times_in_the_file_are_those_of_the_events(tmp_path: Path) -> None:
    with profile() as prof:
        work()
    trace = trace_of(prof, tmp_path)
    start = only(event["ts"] for event in trace["traceEvents"] if event.get("cat") == "Trace")
    by_id = {event["correlation_id"]: event for event in events(prof) if event["kind"] in {"op", "scope"}}
    found = 0
    for span in spans(trace, "cpu_op", "user_annotation"):
        event = by_id.get(span["args"]["External id"])
        if event is not None:
            assert round((span["ts"] - start) * 1000) == event["start_ns"]
            assert round(span["dur"] * 1000) == event["duration_ns"]
            found += 1
    assert found > 20


def test_both_exporters_write_the_same(tmp_path: Path) -> None:
    with profile(**FLAGS) as prof:
        work()
    assert spans(trace_of(prof, tmp_path)) == spans(trace_of(prof, tmp_path, use_python_export=True))


def test_the_files_name_is_its_trace_name(tmp_path: Path) -> None:
    with profile() as prof:
        square()
    path = tmp_path / 'a "quoted" name.json'
    prof.export_chrome_trace(str(path))
    trace = read_json(path)
    assert trace["traceName"] == str(path)
    assert trace["schemaVersion"] == 1
    assert trace["displayTimeUnit"] == "ms"
    assert isinstance(trace["baseTimeNanoseconds"], int)
    assert len(trace["trace_id"]) == 32
