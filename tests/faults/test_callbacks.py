"""Code of the user's that the profiler calls: it may raise, hang, return nonsense, or call back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import NONE, RECORD, SAVE, TIME_LIMIT_S, WARMUP
from tests.profiler.support import CYCLES_CLEAR_EVENTS, Observer, in_thread, named, only, scope, scopes, spans, trace_of

from mindtorch_v2.profiler import ProfilerAction, profile, record_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS), pytest.mark.filterwarnings("ignore:Incorrect schedule")]

FOLLOWERS = [NONE, WARMUP, RECORD, SAVE]


class Fault(Exception):  # noqa: N818
    """What the callbacks of these tests raise."""


def fail(*_: object) -> Any:
    raise Fault


def work_of(found: list[str]) -> list[str]:
    return [name for name in found if name.startswith("work")]


@pytest.mark.parametrize("following", FOLLOWERS, ids=lambda action: action.name)
def test_a_handler_that_raises_whatever_comes_next(following: ProfilerAction, tmp_path: Path) -> None:
    actions = [SAVE, following, SAVE if following in {NONE, SAVE, WARMUP} else RECORD, SAVE, NONE]
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        seen.append(work_of(scopes(prof)))
        if len(seen) == 1:
            raise Fault

    prof = profile(schedule=lambda step: actions[min(step, 4)], on_trace_ready=ready)
    prof.start()
    scope("work 0")
    with pytest.raises(Fault):
        prof.step()
    assert (prof.step_num, prof.current_action) == (1, following)
    for number in range(1, 5):
        scope(f"work {number}")
        prof.step()
    prof.stop()
    recorded = [number for number, action in enumerate(actions) if action in {RECORD, SAVE}]
    assert [name for each in seen for name in each] == [f"work {number}" for number in recorded]
    assert spans(trace_of(prof, tmp_path))


@pytest.mark.parametrize("action", [RECORD, SAVE], ids=lambda action: action.name)
def test_a_handler_that_raises_at_the_end(action: ProfilerAction, tmp_path: Path) -> None:
    prof = profile(schedule=lambda _: action, on_trace_ready=fail)
    with pytest.raises(Fault), prof:
        scope("work")
    assert "work" in scopes(prof)
    assert spans(trace_of(prof, tmp_path))


@pytest.mark.parametrize("step", range(1, 5))
def test_a_schedule_that_fails_at_any_step_changes_nothing(step: int) -> None:
    actions = [WARMUP, RECORD, SAVE, NONE, RECORD]
    has_failed = False

    def chosen(number: int) -> ProfilerAction:
        nonlocal has_failed
        if number == step and not has_failed:
            has_failed = True
            raise Fault
        return actions[min(number, 4)]

    with profile(schedule=chosen, acc_events=True) as prof:
        for number in range(4):
            scope(f"work {number}")
            if number + 1 == step:
                before = prof.step_num, prof.current_action
                with pytest.raises(Fault):
                    prof.step()
                assert (prof.step_num, prof.current_action) == before
            prof.step()
        scope("work 4")
    assert work_of(scopes(prof)) == ["work 1", "work 2", "work 4"]


@pytest.mark.parametrize("nonsense", [None, 7, "RECORD", object(), ProfilerAction.DEVICE_STOPPED], ids=str)
def test_a_schedule_that_returns_nonsense_is_told_what_is_expected(nonsense: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="ProfilerAction"):
        profile(schedule=lambda _: nonsense)


def test_a_schedule_may_call_back() -> None:
    seen: list[tuple[int, int]] = []

    def chosen(number: int) -> ProfilerAction:
        if number == 2:
            seen.append((prof.step_num, len(prof.events())))
            prof.stop()
        return RECORD

    prof = profile(schedule=chosen)
    prof.start()
    scope("work 0")
    prof.step()
    scope("work 1")
    prof.step()
    scope("work 2")
    assert seen[0][0] == 1
    assert work_of(scopes(prof)) == ["work 0", "work 1"]
    with pytest.raises(RuntimeError, match="must be running"):
        prof.step()


class Stepping:
    """An observer that makes a step when a recording starts."""

    def __init__(self, step: Callable[[], object]) -> None:
        self.step = step

    def start(self) -> None:
        self.step()

    def stop(self) -> None:
        pass

    def cleanup(self) -> None:
        pass


@pytest.mark.parametrize("steppers", [{"schedule"}, {"observer"}, {"schedule", "observer"}], ids=" and ".join)
def test_a_callback_that_always_steps_is_a_recursion_error_and_the_profiler_goes_on(steppers: set[str]) -> None:
    stepping = False

    def step(stepper: str) -> None:
        if stepping and stepper in steppers:
            prof.step()

    def chosen(_: int) -> ProfilerAction:
        step("schedule")
        return SAVE

    observer = Stepping(lambda: step("observer"))
    prof = profile(schedule=chosen, acc_events=True, execution_trace_observer=observer)
    prof.start()
    scope("work 1")
    stepping = True
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as raised:
        prof.step()
    # The traceback shows the call that has to be removed.
    assert any(entry.name == "step" and "tests" in str(entry.path) for entry in raised.traceback)
    stepping = False
    # No lock is held, and no step is left to be made.
    last = prof.step_num
    other = threading.Thread(target=prof.step, daemon=True)
    other.start()
    other.join(TIME_LIMIT_S)
    assert prof.step_num == last + 1
    scope("work 2")
    prof.stop()
    assert work_of(scopes(prof)) == ["work 1", "work 2"]


def test_a_schedule_may_make_a_step_that_ends() -> None:
    def chosen(number: int) -> ProfilerAction:
        if number == 2:
            prof.step()
        return RECORD

    prof = profile(schedule=chosen)
    with prof:
        prof.step()
        prof.step()
        assert prof.step_num == 3


CALLS: dict[str, Callable[[Any, Any], object]] = {
    "stop": lambda prof, _: prof.stop(),
    "export": lambda prof, path: prof.export_chrome_trace(path),
    "look": lambda prof, _: prof.key_averages().table(),
    "toggle": lambda prof, _: prof._is_running and prof.toggle_collection_dynamic(False, ["CPU"]),
    "another thread": lambda *_: in_thread(lambda: scope("elsewhere")),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("following", FOLLOWERS, ids=lambda action: action.name)
def test_a_handler_may_call_back(call: str, following: ProfilerAction, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        seen.append(work_of(scopes(prof)))
        CALLS[call](prof, tmp_path / "trace.json")

    actions = [SAVE, following]
    prof = profile(schedule=lambda step: actions[min(step, 1)], on_trace_ready=ready)
    prof.start()
    scope("work 0")
    prof.step()
    scope("work 1")
    prof.stop()
    later = [["work 1"]] if following in {RECORD, SAVE} and call != "stop" else []
    assert seen == [["work 0"], *later]
    with prof:
        pass


@pytest.mark.parametrize(("call", "words"), [("step", "cannot make another"), ("start", "already running")])
def test_a_handler_that_asks_for_what_cannot_be_is_told_so(call: str, words: str) -> None:
    prof = profile(schedule=lambda _: SAVE, on_trace_ready=lambda prof: getattr(prof, call)())
    prof.start()
    for number in range(3):
        scope(f"work {number}")
        with pytest.raises(RuntimeError, match=words):
            prof.step()
        assert work_of(scopes(prof)) == []
    prof.on_trace_ready = None
    scope("work 3")
    prof.stop()
    assert work_of(scopes(prof)) == ["work 3"]


def test_other_threads_record_while_a_handler_hangs() -> None:
    entered, leave = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        seen.append(work_of(scopes(prof)))
        if len(seen) == 1:
            entered.set()
            assert leave.wait(TIME_LIMIT_S)

    with profile() as whole:
        prof = profile(schedule=lambda _: SAVE, on_trace_ready=ready)
        prof.start()
        scope("work 0")
        hanging = threading.Thread(target=prof.step)
        hanging.start()
        assert entered.wait(TIME_LIMIT_S)
        scope("meanwhile")
        assert scopes(whole)[-1] == "meanwhile"
        assert work_of(scopes(prof)) == ["work 0"]
        leave.set()
        hanging.join()
        scope("work 1")
        prof.stop()
    assert seen == [["work 0"], ["work 1"]]
    assert scopes(whole) == ["work 0", "meanwhile", "work 1"]


class Broken(Observer):
    """An observer one of whose methods raises."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, fail)


