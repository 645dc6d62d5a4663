"""Signals: handlers that raise, record, step or stop between any two instructions of a profiler's calls.

A handler of Python's runs between two instructions of the main thread. Here something does, at each of them in turn, so
that nothing depends on luck; one test has a real timer.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support import (
    FORK,
    NONE,
    RECORD,
    SAVE,
    TIME_LIMIT_S,
    WARMUP,
    Interruption,
    in_child,
    names_in,
)
from tests.profiler.support import CYCLES_CLEAR_EVENTS, read_json, scope, scopes, spans

from mindtorch_v2.autograd import profiler as autograd_profiler
from mindtorch_v2.profiler import ProfilerAction, _KinetoProfile, flight_recorder, profile
from mindtorch_v2.profiler._errors import NotStartedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS), pytest.mark.filterwarnings("ignore:Incorrect schedule")]

STEPS = [(NONE, SAVE), (WARMUP, RECORD), (RECORD, RECORD), (SAVE, SAVE), (SAVE, WARMUP), (SAVE, NONE)]


class Watched:
    """A profiler, and the ids of what its handler was told of."""

    def __init__(self, *actions: ProfilerAction, **options: Any) -> None:
        self.calls = 0
        self.told: list[Any] = []
        self.prof = profile(
            schedule=lambda step: actions[min(step, len(actions) - 1)], on_trace_ready=self.ready, **options
        )

    def ready(self, prof: Any) -> None:
        self.calls += 1
        self.told.append(prof.get_trace_id())

    def started(self) -> Watched:
        self.prof.start()
        scope("work")
        return self

    def assert_sound(self) -> None:
        """Check that it can be stopped, records nothing then, holds no lock, and can be used again."""
        if self.prof._was_started:
            self.prof.stop()
        assert not autograd_profiler._is_profiler_enabled
        self.prof.schedule = lambda _: RECORD
        other = threading.Thread(target=self.prof.start, daemon=True)
        other.start()
        other.join(TIME_LIMIT_S)
        assert not other.is_alive()
        self.prof.step()
        scope("again")
        self.prof.stop()
        assert "again" in scopes(self.prof)
        assert not autograd_profiler._is_profiler_enabled
        assert sys.getprofile() is None
        assert len(self.told) == len(set(self.told)), "the handler was told something twice"


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def stop(made: Watched) -> None:
    if made.prof._was_started:
        made.prof.stop()


def step(made: Watched) -> None:
    # Neither before the start, nor in the middle of on_trace_ready.
    if made.prof._is_running and not made.prof._is_in_handler:
        made.prof.step()


def at_every_instruction(
    make: Callable[[], Any], call: Callable[[Any], object], act: Callable[[Any], object], check: Callable[[Any], object]
) -> int:
    """Make something and call it, over and over, with an interruption at another instruction each time.

    Returns how many instructions there were.
    """
    interrupted = 0
    for after in itertools.count():
        made = make()
        interruption = Interruption(after, lambda made=made: act(made))  # type: ignore[misc]
        try:
            with interruption:
                call(made)
        except KeyboardInterrupt:
            interrupted += 1
        except NotStartedError:
            # It was stopped before the call had begun.
            assert act is stop
        check(made)
        if not interruption.happened:
            assert interrupted == (after if act is interrupt else 0)
            return after
    raise AssertionError("unreachable")


ACTS: dict[str, Callable[[Any], object]] = {
    "raises": interrupt,
    "records": lambda _: scope("in the handler"),
    "stops": stop,
    "steps": step,
}


@pytest.mark.parametrize("act", ACTS)
def test_a_start(act: str) -> None:
    count = at_every_instruction(
        lambda: Watched(RECORD), lambda made: made.prof.start(), ACTS[act], Watched.assert_sound
    )
    assert count > 20


@pytest.mark.parametrize("act", ACTS)
def test_a_stop(act: str) -> None:
    count = at_every_instruction(
        lambda: Watched(RECORD).started(), lambda made: made.prof.stop(), ACTS[act], Watched.assert_sound
    )
    assert count > 20


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("actions", STEPS, ids=lambda actions: "-".join(action.name for action in actions))
def test_a_step(actions: tuple[ProfilerAction, ...], act: str) -> None:
    count = at_every_instruction(
        lambda: Watched(*actions).started(), lambda made: made.prof.step(), ACTS[act], Watched.assert_sound
    )
    assert count > 20


@pytest.mark.parametrize("act", ["raises", "stops"])
def test_a_whole_recording_with_everything(act: str) -> None:
    def life(made: Watched) -> None:
        with made.prof:
            scope("work")
            if made.prof._is_running:
                made.prof.step()

    options: dict[str, Any] = {"with_stack": True, "profile_memory": True, "acc_events": True}
    assert at_every_instruction(lambda: Watched(SAVE, **options), life, ACTS[act], Watched.assert_sound) > 100


def test_an_interrupted_stop_loses_nothing_and_is_completed_by_the_next() -> None:
    def check(made: Watched) -> None:
        made.prof.stop()
        assert "work" in scopes(made.prof)
        assert made.calls == 1

    at_every_instruction(lambda: Watched(RECORD).started(), lambda made: made.prof.stop(), interrupt, check)


def test_an_interrupted_step_loses_nothing_that_was_recorded() -> None:
    def check(made: Watched) -> None:
        recordings = made.calls
        made.prof.step()
        # At the end of the step that was interrupted, or of this one.
        assert made.calls == recordings + 1 or recordings == 1
        made.prof.stop()
        assert "work" in scopes(made.prof)

    at_every_instruction(
        lambda: Watched(SAVE, acc_events=True).started(), lambda made: made.prof.step(), interrupt, check
    )


def test_the_profiler_without_steps() -> None:
    def life(prof: Any) -> None:
        prof.start()
        scope("work")
        prof.stop()

    def check(prof: Any) -> None:
        stop(prof)
        assert not autograd_profiler._is_profiler_enabled
        life(prof)
        assert scopes(prof) == ["work"]

    def stop(prof: Any) -> None:
        if prof.profiler is not None:
            prof.stop()

    for act in (interrupt, stop):
        at_every_instruction(_KinetoProfile, life, act, check)


LOOKS: dict[str, Callable[[Any, Any], object]] = {
    "events": lambda prof, _: list(prof.events()),
    "averages": lambda prof, _: prof.key_averages().table(),
    "export": lambda prof, path: prof.export_chrome_trace(path),
    "list": lambda prof, path: prof.events().export_chrome_trace(path),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_what_was_recorded(look: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"

    def make() -> Any:
        with profile() as prof:
            scope("work")
        return prof

    def check(prof: Any) -> None:
        assert scopes(prof) == ["work"]
        assert [row.key for row in prof.key_averages()] == ["work"]
        prof.export_chrome_trace(path)
        assert len(spans(read_json(path))) == 1
        assert names_in(tmp_path) == ["trace.json"]

    at_every_instruction(make, lambda prof: LOOKS[look](prof, path), interrupt, check)


def test_a_flight_recorder_that_is_written_while_it_is_written(tmp_path: Path) -> None:
    recorder = flight_recorder(path=tmp_path / "{count}.json")
    with recorder:
        scope("work")
        written = at_every_instruction(
            lambda: recorder, lambda made: made.dump(), lambda made: made.dump(), lambda made: made.dump()
        )
    assert len(names_in(tmp_path)) == 3 * written + 2


class Timer:
    """Does one thing after another, a thousand times a second, while it is armed."""

    def __init__(self) -> None:
        self.made: Watched | None = None
        self.acts: Iterator[Callable[[Any], object]] = itertools.cycle(ACTS.values())
        signal.signal(signal.SIGALRM, self.tick)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    def tick(self, *_: object) -> None:
        if self.made is not None:
            next(self.acts)(self.made)


@pytest.mark.filterwarnings(FORK)
def test_a_timer_in_the_middle_of_everything(tmp_path: Path) -> None:
    def life(prof: Any) -> None:
        prof.start()
        for _ in range(4):
            scope("work")
            prof.step()
        prof.stop()
        prof.key_averages().table()
        prof.export_chrome_trace(tmp_path / "trace.json")

    def child() -> None:
        timer = Timer()
        for _ in range(300):
            made = Watched(*[RECORD, SAVE, NONE, WARMUP] * 3)
            timer.made = made
            try:
                life(made.prof)
            except (KeyboardInterrupt, NotStartedError):
                # By the timer, or because that has stopped it: then it cannot be stepped.
                pass
            finally:
                timer.made = None
            made.assert_sound()

    assert in_child(child) == 0
    assert set(names_in(tmp_path)) <= {"trace.json"}
