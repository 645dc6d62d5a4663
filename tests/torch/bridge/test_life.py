"""Recordings of PyTorch that begin, pause and end at odd moments."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler.support import CYCLES_CLEAR_EVENTS, NO_WARMUP
from tests.torch.bridge.both import ours_on_cpu
from tests.torch.bridge.processes import quiet, start

import mindtorch_v2
from mindtorch_v2.profiler import ProfilerActivity, Trace, flight_recorder, record_function, schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindtorch_v2.profiler import profile

CPU = [ProfilerActivity.CPU]
ONES = ["aten::ones", "aten::empty", "aten::fill_"]


def names(prof: profile) -> list[str]:
    return [event.name for event in prof.events()]


def parents(prof: profile) -> list[tuple[str, str | None]]:
    return [(event.name, event.cpu_parent and event.cpu_parent.name) for event in prof.events()]


class Around(torch.autograd.Function):
    """Does something while PyTorch is in the middle of an operator, in both directions."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, act: Callable[[], object]) -> torch.Tensor:
        ctx.act = act
        before = values.exp()
        act()
        return before.neg()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        before = grads[0].exp()
        ctx.act()
        return before.neg(), None


def test_an_operator_that_raises_has_ended() -> None:
    with ours_on_cpu(record_shapes=True) as prof:
        with record_function("scope"), pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            torch.ones(2, 3) @ torch.ones(2, 3)
        torch.ones(4)
    events = list(prof.events())
    raised = next(event for event in events if event.name == "aten::mm")
    last = next(event for event in events if event.input_shapes and event.concrete_inputs[0] == [4])
    assert raised.is_finished
    assert raised.cpu_parent.name == "aten::matmul"
    assert last.cpu_parent is None
    assert all(event.is_finished for event in events)


def test_a_backward_pass_that_raises_has_ended() -> None:
    def fail() -> None:
        raise KeyError("in the middle")

    values = torch.ones(2, requires_grad=True)
    acts = iter([lambda: None, fail])
    total = Around.apply(values, lambda: next(acts)()).sum()  # noqa: PLW0108 (the next one, each time)
    with ours_on_cpu() as prof:
        with pytest.raises(KeyError, match="in the middle"):
            total.backward()
        torch.ones(1)
    assert "AroundBackward" in names(prof)
    assert all(event.is_finished for event in prof.events())
    assert parents(prof)[-3][1] is None


def test_toggling() -> None:
    with ours_on_cpu() as prof:
        torch.ones(1)
        prof.toggle_collection_dynamic(False, CPU)
        torch.zeros(1)
        prof.toggle_collection_dynamic(True, CPU)
        torch.ones(1)
    assert names(prof) == ONES * 2


@pytest.mark.parametrize("turns_on", [False, True])
def test_toggling_inside_of_an_operator(turns_on: bool) -> None:
    values = torch.ones(2, requires_grad=True)
    with ours_on_cpu() as prof:
        if turns_on:
            prof.toggle_collection_dynamic(False, CPU)
        total = Around.apply(values, lambda: prof.toggle_collection_dynamic(turns_on, CPU)).sum()
        prof.toggle_collection_dynamic(True, CPU)
        torch.zeros(1)
    del total
    seen = names(prof)
    assert ("Around" in seen, "aten::exp" in seen, "aten::neg" in seen) == (not turns_on, not turns_on, turns_on)
    assert parents(prof)[-3:] == [("aten::zeros", None), ("aten::empty", "aten::zeros"), ("aten::zero_", "aten::zeros")]


def test_starting_inside_of_an_operator() -> None:
    """What was open before is not there, and its end is nobody's."""
    values = torch.ones(2, requires_grad=True)
    prof = ours_on_cpu()
    Around.apply(values, prof.start)
    torch.ones(1)
    prof.stop()
    assert parents(prof) == [
        ("aten::neg", None), ("aten::ones", None), ("aten::empty", "aten::ones"), ("aten::fill_", "aten::ones"),
    ]  # fmt: skip


def test_stopping_inside_of_an_operator() -> None:
    values = torch.ones(2, requires_grad=True)
    prof = ours_on_cpu()
    prof.start()
    Around.apply(values, prof.stop)
    torch.ones(1)
    events = {event.name: event for event in prof.events()}
    assert list(events) == ["Around", "aten::exp"]
    assert (events["Around"].is_finished, events["aten::exp"].is_finished) == (False, True)
    # Its end came later, and belongs to no other recording.
    with ours_on_cpu() as later:
        torch.ones(1)
    assert names(later) == ONES


def test_starting_and_stopping_inside_of_backward() -> None:
    values = torch.ones(2, requires_grad=True)
    prof = ours_on_cpu()
    acts = iter([False, True])
    total = Around.apply(values, lambda: next(acts) and prof.start()).sum()
    total.backward()
    prof.stop()
    assert names(prof)[0] == "aten::neg"
    assert all(event.is_finished for event in prof.events())


def test_starting_in_an_operator_that_is_written_in_python() -> None:
    prof = ours_on_cpu()
    library = torch.library.Library("mindtorch_tests", "DEF")
    library.define("starts(Tensor x) -> Tensor")
    library.define("stops(Tensor x) -> Tensor")

    def starts(x: torch.Tensor) -> torch.Tensor:
        prof.start()
        return x.neg()

    def stops(x: torch.Tensor) -> torch.Tensor:
        negative = x.neg()
        prof.stop()
        return negative.exp()

    library.impl("starts", starts, "CPU")
    library.impl("stops", stops, "CPU")
    torch.ops.mindtorch_tests.stops(torch.ops.mindtorch_tests.starts(torch.ones(1)))
    assert parents(prof) == [
        ("aten::neg", None), ("mindtorch_tests::stops", None), ("aten::neg", "mindtorch_tests::stops"),
    ]  # fmt: skip


