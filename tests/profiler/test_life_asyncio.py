"""Trees of tasks made at random, with and without stacks: whose an op is, and that times still add up."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import pytest
from tests.profiler.support import events, named, square, torch

from mindtorch_v2.profiler import profile, record_function

STACKS = pytest.mark.parametrize("with_stack", [False, True], ids=["plain", "with stacks"])
SEEDS = pytest.mark.parametrize("seed", range(4))


def recorded(seed: int, with_stack: bool) -> Any:
    """Record tasks that start others and wait in turns; each has one exp, inside of a scope with the task's name."""
    rng = random.Random(seed)
    matrix = square()
    made = 0

    async def task(depth: int) -> None:
        nonlocal made
        made += 1
        name = f"task {made}"
        with record_function(name):
            for _ in range(rng.randrange(3)):
                await asyncio.sleep(0)
            if depth:
                await asyncio.gather(*[task(depth - 1) for _ in range(rng.randrange(3))])
            with record_function(f"{name} inside"):
                await asyncio.sleep(0)
                torch.exp(matrix)

    async def main() -> None:
        await asyncio.gather(*[task(3) for _ in range(4)])

    with profile(with_stack=with_stack) as prof:
        asyncio.run(main())
    assert len(named(prof, "aten::exp")) == made
    return prof


def annotations_around(event: Any) -> list[str]:
    found = []
    while event.cpu_parent is not None:
        event = event.cpu_parent
        if event.is_user_annotation:
            found.append(event.name)
    return found


@STACKS
@SEEDS
def test_an_op_belongs_to_the_scopes_of_its_task(seed: int, with_stack: bool) -> None:
    around = [annotations_around(event)[:2] for event in named(recorded(seed, with_stack), "aten::exp")]
    owners = [names[-1] if names else "nobody" for names in around]
    assert around == [[f"{owner} inside", owner] for owner in owners]
    assert len(set(owners)) == len(owners)


@STACKS
@SEEDS
def test_every_event_lies_inside_its_parent_and_no_self_time_is_negative(seed: int, with_stack: bool) -> None:
    for event in events(recorded(seed, with_stack)):
        assert event.self_cpu_time_total > -0.001
        if event.cpu_parent is not None:
            assert event.cpu_parent["start_ns"] <= event["start_ns"]
            assert event["end_ns"] <= event.cpu_parent["end_ns"]


@STACKS
@SEEDS
def test_no_percentage_of_the_table_is_above_100(seed: int, with_stack: bool) -> None:
    table = recorded(seed, with_stack).key_averages().table(row_limit=-1)
    shares = [float(share) for share in re.findall(r"(-?\d+\.\d+)%", table)]
    assert max(shares) <= 100.01
    assert min(shares) >= 0
