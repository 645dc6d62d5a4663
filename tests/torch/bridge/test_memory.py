"""PyTorch's memory. It is reported to one profiler of a thread only, so that runs follow each other here."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler.support import ancestors, in_thread
from tests.torch.bridge import programs
from tests.torch.bridge.both import IS_OLD, exported, ours_on_cpu, theirs_on_cpu
from tests.torch.bridge.processes import run

from mindtorch_v2 import profiler as ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPTIONS = {"profile_memory": True, "record_shapes": True}
PROGRAMS = [programs.mlp, programs.cnn, programs.transformer, programs.autocast, programs.function]


def outside_of_operators() -> Callable[[], None]:
    def run() -> None:
        kept = torch.ones(1000)
        with torch.profiler.record_function("scope"):
            other = kept + 1
            del kept
        del other
        torch.UntypedStorage(4096)

    return run


def usage(prof: Any) -> list[tuple[str, int, int, int]]:
    return [
        (event.name, event.cpu_memory_usage, event.self_cpu_memory_usage, event.device_memory_usage)
        for event in prof.events()
    ]


def sums(prof: Any) -> list[tuple[str, int, int, int | None]]:
    """Of names that are inside of themselves, torch adds what is inside once more."""
    inside = {event.name for event in prof.events() if event.cpu_parent and event.name in ancestors(event)}
    return [
        (row.key, row.count, row.self_cpu_memory_usage, None if row.key in inside else row.cpu_memory_usage)
        for row in prof.key_averages()
    ]


def blocks(prof: Any, directory: Path) -> list[tuple[int, int, int]]:
    """What was allocated and freed, in order, and how far that is from the first total."""
    found = [event["args"] for event in exported(prof, directory)["traceEvents"] if event["name"] == "[memory]"]
    first = found[0]["Total Allocated"]
    return [(args["Bytes"], args["Total Allocated"] - first, args["Device Type"]) for args in found]


@pytest.mark.skipif(IS_OLD, reason="the memory of two runs under this version's own profiler differs")
@pytest.mark.parametrize("program", [*PROGRAMS, outside_of_operators], ids=lambda program: program.__name__)
def test_bytes_are_the_same(program: Callable[[], Callable[[], None]], tmp_path: Path) -> None:
    work = program()
    # PyTorch knows the sizes of blocks that were allocated while someone looked: those that the first run leaves.
    with theirs_on_cpu(**OPTIONS):
        work()
    gc.collect()
    with theirs_on_cpu(**OPTIONS) as theirs:
        work()
    with ours_on_cpu(**OPTIONS) as prof:
        work()
    assert usage(prof) == usage(theirs)
    assert sums(prof) == sums(theirs)
    assert blocks(prof, tmp_path) == blocks(theirs, tmp_path)
    assert any(allocated for _, allocated, _, _ in usage(prof))


def test_after_theirs_ours_says_what_to_do_and_the_program_goes_on() -> None:
    with theirs_on_cpu(**OPTIONS) as theirs:
        with pytest.raises(RuntimeError, match="stop it first, or record without profile_memory"):
            ours_on_cpu(**OPTIONS).start()
        kept = torch.ones(1000)
        # Without memory they get on.
        with ours_on_cpu() as plain:
            torch.zeros(3)
        del kept
    assert ("aten::ones", 4000) in [(event.name, event.cpu_memory_usage) for event in theirs.events()]
    assert [event.name for event in plain.events()] == ["aten::zeros", "aten::empty", "aten::zero_"]


def test_a_profiler_that_was_refused_can_start_later() -> None:
    prof = ours_on_cpu(**OPTIONS)
    with theirs_on_cpu(**OPTIONS), pytest.raises(RuntimeError, match="stop it first"):
        prof.start()
    with prof:
        torch.ones(1000)
    assert ("aten::ones", 4000) in [(event.name, event.cpu_memory_usage) for event in prof.events()]


# In a process of its own, since torch's is not as it was after it has refused.
REFUSED = """
import torch
from mindtorch_v2.profiler import profile
kept = []
with profile(profile_memory=True) as ours:
    kept.append(torch.ones(1000))
    theirs = torch.profiler.profile(profile_memory=True)
    for attempt in {attempts}:
        try:
            attempt()
        except RuntimeError as error:
            print(error)
    kept.append(torch.ones(2000))
with profile(profile_memory=True) as later:
    kept.append(torch.ones(3000))
