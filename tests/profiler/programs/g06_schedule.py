"""A schedule of two cycles: what the handler sees, and what is there between and after."""

from __future__ import annotations

import warnings
from typing import Any

SCHEDULES: list[dict[str, int]] = [
    {"wait": 1, "warmup": 1, "active": 2},
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 2},
    {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3},
    {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3, "skip_first_wait": 1},
    {"wait": 0, "warmup": 0, "active": 1, "repeat": 2},
    {"wait": 3, "warmup": 0, "active": 2, "repeat": 1, "skip_first_wait": 5},
]


def run(torch: Any) -> list[dict[str, Any]]:
    """The log of two cycles, as the golden has it but for the warnings."""
    log: list[dict[str, Any]] = []

    def ready(prof: Any) -> None:
        seen = {"step_num": prof.step_num, "current_action": prof.current_action.name, "is_self": prof is profiler}
        names = [event.trace_name for event in prof.events()]
        keys = [[row.key, row.count] for row in prof.key_averages()]
        log.append({"what": "ready", **seen, "names": names, "keys": keys, "trace_id_len": len(prof.get_trace_id())})

    a = torch.ones(8, 8)
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=ready,
    )
    with profiler:
        for i in range(12):
            log.append({"what": "iter", "i": i, "step_num": profiler.step_num, "action": profiler.current_action.name})
            with torch.profiler.record_function(f"iter{i}"):
                torch.matmul(a, a)
            profiler.step()
    end = {"what": "end", "step_num": profiler.step_num, "action": profiler.current_action.name}
    is_set = profiler.profiler is not None
    return [*log, {**end, "profiler_set": is_set, "events_after": [event.trace_name for event in profiler.events()]}]


def run_accumulating(torch: Any) -> list[dict[str, Any]]:
    """What each cycle of three sees with `acc_events`."""
    seen: list[dict[str, Any]] = []

    def ready(prof: Any) -> None:
        names = [event.trace_name for event in prof.events()]
        seen.append({"n_events": len(names), "names": names})

    a = torch.ones(8, 8)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=3),
        on_trace_ready=ready,
        acc_events=True,
    ) as prof:
        for _ in range(8):
            torch.matmul(a, a)
            prof.step()
    return seen


def truth(torch: Any, options: dict[str, int]) -> dict[str, list[str]]:
    """What a schedule says of the first twenty steps, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = torch.profiler.schedule(**options)
    said = [str(warning.message) for warning in caught]
    return {"actions": [chosen(step).name for step in range(20)], "warnings": said}
