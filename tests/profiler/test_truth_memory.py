"""The truth about memory: a program whose every block is known, and all that is told of it, to the byte."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, named, only, torch, trace_of

from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler._memory_profiler import Action

if TYPE_CHECKING:
    from pathlib import Path

CREATE, DESTROY = Action.CREATE.value, Action.DESTROY.value


def block(size: int, device: str) -> int:
    """Return what an allocator sets aside: the accelerator's gives out multiples of 512 bytes."""
    return size if device == "cpu" else -(-size // 512) * 512


class Program:
    """Allocates three blocks, of which two are alive at most, and frees them: in scopes, and outside of any."""

    def __init__(self, device: str, **options: Any) -> None:
        self.device = device
        self.data = block(1000 * 4, device)
        self.temporary = block(300 * 7 * 8, device)
        self.kept = block(17, device)
        self.before = self.allocated() if device == "npu" else 0
        torch.npu.reset_peak_memory_stats()
        with profile(profile_memory=True, **options) as self.prof:
            with record_function("load"):
                data = torch.empty(1000, device=device)
            with record_function("work"):
                with record_function("temporary"):
                    temporary = torch.empty(300, 7, dtype=torch.float64, device=device)
                    del temporary
                kept = torch.empty(17, dtype=torch.int8, device=device)
            with record_function("unload"):
                del data
            del kept

    @property
    def changes(self) -> list[int]:
        """What happens to the memory that is in use, in order."""
        return [self.data, self.temporary, -self.temporary, self.kept, -self.data, -self.kept]

    @property
    def in_use(self) -> list[int]:
        """What the program has in use after each change."""
        return [sum(self.changes[: count + 1]) for count in range(len(self.changes))]

    def allocated(self) -> int:
        allocated: int = torch.npu.memory_allocated()
        return allocated

    def usage(self, event: Any) -> tuple[int, int]:
        """Return what an event, or average, allocated less freed, in all and itself."""
        if self.device == "cpu":
            assert (event.device_memory_usage, event.self_device_memory_usage) == (0, 0)
            return event.cpu_memory_usage, event.self_cpu_memory_usage
        assert (event.cpu_memory_usage, event.self_cpu_memory_usage) == (0, 0)
        return event.device_memory_usage, event.self_device_memory_usage


@pytest.fixture(params=["cpu", "npu"])
def program(request: pytest.FixtureRequest) -> Program:
    return Program(request.param)


@pytest.fixture(params=["cpu", "npu"])
def program_for_timeline(request: pytest.FixtureRequest) -> Program:
    return Program(request.param, record_shapes=True, with_stack=True)


def test_events_have_what_they_allocated_less_what_they_freed(program: Program) -> None:
    ops = [program.usage(event) for event in named(program.prof, "aten::empty")]
    assert ops == [(size, size) for size in (program.data, program.temporary, program.kept)]
    expected = {
        "load": (program.data, 0),
        "work": (program.kept, 0),
        "temporary": (0, -program.temporary),
        "unload": (-program.data, -program.data),
        "[memory]": (-program.kept, -program.kept),
    }
    for name, usage in expected.items():
        assert program.usage(only(named(program.prof, name))) == usage, name
    assert sum(program.usage(event)[1] for event in program.prof.events()) == 0


def test_averages_have_the_same(program: Program) -> None:
    rows = averages(program.prof)
    allocated = program.data + program.temporary + program.kept
    assert (rows["aten::empty"].count, *program.usage(rows["aten::empty"])) == (3, allocated, allocated)
    for name in ("load", "work", "temporary", "unload", "[memory]"):
        assert program.usage(rows[name]) == program.usage(only(named(program.prof, name)))
    assert program.usage(program.prof.events().total_average())[1] == 0


def test_a_trace_has_each_change_and_what_is_in_use_after_it(program: Program, tmp_path: Path) -> None:
    entries = trace_of(program.prof, tmp_path)["traceEvents"]
    found = [entry["args"] for entry in entries if entry["name"] == "[memory]"]
    assert [args["Bytes"] for args in found] == program.changes
    before = found[0]["Total Allocated"] - program.data
    assert [args["Total Allocated"] - before for args in found] == program.in_use
    addresses = [args["Addr"] for args in found]
    assert (addresses[0], addresses[1], addresses[3]) == (addresses[4], addresses[2], addresses[5])
    if program.device == "npu":
        assert before == program.before
        assert before + max(program.in_use) == torch.npu.max_memory_allocated()


def test_ops_say_what_is_in_use_before_and_after(program: Program) -> None:
    key = f"{program.device}_memory_allocated"
    ops = named(program.prof, "aten::empty")
    start = ops[0][f"{key}_before"]
    found = [(op[f"{key}_before"] - start, op[f"{key}_after"] - start) for op in ops]
    data, temporary, kept = program.data, program.temporary, program.kept
    assert found == [(0, data), (data, data + temporary), (data, data + kept)]
    assert [op[f"{key}_delta"] for op in ops] == [data, temporary, kept]


def test_the_timeline_has_each_block_from_its_beginning_to_its_end(
    program_for_timeline: Program, tmp_path: Path
) -> None:
    path = tmp_path / "memory.raw.json"
    program = program_for_timeline
    program.prof.export_memory_timeline(path, program.device)
    entries = [(action, size) for time, action, size, _ in json.loads(path.read_text()) if time != -1]
    assert entries == [(CREATE if change > 0 else DESTROY, change) for change in program.changes]


def test_the_timeline_adds_up_to_what_is_in_use(program_for_timeline: Program, tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    program = program_for_timeline
    program.prof.export_memory_timeline(path, program.device)
    _, sizes = json.loads(path.read_text())
    sums = [sum(by_category) for by_category in sizes]
    # As at the end, where all is freed. What changes within a microsecond is one change here.
    in_use = [after - sums[-1] for after in sums]
    remaining = iter([0, *program.in_use])
    assert all(size in remaining for size, _ in itertools.groupby(in_use)), in_use
    assert len(set(in_use)) > 1