for prof in ours, later:
    print([event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"])
"""


def test_after_ours_theirs_refuses_and_ours_goes_on() -> None:
    output, _ = run(REFUSED.format(attempts="[theirs.start]"))
    assert output == ["Profiler is already enabled on this thread.", "[4000, 8000]", "[12000]"]


def test_stopping_theirs_that_was_refused() -> None:
    """It finds nothing to end, and takes nothing of ours away."""
    output, _ = run(REFUSED.format(attempts="[theirs.start, theirs.stop]"))
    assert output[0] == "Profiler is already enabled on this thread."
    assert output[-2:] == ["[4000, 8000]", "[12000]"]


def test_threads_that_python_starts() -> None:
    """They have nothing of the thread that started them, so that torch's profiler does not see their memory."""
    kept: list[torch.Tensor] = []

    def work() -> None:
        kept.append(torch.ones(1000))
        kept.append(torch.ones(2000))
        kept.pop()

    with ours_on_cpu(**OPTIONS) as prof:
        in_thread(work)
        kept.append(torch.ones(3000))
        in_thread(work)
    with theirs_on_cpu(**OPTIONS) as theirs:
        in_thread(work)
    allocated = [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"]
    assert allocated == [4000, 8000, 12000, 4000, 8000]
    assert [event.cpu_memory_usage for event in prof.events() if event.name == "[memory]"] == [-8000, -8000]
    assert [event for event in theirs.events() if event.name == "[memory]"] == []


def test_theirs_can_start_on_a_thread_whose_memory_is_seen() -> None:
    """There it does not come second: the thread has not asked for it."""
    theirs = theirs_on_cpu(**OPTIONS)
    kept: list[torch.Tensor] = []

    def work() -> None:
        kept.append(torch.ones(1000))
        with theirs:
            kept.append(torch.ones(2000))
        kept.append(torch.ones(3000))

    with ours_on_cpu(**OPTIONS) as prof:
        in_thread(work)
    assert [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"] == [4000, 0, 12000]
    assert [event.cpu_memory_usage for event in theirs.events() if event.name == "aten::ones"] == [8000]


def test_theirs_works_again_after_ours() -> None:
    with ours_on_cpu(**OPTIONS):
        torch.ones(1000)
    with theirs_on_cpu(**OPTIONS) as theirs:
        torch.ones(1000)
    assert ("aten::ones", 4000) in [(event.name, event.cpu_memory_usage) for event in theirs.events()]


def test_two_of_ours_see_the_same() -> None:
    with ours_on_cpu(**OPTIONS) as outer:
        with ours_on_cpu(**OPTIONS) as inner:
            first = torch.ones(1000)
        second = torch.ones(2000)
    del first, second
    seen = [
        [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"] for prof in (outer, inner)
    ]
    assert seen == [[4000, 8000], [4000]]


def test_one_without_memory_beside_one_with() -> None:
    with ours_on_cpu() as without, ours_on_cpu(**OPTIONS) as with_memory:
        kept = torch.ones(1000)
    del kept
    assert [event.cpu_memory_usage for event in without.events() if event.name == "aten::ones"] == [0]
    assert [event.cpu_memory_usage for event in with_memory.events() if event.name == "aten::ones"] == [4000]


def test_memory_timeline(tmp_path: Path) -> None:
    path = tmp_path / "timeline.raw.json"
    with ours_on_cpu(**OPTIONS, with_stack=True) as prof:
        kept = torch.ones(1000)
        torch.ones(2000)
    del kept
    prof.export_memory_timeline(str(path), device="cpu")
    actions = json.loads(path.read_text(encoding="utf-8"))
    # Before the first moment is what other tests have left.
    assert [size for time, _, size, _ in actions if time != -1] == [4000, 8000, -8000]


def test_memory_goes_on_after_a_pause() -> None:
    cpu = [ours.ProfilerActivity.CPU]
    kept = []
    with ours_on_cpu(**OPTIONS) as prof:
        kept.append(torch.ones(1000))
        prof.toggle_collection_dynamic(False, cpu)
        kept.append(torch.ones(2000))
        prof.toggle_collection_dynamic(True, cpu)
        kept.append(torch.ones(3000))
    allocated = [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"]
    assert allocated == [4000, 12000]


def test_one_that_nobody_stops_gives_way() -> None:
    prof = ours_on_cpu(**OPTIONS)
    prof.start()
    del prof
    gc.collect()
    with theirs_on_cpu(**OPTIONS) as theirs:
        torch.ones(1000)
    assert ("aten::ones", 4000) in [(event.name, event.cpu_memory_usage) for event in theirs.events()]
