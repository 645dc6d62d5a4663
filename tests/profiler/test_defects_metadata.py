"""What torch's profiler does badly and ours well: metadata and other text in the file."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import CYCLES_CLEAR_EVENTS, ODD_TEXTS, in_thread, scope, spans, square, trace_of

from mindtorch_v2.profiler import profile, record_function, schedule

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)

EXPORTERS = pytest.mark.parametrize("python", [False, True], ids=["native", "python"])
OWN_KEYS = ["traceEvents", "schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "traceName", "trace_id"]


@EXPORTERS
@pytest.mark.parametrize("value", ODD_TEXTS)
def test_defect_05_metadata_is_escaped(value: str, python: bool, tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata("k", value)
    assert trace_of(prof, tmp_path, use_python_export=python)["k"] == value


@pytest.mark.parametrize("text", ["bad\ud800", "\udfff"])
def test_defect_05_a_lone_surrogate_does_not_spoil_the_file(text: str, tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata("k", text)
        prof.add_metadata(text, "v")
    assert isinstance(trace_of(prof, tmp_path)["k"], str)


@EXPORTERS
@pytest.mark.parametrize("key", ['k"x', "k\\", "k\nx", *ODD_TEXTS])
def test_defect_06_keys_are_escaped(key: str, python: bool, tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("before " + key, "1")
    with prof:
        prof.add_metadata(key, "v")
        prof.add_metadata_json("json " + key, "[]")
    trace = trace_of(prof, tmp_path, use_python_export=python)
    assert (trace["before " + key], trace[key], trace["json " + key]) == (1, "v", [])


@pytest.mark.parametrize("key", OWN_KEYS)
def test_defect_06_a_key_of_the_file_itself_cannot_be_overwritten(key: str, tmp_path: Path) -> None:
    with profile() as prof:
        scope("work")
        # Whether this is said in a warning is not the point: that the file stays what it is.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prof.add_metadata_json(key, '"mine"')
    trace = trace_of(prof, tmp_path)
    assert [span["name"] for span in spans(trace)] == ["work"]
    assert trace["schemaVersion"] == 1


@EXPORTERS
@pytest.mark.parametrize(
    "value",
    [
        "not json",
        "",
        "NaN",
        "Infinity",
        "-Infinity",
        '1, "traceEvents": []',
        "{'a': 1}",
        "1}",
        "[1,]",
        '"a\nb"',
        "\x00",
    ],
)
def test_defect_07_text_that_is_not_json_is_kept_as_a_string(value: str, python: bool, tmp_path: Path) -> None:
    with profile() as prof:
        scope("work")
        with pytest.warns(UserWarning, match="the key"):
            prof.add_metadata_json("the key", value)
    trace = trace_of(prof, tmp_path, use_python_export=python)
    assert trace["the key"] == value
    assert [span["name"] for span in spans(trace)] == ["work"]


def test_defect_07_the_warning_points_at_the_call() -> None:
    with profile() as prof, pytest.warns(UserWarning, match="the key") as warned:
        prof.add_metadata_json("the key", "not json")
    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("ignore:.*JSON")
def test_defect_07_preset_metadata_that_is_not_json_is_kept_as_a_string(tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("k", "not json")
    with prof:
        square()
    assert trace_of(prof, tmp_path)["k"] == "not json"


def test_defect_07_deeply_nested_json_does_not_overflow(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    with profile() as prof, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prof.add_metadata_json("k", deep)
    path = tmp_path / "deep.json"
    prof.export_chrome_trace(path)
    assert path.stat().st_size > 200_000


@EXPORTERS
def test_defect_09_metadata_added_after_stop_is_exported(python: bool, tmp_path: Path) -> None:
    with profile() as prof:
        square()
    prof.add_metadata("late", "x")
    prof.add_metadata_json("later", "1")
    trace = trace_of(prof, tmp_path, use_python_export=python)
    assert (trace["late"], trace["later"]) == ("x", 1)


@EXPORTERS
def test_defect_09_metadata_added_before_the_start_is_exported(python: bool, tmp_path: Path) -> None:
    prof = profile()
    prof.add_metadata("early", "x")
    with prof:
        square()
    assert trace_of(prof, tmp_path, use_python_export=python)["early"] == "x"


def test_defect_09_the_last_value_of_a_key_counts(tmp_path: Path) -> None:
    with profile() as prof:
        prof.add_metadata("k", "first")
        prof.add_metadata("k", "second")
        assert trace_of(prof, tmp_path)["k"] == "second"
        prof.add_metadata_json("k", "3")
    assert trace_of(prof, tmp_path)["k"] == 3


def test_defect_09_metadata_may_come_from_any_thread(tmp_path: Path) -> None:
    with profile() as prof:
        in_thread(lambda: prof.add_metadata("k", threading.current_thread().name), name="worker")
    assert trace_of(prof, tmp_path)["k"] == "worker"


def test_defect_10_metadata_is_in_every_cycle(tmp_path: Path) -> None:
    seen: list[list[Any]] = []

    def ready(prof: Any) -> None:
        trace = trace_of(prof, tmp_path)
        seen.append([trace.get(key) for key in ("k", "json", "preset", "new")])
        prof.add_metadata("new", f"in cycle {len(seen)}")

    prof = profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=ready)
    prof.preset_metadata_json("preset", "0")
    with prof:
        prof.add_metadata("k", "v")
        prof.add_metadata_json("json", "[1]")
        for _ in range(6):
            square()
            prof.step()
    assert seen == [["v", [1], 0, None], ["v", [1], 0, "in cycle 1"], ["v", [1], 0, "in cycle 2"]]


def test_defect_10_metadata_is_there_when_the_profile_is_used_again(tmp_path: Path) -> None:
    prof = profile()
    with prof:
        prof.add_metadata("k", "v")
    with prof:
        square()
    assert trace_of(prof, tmp_path)["k"] == "v"


def test_defect_10_profiles_do_not_share_metadata(tmp_path: Path) -> None:
    with profile() as one, profile() as other:
        one.add_metadata("k", "v")
    assert "k" not in trace_of(other, tmp_path)


@EXPORTERS
@pytest.mark.parametrize("trace_id", ['run "7"', *(text for text in ODD_TEXTS if text)])
def test_defect_11_a_trace_id_is_escaped(trace_id: str, python: bool, tmp_path: Path) -> None:
    with profile(custom_trace_id_callback=lambda: trace_id) as prof:
        square()
    assert prof.get_trace_id() == trace_id
    assert trace_of(prof, tmp_path, use_python_export=python).get("trace_id", trace_id) == trace_id


def test_defect_11_an_empty_trace_id_is_left_out(tmp_path: Path) -> None:
    with profile(custom_trace_id_callback=lambda: "") as prof:
        square()
    assert "trace_id" not in trace_of(prof, tmp_path)


@EXPORTERS
@pytest.mark.parametrize(
    "file", ['we"ird.py', "back\\slash.py", "new\nline.py", "日本語.py", "semi;colon.py", "<x>", ""]
)
def test_defect_12_the_path_of_a_source_file_is_escaped(file: str, python: bool, tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def function(value):\n    return value + value\n", file, "exec"), namespace)
    matrix = square()
    with profile(with_stack=True) as prof:
        namespace["function"](matrix)
    spans_of = spans(trace_of(prof, tmp_path, use_python_export=python))
    assert any("function" in str(span["args"].get("Call stack")) for span in spans_of)


@pytest.mark.parametrize("name", ['odd"name', "日本語", "a\\b", "<lambda>"])
def test_defect_12_the_name_of_a_function_is_escaped(name: str, tmp_path: Path) -> None:
    def function(value: Any) -> Any:
        return value + value

    function.__code__ = function.__code__.replace(co_name=name)
    matrix = square()
    with profile(with_stack=True) as prof, record_function("x"):
        function(matrix)
    found = [span["name"] for span in spans(trace_of(prof, tmp_path), "python_function")]
    assert any(name in each for each in found)


def test_defect_12_the_name_of_a_thread_is_escaped(tmp_path: Path) -> None:
    with profile() as prof:
        in_thread(lambda: scope("there"), name='a "quoted"\\ thread')
    assert [span["name"] for span in spans(trace_of(prof, tmp_path))] == ["there"]
