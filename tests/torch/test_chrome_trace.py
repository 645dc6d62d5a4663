"""Our Chrome trace has the form of torch's, and keeps the rules that torch's own tests check."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

Trace = dict[str, Any]


def annotations(trace: Trace) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]


def common(keys: Any, others: Any) -> list[str]:
    return [key for key in keys if key in set(others)]


def check_rules(trace: Trace) -> None:
    """The rules that torch's tests check on every basic trace."""
    events = trace["traceEvents"]

    def only(name: str) -> dict[str, Any]:
        (event,) = [event for event in events if event["name"] == name]
        return event

    span, start, end = (
        only("PyTorch Profiler (0)"),
        only("Iteration Start: PyTorch Profiler"),
        only("Record Window End"),
    )
    assert span["ts"] >= start["ts"]
    # The sum of two floating-point numbers of this size can be off by a nanosecond.
    assert span["ts"] + span["dur"] <= end["ts"] + 0.001
    for event in events:
        if event["ph"] == "M":
            continue
        assert event["ts"] >= span["ts"], event
        assert event["ts"] + event.get("dur", 0) <= end["ts"] + 0.001, event
    for event, following in itertools.pairwise(events):
        if event["name"] == "process_labels" and "GPU" in event["args"]["labels"]:
            number = int(event["args"]["labels"].removeprefix("GPU "))
            assert following["args"]["sort_index"] == 5_000_000 + number
    assert events[-1] is end


def test_the_rules_hold_for_torch_itself(torch_trace: Trace) -> None:
    check_rules(torch_trace)


def test_the_rules_hold(our_trace: Trace) -> None:
    check_rules(our_trace)


def test_the_top_level_has_torchs_keys_in_torchs_order(torch_trace: Trace, our_trace: Trace) -> None:
    assert common(our_trace, torch_trace) == list(torch_trace)
    for key in ("schemaVersion", "displayTimeUnit", "baseTimeNanoseconds"):
        assert our_trace[key] == torch_trace[key]
    # There is an accelerator here, if in software.
    assert [set(device) for device in our_trace["deviceProperties"]] == [{"id", "name", "totalGlobalMem"}]


def test_annotations_have_torchs_fields_in_torchs_order(torch_trace: Trace, our_trace: Trace) -> None:
    (fields,) = {tuple(event) for event in annotations(torch_trace)}
    (args,) = {tuple(event["args"]) for event in annotations(torch_trace)}
    assert {tuple(event) for event in annotations(our_trace)} == {fields}
    for event in annotations(our_trace):
        assert tuple(common(event["args"], args)) == args
        assert set(event["args"]) - set(args) == {"device_type", "step"}


def test_both_have_the_same_annotations(torch_trace: Trace, our_trace: Trace) -> None:
    def names(trace: Trace) -> list[str]:
        return sorted(event["name"] for event in annotations(trace))

    assert names(our_trace) == names(torch_trace)


@pytest.mark.parametrize("name", ["process_name", "process_labels", "process_sort_index", "thread_name"])
def test_metadata_events_have_torchs_form(torch_trace: Trace, our_trace: Trace, name: str) -> None:
    def forms(trace: Trace) -> set[tuple[Any, ...]]:
        events = [event for event in trace["traceEvents"] if event["name"] == name]
        return {(tuple(event), tuple(event["args"])) for event in events}

    assert forms(our_trace) == forms(torch_trace)


def test_instants_have_torchs_form(torch_trace: Trace, our_trace: Trace) -> None:
    def forms(trace: Trace) -> list[tuple[Any, ...]]:
        instants = [event for event in trace["traceEvents"] if event["ph"] == "i"]
        return [(event["name"], event["s"], event["pid"], event["tid"], *event) for event in instants]

    assert forms(our_trace) == forms(torch_trace)
