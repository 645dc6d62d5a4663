"""What key_averages() gives."""

from __future__ import annotations

import pytest

from mindtorch_v2.profiler import profile, record_function


@pytest.fixture(scope="module")
def prof() -> profile:
    """Record three times outer(inner, inner)."""
    with profile() as prof:
        for _ in range(3):
            with record_function("outer"):
                for _ in range(2):
                    with record_function("inner"):
                        pass
    return prof


def test_groups_by_name_in_the_order_of_first_appearance(prof: profile) -> None:
    assert [(row.key, row.count) for row in prof.key_averages()] == [("outer", 3), ("inner", 6)]


def test_sums_agree_with_the_events(prof: profile) -> None:
    for row in prof.key_averages():
        events = [event for event in prof.events() if event.key == row.key]
        assert row.cpu_time_total == pytest.approx(sum(event.cpu_time_total for event in events))
        assert row.self_cpu_time_total == pytest.approx(sum(event.self_cpu_time_total for event in events))
        assert row.cpu_time == pytest.approx(row.cpu_time_total / row.count)


def test_there_is_no_device_time_or_memory_without_a_device(prof: profile) -> None:
    row = prof.key_averages()[0]
    assert (row.device_time_total, row.self_device_time_total, row.device_time) == (0, 0, 0)
    assert (row.cpu_memory_usage, row.self_cpu_memory_usage) == (0, 0)
    assert (row.device_memory_usage, row.self_device_memory_usage, row.flops) == (0, 0, 0)
    assert row.is_user_annotation
    assert not row.is_async


def test_is_a_list(prof: profile) -> None:
    averages = prof.key_averages()
    assert averages[-1].key == "inner"
    assert [row.key for row in averages[:1]] == ["outer"]
    assert averages[0] in averages
    assert averages[0] == averages[0]
    assert averages[0] != averages[1]
    assert averages.self_cpu_time_total == pytest.approx(sum(row.self_cpu_time_total for row in averages))
    assert repr(averages).startswith("[<FunctionEventAvg key=outer")


def test_events_give_the_same_averages(prof: profile) -> None:
    assert prof.events().key_averages().table() == prof.key_averages().table()
    with pytest.raises(AssertionError, match="Expected tree to be built before calling key_averages"):
        prof.key_averages().key_averages()


def rows_of(table: str) -> list[str]:
    return [line.split()[0] for line in table.splitlines() if "%" in line and "CPU" not in line]


def test_prints_as_its_table(prof: profile) -> None:
    averages = prof.key_averages()
    assert str(averages) == averages.table()
    assert rows_of(averages.table()) == ["outer", "inner"]
    assert averages.table().splitlines()[-1].startswith("Self CPU time total: ")


def test_a_table_is_sorted_largest_first(prof: profile) -> None:
    averages = prof.key_averages()
    assert rows_of(averages.table(sort_by="count")) == ["inner", "outer"]
    assert rows_of(averages.table(sort_by="cpu_time_total")) == ["outer", "inner"]
    assert rows_of(averages.table("count", 1)) == ["inner"]


@pytest.mark.parametrize("key", ["nonsense", "", "self_cpu_time"])
def test_an_unknown_sort_key_is_an_attribute_error(prof: profile, key: str) -> None:
    with pytest.raises(AttributeError, match="sorted by"):
        prof.key_averages().table(sort_by=key)


@pytest.mark.parametrize(
    ("limit", "rows"), [(0, 0), (1, 1), (2, 2), (-1, 2), (-(10**30), 2), (10**30, 2), (True, 1), (None, 2)]
)
def test_a_table_has_at_most_the_rows_asked_for(prof: profile, limit: int | None, rows: int) -> None:
    assert len(rows_of(prof.key_averages().table(row_limit=limit))) == rows


def test_a_table_can_have_a_header_one_unit_and_top_level_rows_only(prof: profile) -> None:
    averages = prof.key_averages()
    assert averages.table(header="My run").splitlines()[1] == "My run"
    assert rows_of(averages.table(top_level_events_only=True)) == ["outer"]
    assert rows_of(averages.table(top_level_events_only=["yes"])) == ["outer"]  # type: ignore[arg-type]
    assert rows_of(averages.table(top_level_events_only=None)) == ["outer", "inner"]  # type: ignore[arg-type]
    assert "us" not in averages.table(time_unit="ms")


def test_an_unknown_option_is_refused(prof: profile) -> None:
    with pytest.raises(TypeError, match="nonsense"):
        prof.key_averages().table(nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="row_limit"):
        prof.key_averages().table(row_limit="3")  # type: ignore[arg-type]
