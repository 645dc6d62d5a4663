"""Section 6 of the requirements: what the profile itself offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import events, names, scope, spans, square, torch, trace_of

from mindtorch_v2.profiler import ProfilerActivity, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path


def test_acc_events_is_accepted_defaults_to_false_and_is_readable() -> None:
    assert profile().acc_events is False
    assert profile(acc_events=True).acc_events is True
    assert profile(acc_events=False).acc_events is False


@pytest.mark.parametrize("value", [5, None, b"bytes", ["list"], {"a": 1}, True])
def test_metadata_of_another_type_than_str_is_an_attribute_error(value: Any) -> None:
    with profile() as prof, pytest.raises(AttributeError):
        prof.add_metadata("key", value)


def test_metadata_reaches_the_trace(tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata("text", "value")
    assert trace_of(prof, tmp_path)["text"] == "value"


@pytest.mark.parametrize("value", ["not json", "", "{'a': 1}", "NaN", "[1,", '"open', "01", "{}{}"])
def test_metadata_that_is_not_json_is_kept_as_a_string_with_a_warning(value: str, tmp_path: Path) -> None:
    with profile() as prof, pytest.warns(UserWarning, match="the key"):
        prof.add_metadata_json("the key", value)
    assert trace_of(prof, tmp_path)["the key"] == value


@pytest.mark.parametrize(
    ("value", "read"),
    [("1", 1), ('"text"', "text"), ("[1, {}]", [1, {}]), (" null ", None), ("-1.5e3", -1500.0), ('"\\u00e9"', "é")],
)
def test_metadata_that_is_json_is_written_as_that_value(value: str, read: Any, tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata_json("key", value)
    assert trace_of(prof, tmp_path)["key"] == read


def test_preset_metadata_may_be_given_before_the_start(tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("key", '["v"]')
    with prof:
        square()
    assert trace_of(prof, tmp_path)["key"] == ["v"]


def test_all_metadata_reaches_the_trace_in_the_order_it_was_added(tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("first", "1")
    with prof:
        prof.add_metadata("second", "2")
        prof.add_metadata_json("third", "3")
    prof.add_metadata("fourth", "4")
    trace = trace_of(prof, tmp_path)
    own = [key for key in trace if key in {"first", "second", "third", "fourth"}]
    assert own == ["first", "second", "third", "fourth"]


@pytest.mark.parametrize("activities", [["CPU"], [ProfilerActivity.CPU]])
def test_collection_can_be_switched_off_and_on(activities: Any) -> None:
    with profile() as prof:
        scope("first")
        prof.toggle_collection_dynamic(False, activities)
        scope("paused")
        square()
        prof.toggle_collection_dynamic(True, activities)
        scope("last")
    assert names(prof) == ["first", "last"]


@pytest.mark.parametrize("name", ["NPU", "CUDA", "GPU"])
def test_collection_of_the_accelerator_can_be_switched_alone(name: str) -> None:
    with profile() as prof:
        prof.toggle_collection_dynamic(False, [name])
        with record_function("paused"):
            torch.ones(4, device="npu").add_(1)
        prof.toggle_collection_dynamic(True, [name])
        with record_function("running"):
            torch.ones(4, device="npu").mul_(1)
    found = events(prof)
    assert [event.name for event in found if event.is_user_annotation] == ["paused", "running"]
    kernels = [event for event in found if event.activity_type == "kernel"]
    assert kernels
    launched = {event.name for event in found if event.kernels}
    assert "aten::add_" not in launched
    assert "aten::mul_" in launched


def test_what_is_switched_off_is_not_in_the_trace(tmp_path: Path) -> None:
    with profile() as prof:
        prof.toggle_collection_dynamic(False, ["CPU", "NPU"])
        torch.ones(4, device="npu").add_(1)
        scope("paused")
    assert spans(trace_of(prof, tmp_path)) == []


def test_an_annotation_around_a_pause_keeps_its_full_span() -> None:
    with profile() as prof, record_function("around"):
        scope("before")
        prof.toggle_collection_dynamic(False, ["CPU"])
        scope("paused")
        prof.toggle_collection_dynamic(True, ["CPU"])
        scope("after")
    assert names(prof) == ["around", "before", "after"]
    around = events(prof)[0]
    assert all(event["end_ns"] <= around["end_ns"] for event in events(prof))
    assert around.cpu_children == events(prof)[1:]


@pytest.mark.parametrize("activity", ["TPU", 5])
def test_switching_an_unknown_activity_is_a_value_error(activity: Any) -> None:
    with profile() as prof, pytest.raises(ValueError, match=r"(?i)activity"):
        prof.toggle_collection_dynamic(False, [activity])


FLAGS = ["record_shapes", "profile_memory", "with_stack"]


@pytest.mark.filterwarnings("ignore:.export_memory_timeline. is deprecated:FutureWarning")
def test_the_memory_timeline_without_the_three_flags_is_a_value_error(tmp_path: Path) -> None:
    with profile() as prof:
        square()
    with pytest.raises(ValueError, match="required for memory profiling") as raised:
        prof.export_memory_timeline(str(tmp_path / "timeline.json"))
    assert (
        str(raised.value) == "record_shapes=True, profile_memory=True, with_stack=True required for memory profiling."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:.export_memory_timeline. is deprecated:FutureWarning")
@pytest.mark.parametrize("missing", FLAGS)
def test_the_memory_timeline_with_one_flag_missing_is_a_value_error(missing: str, tmp_path: Path) -> None:
    flags: dict[str, Any] = {flag: flag != missing for flag in FLAGS}
    with profile(**flags) as prof:
        square()
    with pytest.raises(ValueError, match=rf"{missing}=True.* required for memory profiling"):
        prof.export_memory_timeline(str(tmp_path / "timeline.json"))


@pytest.mark.filterwarnings("ignore:.export_memory_timeline. is deprecated:FutureWarning")
def test_the_memory_timeline_is_written(tmp_path: Path) -> None:
    flags: dict[str, Any] = dict.fromkeys(FLAGS, True)
    with profile(**flags) as prof:
        kept = square()
    prof.export_memory_timeline(str(tmp_path / "timeline.json"), "cpu")
    assert (tmp_path / "timeline.json").exists()
    del kept
