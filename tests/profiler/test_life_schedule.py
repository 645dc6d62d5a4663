"""Schedules: which step does what, what the handler sees of it, and what is said of odd ones."""

from __future__ import annotations

import itertools
import json
import pathlib
import pickle
from typing import Any

import pytest
from tests.profiler.support import CYCLES_CLEAR_EVENTS, NO_WARMUP, events, names, scope, scopes, square, torch

from mindtorch_v2.profiler import ProfilerAction, profile, record_function, schedule

GOLDENS = pathlib.Path(__file__).parents[1] / "data" / "goldens" / "g06_schedule"
TRUTH = json.loads((GOLDENS / "schedule_truth.json").read_text(encoding="utf-8"))
LOG = json.loads((GOLDENS / "log.json").read_text(encoding="utf-8"))

NONE, WARMUP, RECORD, SAVE = (
    ProfilerAction.NONE,
    ProfilerAction.WARMUP,
    ProfilerAction.RECORD,
    ProfilerAction.RECORD_AND_SAVE,
)

pytestmark = pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS)


@pytest.mark.filterwarnings(NO_WARMUP)
@pytest.mark.parametrize("arguments", TRUTH, ids=str)
def test_the_actions_of_torchs_schedules(arguments: str) -> None:
    made = schedule(**json.loads(arguments))
    assert [made(step).name for step in range(20)] == TRUTH[arguments]["actions"]


def test_no_warmup_is_warned_of_each_time() -> None:
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="Profiler won't be using warmup, this can skew profiler results"
        ) as warned:
            schedule(wait=1, warmup=0, active=1)
        assert len(warned) == 1
        assert warned[0].filename == __file__


def test_arguments_are_keywords_and_three_are_needed() -> None:
    with pytest.raises(TypeError):
        schedule(1, 1, 1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        schedule(wait=1, warmup=1)  # type: ignore[call-arg]


def test_the_log_of_torchs_run_with_a_schedule() -> None:
    log: list[dict[str, Any]] = []

    def ready(prof: Any) -> None:
        found = [event for event in prof.events() if event.trace_name != "aten::resolve_conj"]
        rows = [row for row in prof.key_averages() if row.key != "aten::resolve_conj"]
        log.append(
            {
                "what": "ready",
                "step_num": prof.step_num,
                "current_action": prof.current_action.name,
                "is_self": prof is made,
                "names": [event.trace_name for event in found],
                "keys": [[row.key, row.count] for row in rows],
                "trace_id_len": len(prof.get_trace_id()),
            }
        )

    matrix = torch.ones(8, 8)
    made = profile(activities=["CPU"], schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready)
    with made:
        for number in range(12):
            action = made.current_action.name
            log.append({"what": "iter", "i": number, "step_num": made.step_num, "action": action})
            with record_function(f"iter{number}"):
                matrix @ matrix
            made.step()
    left = [event.trace_name for event in made.events() if event.trace_name != "aten::resolve_conj"]
    log.append(
        {
            "what": "end",
            "step_num": made.step_num,
            "action": made.current_action.name,
            "profiler_set": made.profiler is not None,
            "events_after": left,
        }
    )
    assert log == [without_resolve_conj(entry) for entry in LOG if entry["what"] != "warnings"]


def without_resolve_conj(entry: dict[str, Any]) -> dict[str, Any]:
    """Leave out a step that only torch takes."""
    kept = dict(entry)
    for key in ("names", "events_after"):
        if key in kept:
            kept[key] = [name for name in kept[key] if name != "aten::resolve_conj"]
    if "keys" in kept:
        kept["keys"] = [row for row in kept["keys"] if row[0] != "aten::resolve_conj"]
    return kept


def run(actions: list[ProfilerAction], **options: Any) -> tuple[Any, list[list[str]]]:
    """Take a step for each action and one more; return the profile and what its handler saw."""
    seen: list[list[str]] = []
    with profile(
        schedule=lambda step: actions[step] if step < len(actions) else NONE,
        on_trace_ready=lambda prof: seen.append([name for name in scopes(prof) if not name.startswith("Profiler")]),
        **options,
    ) as prof:
        for number in range(len(actions)):
            scope(f"{number}")
            prof.step()
    return prof, seen


@pytest.mark.parametrize(
    ("actions", "seen"),
    [
        ([SAVE, SAVE, SAVE], [["0"], ["1"], ["2"]]),
        ([RECORD, SAVE, NONE, SAVE], [["0", "1"], ["3"]]),
        ([WARMUP, WARMUP, RECORD, SAVE], [["2", "3"]]),
        ([SAVE, WARMUP, SAVE, NONE, RECORD, SAVE], [["0"], ["2"], ["4", "5"]]),
        ([NONE, NONE], []),
    ],
    ids=str,
)
def test_each_save_is_one_recording(actions: list[ProfilerAction], seen: list[list[str]]) -> None:
    assert run(actions)[1] == seen


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([WARMUP, NONE], "Incorrect schedule: WARMUP followed by NONE"),
        ([RECORD, NONE], "Incorrect schedule: RECORD followed by NONE"),
        ([RECORD, WARMUP, SAVE], "Incorrect schedule: RECORD followed by WARMUP"),
    ],
    ids=str,
)
def test_an_incorrect_schedule_is_warned_of(actions: list[ProfilerAction], message: str) -> None:
    with pytest.warns(UserWarning, match=message) as warned:
        _, seen = run(actions)
    assert [str(warning.message) for warning in warned] == [message]
    assert seen == ([["2"]] if SAVE in actions else [])


