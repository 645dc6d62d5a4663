"""``with_stack``: every call of a Python function or a builtin, on every thread."""

from __future__ import annotations

import _thread
import asyncio
import cProfile
import ctypes
import functools
import gc
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import (
    ancestors,
    frames,
    in_child,
    in_thread,
    named,
    only,
    output_of,
    spans,
    torch,
    trace_of,
)

from mindtorch_v2.profiler import profile, record_function, schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

HERE = "test_python_functions.py"


def leaf() -> int:
    return len([])


def middle() -> int:
    return leaf() + 1


def is_call_of(name: str, function: Callable[..., object]) -> bool:
    code = function.__code__
    return name.endswith(f"{HERE}({code.co_firstlineno}): {code.co_name}")


def calls_of(prof: Any, function: Callable[..., object]) -> list[Any]:
    return [frame for frame in frames(prof) if is_call_of(frame.name, function)]


def names_within(prof: Any, function: Callable[..., object]) -> list[str]:
    """Return the names of what a function called, directly or not, without folders and lines."""
    outer = only(calls_of(prof, function))
    return [short(frame.name) for frame in frames(prof) if outer.name in ancestors(frame)]


def short(name: str) -> str:
    return name.rpartition(": ")[2] if name.startswith("/") or "): " in name else name


def test_a_call_has_the_name_of_its_function_and_the_line_of_its_definition() -> None:
    with profile(with_stack=True) as prof:
        middle()
    called = frames(prof)[-3:]
    assert is_call_of(called[0].name, middle)
    assert is_call_of(called[1].name, leaf)
    assert called[2].name == "<built-in function len>"


def test_calls_nest() -> None:
    with profile(with_stack=True) as prof:
        middle()
    builtin = only(named(prof, "<built-in function len>"))
    inner, outer = ancestors(builtin)[:2]
    assert is_call_of(inner, leaf)
    assert is_call_of(outer, middle)


def test_what_was_running_is_there_with_the_line_that_it_was_at() -> None:
    line = 0

    def outer() -> Any:
        nonlocal line
        line = sys._getframe().f_lineno + 1
        with profile(with_stack=True) as prof:
            leaf()
        return prof

    prof = outer()
    *around, itself = ancestors(only(calls_of(prof, leaf)))[::-1]
    assert itself.endswith(f"{HERE}({line}): outer")
    assert short(around[-1]) == "test_what_was_running_is_there_with_the_line_that_it_was_at"


def test_paths_begin_where_the_module_is_imported_from() -> None:
    with profile(with_stack=True) as prof:
        torch.nn.functional.relu(torch.ones(2))
    assert any(frame.name.startswith("mindtorch_v2/nn/functional/") for frame in frames(prof))


def test_a_builtin_that_is_made_where_another_was_has_its_own_name() -> None:
    """Libraries make some while the program runs, in memory that others may have had."""

    class Definition(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p),
            ("function", ctypes.c_void_p),
            ("flags", ctypes.c_int),
            ("text", ctypes.c_char_p),
        )

    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)(lambda _owner, value: value)
    takes_one = 8
    definition = Definition(b"", ctypes.cast(function, ctypes.c_void_p), takes_one, None)

    def work() -> None:
        for name in (b"one", b"other", b"one"):
            definition.name = name
            make(ctypes.addressof(definition), None, None)(1)

    with profile(with_stack=True) as prof:
        work()
    names = [name for name in names_within(prof, work) if name.startswith("<built-in function o")]
    assert names == ["<built-in function one>", "<built-in function other>", "<built-in function one>"]


def test_builtins_have_no_addresses_and_types_of_torch_have_its_names() -> None:
    def work() -> None:
        numbers: list[int] = []
        numbers.append(1)
        list.append(numbers, 1)
        dict.fromkeys([1])
        "".join([])
        torch.ones(2).add(1)

    with profile(with_stack=True) as prof:
        work()
    assert names_within(prof, work) == [
        "<built-in method append of list>",
        "<built-in method append of list>",
        "<built-in method fromkeys of type>",
        "<built-in method join of str>",
        "<built-in function ones>",
        "<built-in method add of Tensor>",
    ]


def test_the_trace_says_where_a_function_was_called(tmp_path: Path) -> None:
    def caller() -> int:
        first = leaf()
        return first + leaf()

    with profile(with_stack=True) as prof:
        caller()
    functions = spans(trace_of(prof, tmp_path), "python_function")
    line = caller.__code__.co_firstlineno
    called_from = [function["args"]["CallFrom"] for function in functions if is_call_of(function["name"], leaf)]
    assert [place.rpartition("/")[2] for place in called_from] == [f"{HERE}:{line + 1}", f"{HERE}:{line + 2}"]
    builtins = [function for function in functions if function["name"] == "<built-in function len>"]
    assert {function["args"]["CallFrom"].rpartition(":")[2] for function in builtins} == {
        str(leaf.__code__.co_firstlineno + 1)
    }


