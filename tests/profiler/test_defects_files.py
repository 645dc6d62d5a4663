"""What torch's profiler does badly and ours well: writing files."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.profiler.support import events, named, only, read_json, scope, spans, square, torch, trace_of

from mindtorch_v2.autograd.profiler_util import EventList
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function, tensorboard_trace_handler

TIMELINE = "ignore:.export_memory_timeline. is deprecated:FutureWarning"


def recorded(**options: Any) -> Any:
    with profile(**options) as prof, record_function("work"):
        square() @ square()
    return prof


@pytest.mark.parametrize("config", [None, _ExperimentalConfig(verbose=True)], ids=["plain", "verbose"])
def test_defect_01_with_stack_alone_gives_stacks(config: Any, tmp_path: Path) -> None:
    prof = recorded(with_stack=True, experimental_config=config)
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    assert (tmp_path / "stacks.txt").stat().st_size > 0
    ops = [event for event in events(prof) if event.activity_type == "cpu_op"]
    assert all(event.stack for event in ops)
    assert "Source Location" in prof.key_averages(group_by_stack_n=3).table()


def test_defect_01_a_scope_alone_has_a_stack(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof, record_function("work"):
        for _ in range(1000):
            pass
    prof.export_stacks(tmp_path / "stacks.txt")
    assert "test_defects_files" in (tmp_path / "stacks.txt").read_text(encoding="utf-8")


def test_defect_01_stacks_are_there_for_every_thread(tmp_path: Path) -> None:
    def work() -> None:
        square()

    with profile(with_stack=True) as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert any("work" in frame for frame in only(named(prof, "aten::ones")).stack)


def test_defect_14_exporting_works_any_number_of_times(tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    with profile(on_trace_ready=lambda prof: prof.export_chrome_trace(str(first))) as prof:
        scope("work")
    others = [tmp_path / f"{number}.json" for number in range(3)]
    for path in others:
        prof.export_chrome_trace(str(path))
    texts = [read_json(path)["traceEvents"] for path in [first, *others]]
    assert all(text == texts[0] for text in texts)


def test_defect_14_every_format_can_be_exported_from_one_recording(tmp_path: Path) -> None:
    prof = recorded(with_stack=True)
    for _ in range(2):
        prof.export_chrome_trace(tmp_path / "trace.json")
        prof.export_chrome_trace(tmp_path / "trace.json.gz")
        prof.export_stacks(tmp_path / "stacks.txt")
        prof.events().export_chrome_trace(str(tmp_path / "list.json"))
    plain = read_json(tmp_path / "trace.json")
    with gzip.open(tmp_path / "trace.json.gz", "rt", encoding="utf-8") as file:
        compressed = json.load(file)
    assert plain["traceEvents"] == compressed["traceEvents"]
    assert isinstance(read_json(tmp_path / "list.json"), list)


@pytest.mark.parametrize("path", ["no/such/dir/t.json", ".", "file/t.json", "no/such/t.json.gz", "x" * 300])
def test_defect_15_a_path_that_cannot_be_written_is_an_os_error_and_the_data_is_kept(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    prof = recorded()
    with pytest.raises(OSError) as raised:  # noqa: PT011
        prof.export_chrome_trace(str(tmp_path / path))
    assert raised.value.errno
    assert [span["name"] for span in spans(trace_of(prof, tmp_path), "user_annotation")] == ["work"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "trace.json"]


def test_defect_15_a_full_disk_is_an_os_error_for_every_export(tmp_path: Path) -> None:
    prof = recorded(with_stack=True)
    for export in (prof.export_chrome_trace, prof.export_stacks, prof.events().export_chrome_trace):
        with pytest.raises(OSError, match="No space left on device"):
            export("/dev/full")
    assert spans(trace_of(prof, tmp_path))


def test_defect_15_stacks_into_a_missing_directory_are_an_os_error(tmp_path: Path) -> None:
    prof = recorded(with_stack=True)
    with pytest.raises(FileNotFoundError):
        prof.export_stacks(str(tmp_path / "no" / "stacks.txt"))
    with pytest.raises(FileNotFoundError):
        prof.events().export_chrome_trace(str(tmp_path / "no" / "list.json"))


def test_defect_15_a_directory_that_cannot_be_made_is_an_error_of_the_handler(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    prof = profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "file" / "logs")))
    prof.start()
    with pytest.raises(RuntimeError, match="Can't create directory"):
        prof.stop()


def test_defect_15_a_failed_export_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="null byte"):
        recorded().export_chrome_trace(f"{path}\0")
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("kind", [str, Path, os.fsencode], ids=["str", "Path", "bytes"])
def test_defect_18_any_path_is_accepted_everywhere(kind: Any, tmp_path: Path) -> None:
    prof = recorded(with_stack=True)
    prof.export_chrome_trace(kind(str(tmp_path / "a.json")))
    prof.export_chrome_trace(kind(str(tmp_path / "a.json.gz")))
    prof.export_stacks(kind(str(tmp_path / "b.txt")))
    prof.events().export_chrome_trace(kind(str(tmp_path / "c.json")))
    prof.events().export_stacks(kind(str(tmp_path / "d.txt")), "self_cpu_time_total")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.json.gz", "b.txt", "c.json", "d.txt"]


def test_defect_18_the_tensorboard_handler_takes_a_path(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path / "deep" / "logs", worker_name="worker")
    with profile(on_trace_ready=handler):
        square()
    path = only((tmp_path / "deep" / "logs").iterdir())
    assert path.name.startswith("worker.")
    assert path.name.endswith(".pt.trace.json")
    assert spans(read_json(path))


def test_defect_39_a_list_with_nothing_to_show_is_an_empty_list_in_the_file(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        ones = torch.ones(100)
        del ones
    memory = EventList([event for event in prof.events() if event.name == "[memory]"])
    assert len(memory) == 1
    memory.export_chrome_trace(str(tmp_path / "memory.json"))
    assert read_json(tmp_path / "memory.json") == []
    EventList([]).export_chrome_trace(str(tmp_path / "empty.json"))
    assert (tmp_path / "empty.json").read_text(encoding="utf-8").strip() == "[]"


def test_defect_51_flops_are_in_the_trace(tmp_path: Path) -> None:
    with profile(with_flops=True) as prof:
        torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    assert only(named(prof, "aten::mm")).flops == 524288
    found = spans(trace_of(prof, tmp_path))
    assert [span["args"].get("Flops") for span in found if span["name"] == "aten::mm"] == [524288]
    assert not any("Flops" in span["args"] for span in found if span["name"] == "aten::empty")


@pytest.mark.filterwarnings(TIMELINE)
def test_defect_53_the_suffix_raw_json_gives_the_raw_form(tmp_path: Path) -> None:
    prof = recorded(record_shapes=True, profile_memory=True, with_stack=True)
    prof.export_memory_timeline(str(tmp_path / "m.raw.json"), "cpu")
    prof.export_memory_timeline(str(tmp_path / "m.raw.json.gz"), "cpu")
    with gzip.open(tmp_path / "m.raw.json.gz", "rt", encoding="utf-8") as file:
        assert json.load(file) == read_json(tmp_path / "m.raw.json")


@pytest.mark.filterwarnings(TIMELINE)
def test_defect_54_the_html_of_a_memory_timeline_is_written(tmp_path: Path) -> None:
    prof = recorded(record_shapes=True, profile_memory=True, with_stack=True)
    prof.export_memory_timeline(str(tmp_path / "m.html"), "cpu")
    assert (tmp_path / "m.html").stat().st_size > 0
    prof.export_memory_timeline(str(tmp_path / "none.html"), "npu:0")
    assert (tmp_path / "none.html").exists()


def test_defect_58_profiling_is_silent(tmp_path: Path) -> None:
    program = """
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as prof:
    torch.ones(1) + torch.ones(1, device="npu").cpu()
    prof.toggle_collection_dynamic(False, ["CPU"])
prof.export_chrome_trace("trace.json")
prof.export_stacks("stacks.txt")
prof.key_averages().table()
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("", "")