@pytest.mark.parametrize("method", ["start", "stop", "cleanup"])
def test_an_observer_that_raises_does_not_cost_the_recording(method: str, tmp_path: Path) -> None:
    observer = Broken(method)
    prof = profile(execution_trace_observer=observer)
    with pytest.raises(Fault), prof:
        scope("work")
    if method != "start":
        assert scopes(prof) == ["work"]
        assert spans(trace_of(prof, tmp_path))
    prof.execution_trace_observer = None
    with prof:
        scope("again")
    assert scopes(prof) == ["again"]


@pytest.mark.parametrize("method", ["start", "stop"])
def test_an_observer_that_raises_in_a_step_does_not_cost_the_next_cycle(method: str) -> None:
    observer = Broken(method)
    actions = [NONE, SAVE, NONE, SAVE, NONE]
    seen: list[list[str]] = []
    with profile(
        schedule=lambda step: actions[min(step, 4)],
        on_trace_ready=lambda prof: seen.append(work_of(scopes(prof))),
        execution_trace_observer=observer,
    ) as prof:
        failures = 0
        for number in range(4):
            scope(f"work {number}")
            if number == 2:
                prof.execution_trace_observer = None
            try:
                prof.step()
            except Fault:
                failures += 1
    assert failures == 1
    assert seen == ([["work 1"], ["work 3"]] if method == "stop" else [["work 3"]])


