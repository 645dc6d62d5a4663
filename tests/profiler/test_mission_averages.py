"""Section 5 of the requirements: averages, tables and stacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, events, scope, square, torch

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


ATTRIBUTES = """
    key count node_id is_async is_remote use_device cpu_time_total device_time_total self_cpu_time_total
    self_device_time_total input_shapes overload_name stack scope cpu_memory_usage device_memory_usage
    self_cpu_memory_usage self_device_memory_usage cpu_children cpu_parent device_type is_legacy flops
    is_user_annotation cpu_time device_time
"""


def products(count: int) -> None:
    for size in range(1, count + 1):
        torch.ones(size, 3) @ torch.ones(3, 4)


def test_key_averages_groups_by_name() -> None:
    with profile() as prof:
        products(5)
        scope("last")
    rows = averages(prof)
    assert {key: rows[key].count for key in ("aten::mm", "aten::ones", "last")} == {
        "aten::mm": 5,
        "aten::ones": 10,
        "last": 1,
    }
    assert sum(row.count for row in rows.values()) == len(events(prof))


def test_key_averages_groups_by_input_shape() -> None:
    with profile(record_shapes=True) as prof:
        products(3)
        products(2)
    rows = prof.key_averages(group_by_input_shape=True)
    found = {str(row.input_shapes): row.count for row in rows if row.key == "aten::mm"}
    assert found == {"[[1, 3], [3, 4]]": 2, "[[2, 3], [3, 4]]": 2, "[[3, 3], [3, 4]]": 1}


def one_caller() -> None:
    square()


def other_caller() -> None:
    square()


def test_key_averages_groups_by_stack() -> None:
    with profile(with_stack=True) as prof:
        one_caller()
        one_caller()
        other_caller()
    rows = [row for row in prof.key_averages(group_by_stack_n=5) if row.key == "aten::ones"]
    assert sorted(row.count for row in rows) == [1, 2]
    assert all(0 < len(row.stack) <= 5 for row in rows)
    assert sum(any("one_caller" in frame for frame in row.stack) for row in rows) == 1


def test_an_average_has_torchs_attributes() -> None:
    with profile() as prof:
        torch.ones(64, 64, device="npu") @ torch.ones(64, 64, device="npu")
    for row in prof.key_averages():
        assert [name for name in ATTRIBUTES.split() if not hasattr(row, name)] == []


def test_device_times_are_sums_and_device_time_is_their_average() -> None:
    with profile() as prof:
        ones = torch.ones(64, 64, device="npu")
        for _ in range(4):
            ones @ ones
    row = averages(prof)["aten::mm"]
    single = [event for event in events(prof) if event.name == "aten::mm"]
    assert row.count == len(single) == 4
    assert row.self_device_time_total == pytest.approx(sum(event.self_device_time_total for event in single))
    assert row.device_time_total == pytest.approx(sum(event.device_time_total for event in single))
    assert row.device_time == pytest.approx(row.device_time_total / 4)
    kernels = [event for event in events(prof) if event.name == "gemm"]
    assert len(kernels) == 4
    assert row.self_device_time_total == pytest.approx(sum(event.time_range.elapsed_us() for event in kernels))


def test_without_device_activity_device_times_are_zero() -> None:
    with profile(activities=["CPU"]) as prof:
        square()
    for row in prof.key_averages():
        assert (row.self_device_time_total, row.device_time_total, row.device_time) == (0, 0, 0)


def test_the_metrics_of_export_stacks() -> None:
    with profile(with_stack=True) as prof:
        square()
    assert prof.key_averages().supported_export_stacks_metrics() == METRICS
    assert prof.events().supported_export_stacks_metrics() == METRICS


@pytest.mark.parametrize("of", ["profile", "averages", "events"])
def test_export_stacks_writes_a_line_per_stack(of: str, tmp_path: Path) -> None:
    def work() -> None:
        with record_function("a scope; with odd\tcharacters"):
            square() @ square()

    with profile(with_stack=True) as prof:
        for _ in range(3):
            work()
    source: Any = {"profile": prof, "averages": prof.key_averages(group_by_stack_n=20), "events": prof.events()}[of]
    source.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"\S+ \d+", line), line
    assert any("work" in line and ";" in line for line in lines)
    if of == "profile":
        stacks = [line.rsplit(" ", 1)[0] for line in lines]
        assert len(stacks) == len(set(stacks))


def test_frames_are_outermost_first(tmp_path: Path) -> None:
    def inner() -> None:
        square()

    def outer() -> None:
        inner()

    with profile(with_stack=True) as prof:
        outer()
    prof.export_stacks(tmp_path / "stacks.txt")
    text = (tmp_path / "stacks.txt").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "inner" in line)
    assert line.index("outer") < line.index("inner")


@pytest.mark.parametrize("metric", METRICS[1:])
def test_three_of_the_metrics_mean_device_time(metric: str, tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        torch.ones(256, 256, device="npu") @ torch.ones(256, 256, device="npu")
    prof.export_stacks(tmp_path / "device.txt", metric)
    assert "test_mission_averages" in (tmp_path / "device.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", ["cpu_time_total", "", "self_npu", "count", None])
def test_any_other_metric_is_a_value_error(metric: Any, tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        square()
    for source in (prof, prof.key_averages(), prof.events()):
        with pytest.raises(ValueError, match=r"^metric should be one of"):
            source.export_stacks(str(tmp_path / "stacks.txt"), metric)
    assert list(tmp_path.iterdir()) == []


def test_export_stacks_without_the_flag_says_so(tmp_path: Path) -> None:
    with profile() as prof:
        square()
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        prof.export_stacks(str(tmp_path / "stacks.txt"))


@pytest.mark.parametrize("key", ["nonsense", "", "cpu time", "__nonsense__"])
def test_sorting_a_table_by_an_unknown_key_is_an_attribute_error(key: str) -> None:
    with profile() as prof:
        square()
    if key:
        for rows in (prof.key_averages(), prof.events()):
            with pytest.raises(AttributeError):
                rows.table(sort_by=key)


@pytest.mark.parametrize("key", ["cpu_time_total", "self_cuda_time_total", "count", "self_cpu_memory_usage", "key"])
def test_sorting_a_table_by_a_known_key(key: str) -> None:
    with profile() as prof:
        products(3)
    assert prof.key_averages().table(sort_by=key).count("aten::mm") == 1