def test_each_run_of_a_generator_is_a_call() -> None:
    def numbers() -> Iterator[int]:
        yield leaf()
        yield middle()

    with profile(with_stack=True) as prof:
        list(numbers())
    runs = calls_of(prof, numbers)
    assert len(runs) == 3
    assert [[short(child.name) for child in run.cpu_children] for run in runs] == [["leaf"], ["middle"], []]


def test_tasks_that_take_turns_do_not_contain_each_other() -> None:
    async def one() -> None:
        leaf()
        await asyncio.sleep(0)
        middle()

    async def both() -> None:
        await asyncio.gather(one(), one())

    with profile(with_stack=True) as prof:
        asyncio.run(both())
    runs = calls_of(prof, one)
    assert len(runs) == 4
    assert not any(run.name in ancestors(run) for run in runs)


def test_an_error_ends_the_calls_that_it_leaves() -> None:
    def fails() -> None:
        raise ValueError("failed")

    def passes_on() -> None:
        fails()

    with profile(with_stack=True) as prof:
        with pytest.raises(ValueError, match="failed"):
            passes_on()
        leaf()
    assert is_call_of(ancestors(only(calls_of(prof, fails)))[0], passes_on)
    after = only(calls_of(prof, leaf))
    assert short(ancestors(after)[0]) == "test_an_error_ends_the_calls_that_it_leaves"


def test_recursion_is_as_deep_as_it_is() -> None:
    def down(depth: int) -> None:
        if depth:
            down(depth - 1)

    with profile(with_stack=True) as prof:
        down(400)
    calls = calls_of(prof, down)
    assert len(calls) == 401
    assert ancestors(calls[-1]).count(calls[0].name) == 400


def test_the_profiler_leaves_itself_out() -> None:
    @record_function("decorated")
    def decorated() -> int:
        return leaf()

    with profile(with_stack=True) as prof:
        with record_function("scope"):
            pass
        decorated()
        prof.step()
        with profile() as inner:
            pass
    assert frames(inner) == []
    called = [short(frame.name) for frame in frames(prof)]
    here = called.index("test_the_profiler_leaves_itself_out")
    assert called[here + 1 :] == ["decorated", "leaf", "<built-in function len>"]


def test_the_caller_of_a_decorated_function_is_where_it_is_called(tmp_path: Path) -> None:
    @record_function("decorated")
    def decorated() -> None:
        pass

    def caller() -> None:
        decorated()

    with profile(with_stack=True) as prof:
        caller()
    functions = spans(trace_of(prof, tmp_path), "python_function")
    called_from = [function["args"]["CallFrom"] for function in functions if short(function["name"]) == "decorated"]
    assert only(called_from).endswith(f":{caller.__code__.co_firstlineno + 1}")


def test_scopes_and_operators_have_the_calls_around_them_for_a_stack() -> None:
    def work() -> None:
        with record_function("scope"):
            torch.ones(2) + 1

    with profile(with_stack=True) as prof:
        work()
    for name in ("scope", "aten::add"):
        event = only(named(prof, name))
        assert is_call_of(event.stack[0], work), event.stack


def test_modules_are_numbered_for_each_class_in_the_order_of_their_first_call() -> None:
    first, second, norm = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)
    rows = torch.ones(2, 2)
    with profile(with_stack=True) as prof:
        for module in (second, norm, first, second):
            module(rows)
    modules = [frame for frame in frames(prof) if frame.name.startswith("nn.Module: ")]
    assert [module.name.removeprefix("nn.Module: ") for module in modules] == [
        "Linear_0",
        "LayerNorm_0",
        "Linear_1",
        "Linear_0",
    ]
    assert [module.python_module_id for module in modules] == [0, 0, 1, 0]
    assert all(module.cpu_children for module in modules)
    with profile(with_stack=True) as again:
        first(rows)
    assert len(named(again, "nn.Module: Linear_0")) == 1


def test_classes_of_one_name_share_their_numbers() -> None:
    def make() -> Any:
        class Net(torch.nn.Module):  # type: ignore[misc]
            def forward(self) -> None:
                pass

        return Net()

    one, other = make(), make()
    with profile(with_stack=True) as prof:
        one()
        other()
    modules = [frame.name for frame in frames(prof) if frame.name.startswith("nn.Module: ")]
    assert modules == ["nn.Module: Net_0", "nn.Module: Net_1"]