def test_a_callback_for_trace_ids_that_raises_is_an_error_of_the_start() -> None:
    prof = profile(custom_trace_id_callback=fail)
    with pytest.raises(Fault):
        prof.start()
    with pytest.raises(RuntimeError, match="must be running"):
        prof.step()
    prof.set_custom_trace_id_callback(None)
    with prof:
        scope("work")
    assert scopes(prof) == ["work"]


class Text(str):
    """A text that cannot be shown."""

    __slots__ = ()
    __str__ = __repr__ = __format__ = encode = fail  # type: ignore[assignment]


def test_names_and_texts_whose_methods_raise_are_recorded_as_they_are(tmp_path: Path) -> None:
    with profile() as prof, record_function(Text("name"), Text("args")), record_function(Text("lone \ud800")):
        pass
    assert only(named(prof, "name")).args == "args"
    assert len(spans(trace_of(prof, tmp_path))) == 2


@pytest.mark.parametrize("value", [7, object(), ["a"]], ids=["number", "object", "list"])
def test_a_name_or_a_text_of_another_type_is_an_error_that_says_so(value: Any) -> None:
    with pytest.raises(TypeError, match="name must be str or bytes, not"):
        record_function(value)
    with pytest.raises(TypeError, match="args must be str or None, not"):
        record_function("name", value)


class File:
    """A file that takes some bytes, and then raises or says nonsense."""

    def __init__(self, answer: Callable[[bytes], Any]) -> None:
        self.answer = answer

    def write(self, data: bytes) -> Any:
        return self.answer(data)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(fail, Fault), (lambda _: "some", TypeError), (lambda _: -1, OverflowError), (lambda _: 0, OSError)],
    ids=["raises", "a text", "negative", "nothing"],
)
def test_a_file_that_misbehaves_is_an_error_that_keeps_the_data(
    answer: Callable[[bytes], Any], error: type[Exception], tmp_path: Path
) -> None:
    with profile() as prof:
        scope("work")
    with pytest.raises(error):
        prof.export_chrome_trace(File(answer))
    assert len(spans(trace_of(prof, tmp_path))) == 1
