"""Several profilers at once, in any order, on any thread; switching them off and on; using them again."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.support import averages, events, in_thread, names, scope, scopes, spans, square, trace_of

from mindtorch_v2.autograd import profiler as autograd_profiler
from mindtorch_v2.profiler import ProfilerAction, _KinetoProfile, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("stops", ORDERS, ids=str)
@pytest.mark.parametrize("starts", ORDERS, ids=str)
def test_profilers_start_and_stop_in_any_order(starts: tuple[int, ...], stops: tuple[int, ...]) -> None:
    profs = [profile() for _ in range(3)]
    wanted: list[list[str]] = [[], [], []]
    running: set[int] = set()
    for turn, (call, number) in enumerate([("start", each) for each in starts] + [("stop", each) for each in stops]):
        getattr(profs[number], call)()
        running ^= {number}
        scope(f"turn {turn}")
        for each in running:
            wanted[each].append(f"turn {turn}")
    assert [names(prof) for prof in profs] == wanted


def test_profilers_start_and_stop_on_threads_of_their_own() -> None:
    barrier = threading.Barrier(4)
    results: list[list[str]] = []

    def work(number: int) -> None:
        with profile(with_stack=number % 2 == 0, record_shapes=number % 2 == 1) as prof:
            barrier.wait()
            scope(f"thread {number}")
            barrier.wait()
        results.append(scopes(prof))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [f"thread {number}" for number in range(4)]
    assert [sorted(found) for found in results] == [wanted] * 4


def test_profilers_start_and_stop_again_and_again_while_others_record() -> None:
    is_over = False

    def record() -> None:
        while not is_over:
            scope("busy")

    thread = threading.Thread(target=record)
    with profile() as whole:
        thread.start()
        for number in range(200):
            with profile(with_stack=number % 3 == 0) as prof:
                scope("own")
            assert scopes(prof).count("own") == 1
        is_over = True
        thread.join()
    assert names(whole).count("own") == 200


def test_many_profilers_at_once() -> None:
    profs = [profile() for _ in range(50)]
    for number, prof in enumerate(profs):
        prof.start()
        scope(f"{number}")
    for prof in profs:
        prof.stop()
    assert [len(names(prof)) for prof in profs] == list(range(50, 0, -1))


def test_an_inner_profiler_that_asks_for_more_does_not_change_the_outer_one(tmp_path: Path) -> None:
    def work() -> None:
        with record_function("work"):
            square()

    with profile() as alone:
        work()
    with profile() as outer, profile(with_stack=True, profile_memory=True, record_shapes=True, with_flops=True):
        work()
    assert names(outer) == names(alone)
    assert [list(event.keys()) for event in events(outer)] == [list(event.keys()) for event in events(alone)]
    shown = [[sorted(span["args"]) for span in spans(trace_of(prof, tmp_path))] for prof in (alone, outer)]
    assert shown[0] == shown[1]


def test_a_scheduled_profiler_inside_a_plain_one() -> None:
    seen: list[list[str]] = []
    with (
        profile() as outer,
        profile(
            schedule=lambda step: ProfilerAction.RECORD_AND_SAVE if step == 1 else ProfilerAction.NONE,
            on_trace_ready=lambda prof: seen.append(scopes(prof)),
        ) as inner,
    ):
        for number in range(3):
            scope(f"work {number}")
            inner.step()
    assert seen == [["ProfilerStep#1", "work 1"]]
    assert names(outer) == ["work 0", "work 1", "work 2"]


def test_a_profiler_started_in_the_handler_of_another() -> None:
    inner = profile()
    with profile(on_trace_ready=lambda _: inner.start()) as outer:
        scope("first")
    scope("second")
    inner.stop()
    assert names(outer) == ["first"]
    assert names(inner) == ["second"]


def test_the_handler_may_start_its_own_profiler_again() -> None:
    rounds: list[list[str]] = []

    def ready(prof: Any) -> None:
        rounds.append(names(prof))
        if len(rounds) == 1:
            prof.start()

    prof = profile(on_trace_ready=ready)
    prof.start()
    scope("first")
    prof.stop()
    scope("second")
    prof.stop()
    assert rounds == [["first"], ["second"]]


def test_the_profilers_of_both_modules_record_at_once() -> None:
    other = autograd_profiler.profile()
    with profile() as one, other:
        scope("work")
    assert names(one) == ["work"]
    assert [event.name for event in other.function_events] == ["work"]


def test_entering_again_while_running_is_refused_and_loses_nothing() -> None:
    with profile() as prof:
        scope("first")
        with pytest.raises(RuntimeError), prof:
            pass
        scope("second")
    assert names(prof) == ["first", "second"]


def test_the_autograd_profiler_is_not_reentrant() -> None:
    prof = autograd_profiler.profile()
    with prof:
        scope("work")
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
        pass
    assert [event.name for event in prof.function_events] == ["work"]


def test_an_exception_in_the_body_reaches_the_caller_and_keeps_the_data() -> None:
    calls: list[Any] = []
    prof = profile(on_trace_ready=calls.append)
    error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as raised, prof, record_function("fails"):
        raise error
    assert raised.value is error
    assert calls == [prof]
    assert [(event.name, event.is_finished) for event in events(prof)] == [("fails", True)]


def test_an_exception_in_the_body_and_one_in_the_handler_are_chained() -> None:
    def ready(prof: Any) -> None:
        raise KeyError("handler")

    with pytest.raises(KeyError, match="handler") as raised, profile(on_trace_ready=ready):
        raise ZeroDivisionError
    assert isinstance(raised.value.__context__, ZeroDivisionError)


def test_an_op_that_fails_is_recorded_and_ends() -> None:
    with profile() as prof:
        with pytest.raises(RuntimeError):
            square() @ square()[:3]
        scope("after")
    assert names(prof)[-1] == "after"
    assert events(prof)[-1].cpu_parent is None
    assert all(event.is_finished for event in events(prof))


def test_toggling_is_safe_from_any_thread_and_any_number_of_times() -> None:
    with profile() as prof:
        for number in range(20):
            in_thread(lambda: prof.toggle_collection_dynamic(False, ["CPU"]))
            scope("paused")
            prof.toggle_collection_dynamic(False, ["CPU"])
            in_thread(lambda: prof.toggle_collection_dynamic(True, ["CPU"]))
            prof.toggle_collection_dynamic(True, ["CPU"])
            scope(f"{number}")
    assert names(prof) == [f"{number}" for number in range(20)]


def test_toggling_one_profiler_does_not_pause_another() -> None:
    with profile() as one, profile() as other:
        one.toggle_collection_dynamic(False, ["CPU"])
        scope("work")
        one.toggle_collection_dynamic(True, ["CPU"])
    assert names(one) == []
    assert names(other) == ["work"]


def test_a_paused_profiler_can_be_stopped_and_started_again() -> None:
    prof = profile()
    with prof:
        prof.toggle_collection_dynamic(False, ["CPU"])
        scope("paused")
    assert names(prof) == []
    with prof:
        scope("again")
    assert names(prof) == ["again"]


@pytest.mark.parametrize("make", [profile, _KinetoProfile])
def test_a_profile_refuses_to_be_pickled_while_it_records(make: Any) -> None:
    prof = make()
    prof.start()
    with pytest.raises(TypeError):
        pickle.dumps(prof)
    prof.stop()


def test_events_averages_and_scopes_pickle_and_copy() -> None:
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as prof, record_function("work", "args"):
        square() @ square()
    makers: list[Any] = [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy]
    for make in makers:
        found = make(prof.events())
        assert [event.name for event in found] == names(prof)
        assert [event.stack for event in found] == [event.stack for event in prof.events()]
        parents = [event.cpu_parent and event.cpu_parent.name for event in found]
        assert parents == [event.cpu_parent and event.cpu_parent.name for event in prof.events()]
        assert found.table() == prof.events().table()
        rows = make(prof.key_averages())
        assert {row.key: row.count for row in rows} == {key: row.count for key, row in averages(prof).items()}
        again = make(record_function("work", "args"))
        assert (again.name, again.args) == ("work", "args")