def test_a_module_is_not_kept_alive() -> None:
    with profile(with_stack=True):
        module = torch.nn.ReLU()
        module(torch.ones(2))
        gone = weakref.ref(module)
        del module
        gc.collect()
        assert gone() is None


def test_code_is_not_kept_alive_and_what_takes_its_place_has_its_own_name() -> None:
    for number in range(20):
        made: dict[str, Any] = {}
        exec(f"def made_{number}():\n    return len([])", made)
        function = made.pop(f"made_{number}")
        with profile(with_stack=True) as prof:
            function()
        assert [frame.name for frame in frames(prof) if "made_" in frame.name] == [f"<string>(1): made_{number}"]
        gone = weakref.ref(function.__code__)
        del function
        gc.collect()
        assert gone() is None


def test_names_follow_the_folders_that_modules_are_imported_from(tmp_path: Path, monkeypatch: Any) -> None:
    code = compile("def placed():\n    return len([])", str(tmp_path / "folder" / "placed.py"), "exec")
    made: dict[str, Any] = {}
    exec(code, made)

    def recorded() -> list[str]:
        with profile(with_stack=True) as prof:
            made["placed"]()
        return [frame.name for frame in frames(prof) if frame.name.endswith(": placed")]

    assert recorded() == recorded() == [f"{tmp_path}/folder/placed.py(1): placed"]
    monkeypatch.syspath_prepend(str(tmp_path))
    assert recorded() == ["folder/placed.py(1): placed"]


def test_threads_that_run_already_are_traced() -> None:
    go, started = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go.wait()
        leaf()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    with profile(with_stack=True) as prof:
        go.set()
        thread.join()
    call = only(calls_of(prof, leaf))
    assert [short(name) for name in ancestors(call)] == ["work", "run", "_bootstrap_inner", "_bootstrap"]
    assert call.thread != frames(prof)[0].thread


def test_a_call_that_outlives_a_session_is_once_in_each() -> None:
    turns = [threading.Event() for _ in range(4)]

    def work() -> None:
        for mine, other in ((turns[0], turns[1]), (turns[2], turns[3])):
            mine.wait()
            leaf()
            other.set()

    thread = threading.Thread(target=work)
    thread.start()
    profs = []
    for mine, other in ((turns[0], turns[1]), (turns[2], turns[3])):
        with profile(with_stack=True) as prof:
            mine.set()
            other.wait()
        profs.append(prof)
    thread.join()
    for prof in profs:
        call = only(calls_of(prof, leaf))
        around = [short(name) for name in ancestors(call)]
        assert around == ["work", "run", "_bootstrap_inner", "_bootstrap"]
        assert [short(frame.name) for frame in frames(prof)].count("_bootstrap") == 1
        assert not any(frame.is_async for frame in frames(prof))


@pytest.mark.parametrize("start", ["threading", "_thread"])
def test_threads_that_start_later_are_traced_from_their_first_call(start: str) -> None:
    done = threading.Event()

    def work() -> None:
        leaf()
        done.set()

    with profile(with_stack=True) as prof:
        if start == "threading":
            in_thread(work)
        else:
            _thread.start_new_thread(work, ())
            done.wait()
    call = only(calls_of(prof, leaf))
    assert short(ancestors(call)[0]) == "work"
    assert call.thread != frames(prof)[0].thread


def test_a_session_may_be_started_and_stopped_on_other_threads() -> None:
    prof = profile(with_stack=True)
    in_thread(prof.start)
    middle()
    in_thread(prof.stop)
    assert is_call_of(ancestors(only(calls_of(prof, leaf)))[0], middle)
    assert sys.getprofile() is None


def test_sessions_overlap() -> None:
    first, second = profile(with_stack=True), profile(with_stack=True)
    first.start()
    leaf()
    second.start()
    middle()
    first.stop()
    leaf()
    second.stop()
    middle()
    assert len(calls_of(first, leaf)) == 2
    assert len(calls_of(second, leaf)) == 2
    assert [len(calls_of(prof, middle)) for prof in (first, second)] == [1, 1]
    assert sys.getprofile() is None


def test_only_the_steps_that_record_are_traced() -> None:
    hooks = []
    recorded = []
    with profile(
        with_stack=True,
        schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
        on_trace_ready=lambda prof: recorded.append(len(calls_of(prof, leaf))),
    ) as prof:
        for _ in range(4):
            leaf()
            hooks.append(sys.getprofile() is not None)
            prof.step()
    assert recorded == [1]
    assert hooks == [False, False, True, False]