def test_leaving_in_record_calls_the_handler() -> None:
    calls: list[list[str]] = []
    with profile(schedule=lambda _: RECORD, on_trace_ready=lambda prof: calls.append(scopes(prof))) as prof:
        scope("a")
        prof.step()
        scope("b")
    assert calls == [["ProfilerStep#0", "a", "ProfilerStep#1", "b"]]


def test_leaving_before_anything_was_recorded_leaves_nothing_to_ask_for() -> None:
    with profile(schedule=lambda _: NONE) as prof:
        scope("a")
    assert prof.profiler is None
    with pytest.raises(AssertionError, match="Profiler must be initialized before accessing events"):
        prof.events()


def test_without_a_schedule_every_step_is_recorded_and_has_no_span() -> None:
    with profile() as prof:
        scope("a")
        prof.step()
        scope("b")
    assert names(prof) == ["a", "b"]
    assert prof.schedule(1000) is RECORD
    assert not prof.record_steps


def test_each_step_is_a_span_around_its_work() -> None:
    with profile(schedule=lambda _: RECORD) as prof:
        for _ in range(3):
            square()
            prof.step()
    steps = [event for event in events(prof) if event.name == "ProfilerStep*"]
    assert [step.trace_name for step in steps] == [f"ProfilerStep#{number}" for number in range(4)]
    assert [[child.name for child in step.cpu_children] for step in steps] == [["aten::ones"]] * 3 + [[]]
    assert [step["step"] for step in steps] == [0, 1, 2, 3]
    assert [step["end_ns"] <= after["start_ns"] for step, after in itertools.pairwise(steps)] == [True] * 3


def test_the_steps_of_one_profile_are_not_in_another() -> None:
    with profile() as plain, profile(schedule=lambda _: RECORD) as stepping:
        scope("a")
        stepping.step()
        plain.step()
        scope("b")
    assert names(plain) == ["a", "b"]
    assert scopes(stepping) == ["ProfilerStep#0", "a", "ProfilerStep#1", "b"]
    assert [event["step"] for event in events(plain)] == [0, 1]


def test_a_later_start_continues_from_the_step_it_stopped_at() -> None:
    prof = profile(schedule=lambda _: RECORD)
    for _ in range(2):
        with prof:
            prof.step()
            prof.step()
    assert prof.step_num == 4
    assert scopes(prof) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]


def test_device_stopped_may_not_come_from_a_schedule() -> None:
    words = "DEVICE_STOPPED is set internally by the profiler"
    with pytest.raises(ValueError, match=words):
        profile(schedule=lambda _: ProfilerAction.DEVICE_STOPPED)
    prof = profile(schedule=lambda step: ProfilerAction.DEVICE_STOPPED if step else RECORD)
    with prof:
        with pytest.raises(ValueError, match=words):
            prof.step()
        assert (prof.step_num, prof.current_action) == (0, RECORD)


def test_the_schedule_is_asked_at_construction_and_once_a_step() -> None:
    asked: list[int] = []

    def counted(step: int) -> ProfilerAction:
        asked.append(step)
        return RECORD

    prof = profile(schedule=counted)
    assert asked == [0]
    with prof:
        prof.step()
        prof.step()
    assert asked[:3] == [0, 1, 2]


def test_actions_pickle_and_have_torchs_values() -> None:
    assert {action.name: action.value for action in ProfilerAction} == {
        "NONE": 0,
        "WARMUP": 1,
        "RECORD": 2,
        "RECORD_AND_SAVE": 3,
        "DEVICE_STOPPED": 4,
    }
    assert pickle.loads(pickle.dumps(RECORD)) is RECORD