@pytest.mark.parametrize("scope", [torch.profiler.record_function, record_function], ids=["theirs", "ours"])
def test_starting_and_stopping_inside_of_a_scope(scope: Any) -> None:
    first, second = ours_on_cpu(), ours_on_cpu()
    with scope("outer"):
        first.start()
        torch.ones(1)
        with scope("inner"):
            torch.zeros(1)
            first.stop()
            second.start()
        torch.full((1,), 2.0)
    second.stop()
    in_first = [name for name in names(first) if name.startswith("aten::")]
    assert in_first == [*ONES, "aten::zeros", "aten::empty", "aten::zero_"]
    # PyTorch's scopes that were open are not there: it does not tell of them.
    theirs = scope is torch.profiler.record_function
    zeros = next(event for event in first.events() if event.name == "aten::zeros")
    assert zeros.cpu_parent.name == "inner"
    assert not zeros.cpu_parent.is_finished
    full = next(event for event in second.events() if event.name == "aten::full")
    assert full.cpu_parent is None if theirs else full.cpu_parent.name == "outer"


@pytest.mark.filterwarnings(NO_WARMUP, CYCLES_CLEAR_EVENTS)
def test_steps() -> None:
    cycles: list[list[str]] = []
    with ours_on_cpu(
        schedule=schedule(wait=1, warmup=0, active=2, repeat=2), on_trace_ready=lambda prof: cycles.append(names(prof))
    ) as prof:
        for step in range(6):
            torch.full((1,), float(step))
            prof.step()
    full = ["aten::full", "aten::empty", "aten::fill_"]
    assert cycles == [["ProfilerStep*", *full] * 2] * 2


@pytest.mark.filterwarnings(NO_WARMUP)
def test_steps_contain_operators() -> None:
    with ours_on_cpu(schedule=schedule(wait=0, warmup=0, active=3, repeat=1)) as prof:
        for _ in range(2):
            torch.ones(1)
            prof.step()
    around = [event.cpu_parent.trace_name for event in prof.events() if event.name == "aten::ones"]
    assert around == ["ProfilerStep#0", "ProfilerStep#1"]


def test_our_own_operators_and_theirs() -> None:
    with ours_on_cpu(record_shapes=True) as prof:
        with record_function("ours"), torch.profiler.record_function("theirs"):
            mindtorch_v2.ones(2, 3)
            torch.ones(3, 2)
        with torch.profiler.record_function("theirs"), record_function("ours"):
            mindtorch_v2.ones(1)
    shapes = [event.concrete_inputs[0] for event in prof.events() if event.name == "aten::ones"]
    assert shapes == [[2, 3], [3, 2], [1]]
    scopes = [(event.name, event.cpu_parent and event.cpu_parent.name) for event in prof.events() if event.scope == 7]
    assert scopes == [("ours", None), ("theirs", "ours"), ("theirs", None), ("ours", "theirs")]


def test_the_flight_recorder(tmp_path: Path) -> None:
    with flight_recorder(activities=CPU, max_bytes=1 << 20) as recorder:
        torch.ones(2)
        recorder.dump(tmp_path / "flight.json")
        torch.zeros(2)
    assert [event.name for event in Trace.load(tmp_path / "flight.json").events()] == ONES


KILLED = """
import os, signal, sys
import torch
from mindtorch_v2.profiler import profile
prof = profile(spool_dir=sys.argv[1], record_shapes=True, profile_memory=True, with_stack=True)
prof.start()
kept = [torch.ones(2, 3) for _ in range(100)]
with torch.profiler.record_function("last"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_process_that_is_killed_leaves(tmp_path: Path) -> None:
    process = start(KILLED, tmp_path)
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    [trace] = Trace.recover(tmp_path)
    averages = {row.key: row for row in trace.key_averages()}
    assert (averages["aten::ones"].count, averages["last"].count) == (100, 1)
    assert averages["aten::ones"].cpu_memory_usage == 2400
    one = next(event for event in trace.events() if event.name == "aten::ones")
    assert one.concrete_inputs[0] == [2, 3]
    assert one.input_dtypes[0] == "ScalarList"


@pytest.mark.parametrize("options", ["", "profile_memory=True, with_stack=True, record_shapes=True"])
def test_leaving_the_interpreter_while_recording(options: str) -> None:
    program = f"""
    import threading
    import torch
    from mindtorch_v2.profiler import profile
    prof = profile({options})
    prof.start()
    scope = torch.profiler.record_function("open")
    scope.__enter__()
    torch.ones(2, requires_grad=True).sum().backward()
    waiting = threading.Event()
    def wait():
        with torch.profiler.record_function("elsewhere"):
            waiting.set()
            threading.Event().wait()
    threading.Thread(target=wait, daemon=True).start()
    waiting.wait()
    print("over")
    """
    assert quiet(program) == ["over"]


def test_leaving_at_once_while_recording() -> None:
    program = """
    import os
    import torch
    from mindtorch_v2.profiler import profile
    prof = profile()
    prof.start()
    torch.ones(1)
    os._exit(0)
    """
    assert quiet(program) == []


def test_an_exception_through_scopes() -> None:
    with ours_on_cpu() as prof:
        with pytest.raises(KeyError), torch.profiler.record_function("outer"), torch.profiler.record_function("inner"):
            raise KeyError
        torch.ones(1)
    assert parents(prof)[:3] == [("outer", None), ("inner", "outer"), ("aten::ones", None)]