class Hook:
    """A function for ``sys.setprofile`` that notes the calls of ``leaf``."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, frame: FrameType, event: str, _value: object) -> None:
        if frame.f_code is leaf.__code__:
            self.events.append(event)


ONE_CALL = ["call", "c_call", "c_return", "return"]


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    sys.setprofile(None)
    threading.setprofile(None)


def test_defect_42_a_hook_of_the_programs_goes_on_and_stays() -> None:
    hook = Hook()
    sys.setprofile(hook)
    with profile(with_stack=True) as prof:
        leaf()
    kept: object = sys.getprofile()
    leaf()
    assert kept is hook
    assert hook.events == 2 * ONE_CALL
    assert len(calls_of(prof, leaf)) == 1


def test_defect_42_cprofile_counts_what_is_traced() -> None:
    counter = cProfile.Profile()
    counter.enable()
    leaf()
    with profile(with_stack=True) as prof:
        leaf()
    leaf()
    counter.disable()
    counts = [entry.callcount for entry in counter.getstats() if entry.code is leaf.__code__]
    assert counts == [3]
    assert len(calls_of(prof, leaf)) == 1


def test_a_hook_of_another_thread_goes_on_and_stays() -> None:
    hook = Hook()
    steps = [threading.Event() for _ in range(3)]
    hooks = []

    def work() -> None:
        sys.setprofile(hook)
        steps[0].set()
        steps[1].wait()
        leaf()
        steps[2].set()
        steps[3].wait()
        hooks.append(sys.getprofile())
        leaf()

    steps.append(threading.Event())
    thread = threading.Thread(target=work)
    thread.start()
    steps[0].wait()
    with profile(with_stack=True) as prof:
        steps[1].set()
        steps[2].wait()
    steps[3].set()
    thread.join()
    assert hooks == [hook]
    assert hook.events == 2 * ONE_CALL
    assert len(calls_of(prof, leaf)) == 1


def test_a_hook_for_new_threads_goes_on_and_stays() -> None:
    hook = Hook()
    threading.setprofile(hook)
    with profile(with_stack=True) as prof:
        in_thread(leaf)
    in_thread(leaf)
    assert hook.events == 2 * ONE_CALL
    assert len(calls_of(prof, leaf)) == 1
    assert threading.getprofile() is hook


def test_a_hook_that_is_set_while_we_trace_is_the_programs_to_keep() -> None:
    hook = Hook()
    with profile(with_stack=True):
        sys.setprofile(hook)
        leaf()
    kept: object = sys.getprofile()
    assert kept is hook
    assert hook.events == ONE_CALL


def test_a_hook_that_is_removed_while_we_trace_stays_removed() -> None:
    hook = Hook()
    sys.setprofile(hook)
    with profile(with_stack=True):
        sys.setprofile(None)
        leaf()
    assert sys.getprofile() is None
    assert hook.events == []


def test_what_is_taken_away_and_put_back_traces_on() -> None:
    with profile(with_stack=True) as prof:
        ours = sys.getprofile()
        sys.setprofile(None)
        leaf()
        sys.setprofile(ours)
        middle()
    assert is_call_of(ancestors(only(calls_of(prof, leaf)))[0], middle)
    sys.setprofile(ours)
    leaf()
    assert sys.getprofile() is None


def test_an_error_of_a_hook_is_the_programs_and_the_tracer_goes_on() -> None:
    def hook(frame: FrameType, event: str, value: object) -> None:
        if frame.f_code is leaf.__code__:
            raise KeyError

    sys.setprofile(hook)
    with profile(with_stack=True) as prof:
        with pytest.raises(KeyError):
            leaf()
        functools.reduce(max, [1, 2])
    assert sys.getprofile() is None
    assert len(named(prof, "<built-in function reduce>")) == 1


def test_a_forked_child_is_not_traced_and_may_trace() -> None:
    def child() -> None:
        leaf()
        assert sys.getprofile() is None
        with profile(with_stack=True) as prof:
            middle()
        assert len(calls_of(prof, leaf)) == 1
        assert sys.getprofile() is None

    with profile(with_stack=True) as prof:
        assert in_child(child) == 0
        leaf()
    assert len(calls_of(prof, leaf)) == 1


def test_a_program_may_end_while_it_is_traced() -> None:
    program = """
        import threading
        from mindtorch_v2.profiler import profile

        begun = threading.Barrier(4)

        def work():
            begun.wait()
            while True:
                len([])

        prof = profile(with_stack=True)
        prof.start()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        begun.wait()
        print("end")
        """
    assert output_of(program) == ["end"]
