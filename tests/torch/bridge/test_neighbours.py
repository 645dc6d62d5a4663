"""Several profilers of PyTorch at once: ours beside ours, and beside torch's, which does not notice."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler.support import in_thread
from tests.torch.bridge import programs
from tests.torch.bridge.both import NO_OVERLOADS, facts, ours_on_cpu, recorded_together, theirs_on_cpu

from mindtorch_v2 import profiler as ours

if TYPE_CHECKING:
    from collections.abc import Callable

ONES = ["aten::ones", "aten::empty", "aten::fill_"]


def names(prof: Any) -> list[str]:
    return [event.name for event in prof.events()]


def test_nested_with_different_settings() -> None:
    """Each shows what it was asked for, however much is recorded for the other."""
    with ours_on_cpu() as outer:
        torch.ones(2, 3)
        with ours_on_cpu(record_shapes=True) as inner:
            torch.ones(3, 2)
        torch.ones(4)
    assert names(outer) == ONES * 3
    assert names(inner) == ONES
    assert [event.concrete_inputs for event in outer.events()] == [[]] * 9
    assert inner.events()[0].concrete_inputs[0] == [3, 2]
    assert [event.input_dtypes for event in outer.events()] == [[]] * 9


def test_nested_the_other_way_round() -> None:
    with ours_on_cpu(record_shapes=True, with_flops=True) as outer:
        torch.ones(2, 3)
        with ours_on_cpu() as inner:
            torch.ones(2, 3) @ torch.ones(3, 4)
        torch.ones(4)
    shapes = [event.concrete_inputs[0] for event in outer.events() if event.name == "aten::ones"]
    assert shapes == [[2, 3], [2, 3], [3, 4], [4]]
    assert [event.flops for event in outer.events() if event.name == "aten::mm"] == [2 * 2 * 3 * 4]
    assert [event.flops for event in inner.events() if event.name == "aten::mm"] == [0]
    assert [event.concrete_inputs for event in inner.events() if event.name == "aten::ones"] == [[], []]


def test_in_each_others_way() -> None:
    first, second = ours_on_cpu(record_shapes=True), ours_on_cpu()
    first.start()
    torch.ones(1)
    second.start()
    torch.zeros(1)
    first.stop()
    torch.full((1,), 2.0)
    second.stop()
    torch.ones(1)
    zeros, full = ["aten::zeros", "aten::empty", "aten::zero_"], ["aten::full", "aten::empty", "aten::fill_"]
    assert names(first) == ONES + zeros
    assert names(second) == zeros + full


def test_an_operator_that_is_open_when_another_wants_more() -> None:
    """Whoever observes is replaced then; what is open ends where it began."""
    outer, inner = ours_on_cpu(), ours_on_cpu(record_shapes=True)
    library = torch.library.Library("mindtorch_neighbours", "DEF")
    library.define("starts(Tensor x) -> Tensor")

    def starts(x: torch.Tensor) -> torch.Tensor:
        inner.start()
        return x.neg()

    library.impl("starts", starts, "CPU")
    with outer:
        torch.ops.mindtorch_neighbours.starts(torch.ones(1)).exp()
        inner.stop()
    found = [(event.name, event.cpu_parent and event.cpu_parent.name, event.is_finished) for event in outer.events()]
    assert found[3:] == [
        ("mindtorch_neighbours::starts", None, True),
        ("aten::neg", "mindtorch_neighbours::starts", True),
        ("aten::exp", None, True),
    ]
    # It sees what it came into, of which nobody has asked for the inputs.
    assert [(event.name, event.input_shapes, event.is_cut_at_start) for event in inner.events()] == [
        ("mindtorch_neighbours::starts", [], True), ("aten::neg", [[1]], False), ("aten::exp", [[1]], False),
    ]  # fmt: skip


@pytest.mark.skipif(NO_OVERLOADS, reason="this version has no overloads")
def test_overloads_are_shown_to_who_asked() -> None:
    config = ours._ExperimentalConfig(capture_overload_names=True)
    values = torch.ones(2)
    with ours_on_cpu(experimental_config=config) as asked, ours_on_cpu() as beside:
        values.add(values)
    with ours_on_cpu() as later:
        values.add(values)
    overloads = [[event.overload_name for event in prof.events()] for prof in (asked, beside, later)]
    assert overloads == [["Tensor"], [""], [""]]


@pytest.mark.parametrize("program", [programs.mlp, programs.cnn], ids=lambda program: program.__name__)
def test_theirs_does_not_notice(program: Callable[[], Callable[[], None]]) -> None:
    """Torch's events beside ours are its events alone."""
    run = program()
    run()
    with theirs_on_cpu(record_shapes=True, with_flops=True) as alone:
        run()
    beside = recorded_together(run).theirs
    # Numbers of nodes go on from run to run.
    one, other = (
        [event | {"sequence_nr": event["sequence_nr"] >= 0} for event in facts(prof)] for prof in (alone, beside)
    )
    assert one == other


@pytest.mark.parametrize("first_out", ["ours", "theirs"])
@pytest.mark.parametrize("first_in", ["ours", "theirs"])
def test_in_any_order(first_in: str, first_out: str) -> None:
    profilers: dict[str, Any] = {"ours": ours_on_cpu(record_shapes=True), "theirs": theirs_on_cpu(record_shapes=True)}
    second_in, second_out = ("theirs" if name == "ours" else "ours" for name in (first_in, first_out))
    zeros, full = ["aten::zeros", "aten::empty", "aten::zero_"], ["aten::full", "aten::empty", "aten::fill_"]
    profilers[first_in].start()
    torch.ones(1)
    profilers[second_in].start()
    torch.zeros(1)
    profilers[first_out].stop()
    torch.full((1,), 2.0)
    profilers[second_out].stop()
    torch.ones(1)
    expected = dict.fromkeys(profilers, zeros)
    expected[first_in] = ONES + expected[first_in]
    expected[second_out] = expected[second_out] + full
    assert {name: names(prof) for name, prof in profilers.items()} == expected


def test_an_observer_of_executions_beside_it(tmp_path: Any) -> None:
    """PyTorch's other observer sees what it would see, and so does ours."""
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
    observer.start()
    with ours_on_cpu() as prof:
        torch.ones(2)
    observer.stop()
    observer.unregister_callback()
    assert names(prof) == ONES
    assert "aten::ones" in (tmp_path / "trace.json").read_text(encoding="utf-8")


def test_pytorch_is_told_that_it_is_recorded() -> None:
    """What it compiles names its parts only then. Whoever ends first does not speak for the others."""

    def is_told() -> bool:
        return torch.autograd.profiler._is_profiler_enabled

    assert not is_told()
    with ours_on_cpu():
        with ours_on_cpu():
            assert is_told()
        assert is_told()
    assert not is_told()
    theirs, prof = theirs_on_cpu(), ours_on_cpu()
    prof.start()
    theirs.start()
    prof.stop()
    assert is_told()
    theirs.stop()
    assert not is_told()


def test_theirs_does_not_speak_for_ours_when_it_ends() -> None:
    def is_told() -> bool:
        return torch.autograd.profiler._is_profiler_enabled

    for ours_first in (False, True):
        prof, theirs = ours_on_cpu(), theirs_on_cpu()
        for profiler in (prof, theirs) if ours_first else (theirs, prof):
            profiler.start()
        theirs.stop()
        assert is_told()
        prof.stop()
        assert not is_told()


def test_theirs_on_another_thread_goes_on_being_told() -> None:
    started, leave = threading.Event(), threading.Event()

    def work() -> None:
        with theirs_on_cpu():
            started.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with ours_on_cpu():
        thread.start()
        started.wait()
    assert torch.autograd.profiler._is_profiler_enabled
    leave.set()
    thread.join()
    assert not torch.autograd.profiler._is_profiler_enabled


def fast(name: str) -> Any:
    """What compiled code is a scope by, which PyTorch makes only if it finds a profiler in its place."""
    return torch._C._profiler._RecordFunctionFast(name)


@pytest.mark.parametrize("profiler", [theirs_on_cpu, torch.autograd.profiler_legacy.profile], ids=["theirs", "legacy"])
@pytest.mark.filterwarnings("ignore:.*torch.autograd.profiler_legacy")
def test_theirs_finds_its_place_free_and_ours_is_back_there_after_it(profiler: Callable[[], Any]) -> None:
    with ours_on_cpu() as prof:
        with fast("before"):
            pass
        with profiler() as theirs, fast("beside"):
            torch.ones(1)
        with fast("after"):
            pass
    assert names(prof) == ["before", "beside", *ONES, "after"]
    assert "aten::ones" in {row.key for row in theirs.key_averages()}


def test_theirs_finds_its_place_free_where_ours_was_stopped_elsewhere() -> None:
    prof = ours_on_cpu(profile_memory=True)
    prof.start()
    in_thread(prof.stop)
    with theirs_on_cpu(profile_memory=True) as theirs:
        torch.ones(1)
    assert names(theirs)[:3] == ONES


@pytest.mark.parametrize("profile_memory", [False, True])
def test_what_changes_their_recording_does_not_take_ours_for_it(profile_memory: bool) -> None:
    """Without one of theirs it is an error, or in older versions nothing, beside ours as well."""
    kept = []
    with ours_on_cpu(profile_memory=profile_memory) as prof:
        with contextlib.suppress(RuntimeError):
            torch._C._autograd._toggle_collection_dynamic(False, {torch.profiler.ProfilerActivity.CPU})
        kept.append(torch.ones(1000))
        with fast("scope"):
            pass
    assert names(prof) == [*ONES, "scope"]
    assert prof.events()[0].cpu_memory_usage == (4000 if profile_memory else 0)


@pytest.mark.skipif(NO_OVERLOADS, reason="this version has no overloads")
def test_settings_of_torchs_are_understood() -> None:
    cpu = torch.profiler.ProfilerActivity.CPU
    config = torch.profiler._ExperimentalConfig(capture_overload_names=True)
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    values = torch.ones(2)
    with ours.profile(activities=[cpu], schedule=schedule, experimental_config=config) as prof:
        for _ in range(4):
            values.add(values)
            prof.step()
    found = [(event.name, event.overload_name) for event in prof.events()]
    assert found == [("ProfilerStep*", ""), ("aten::add", "Tensor")]
