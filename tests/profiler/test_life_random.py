"""Programs made at random, whose nesting, counts and bytes are known before they run."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.profiler.support import averages, events, spans, torch, trace_of

from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from pathlib import Path

FLAGS: dict[str, Any] = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_flops": True}


class Node(NamedTuple):
    """A span with what is in it. A size above 0 is that of a tensor that it makes and keeps."""

    name: str
    size: int
    children: tuple[Node, ...]


def make(rng: random.Random, depth: int) -> Node:
    count = rng.randrange(4) if depth else 0
    size = rng.choice([0, 0, 8, 64])
    return Node(f"span {rng.randrange(5)}", size, tuple(make(rng, depth - 1) for _ in range(count)))


def run(node: Node, kept: list[Any]) -> None:
    with record_function(node.name):
        if node.size:
            kept.append(torch.empty(node.size))
        for child in node.children:
            run(child, kept)


def count(node: Node) -> Counter[str]:
    own = Counter({node.name: 1, "aten::empty": int(node.size > 0)})
    return sum((count(child) for child in node.children), own)


def size_of(node: Node) -> int:
    return 4 * node.size + sum(size_of(child) for child in node.children)


def shown(event: Any) -> Node:
    """Turn an annotation back into the node that it was made for."""
    inside = flat_children(event)
    made = [child for child in inside if child.name == "aten::empty"]
    size = sum(child.cpu_memory_usage for child in made) // 4
    return Node(event.name, size, tuple(shown(child) for child in inside if child.is_user_annotation))


def flat_children(event: Any) -> list[Any]:
    """Return the children, those inside of Python functions included."""
    found: list[Any] = []
    for child in event.cpu_children:
        found += flat_children(child) if child.is_python_function else [child]
    return found


def roots(prof: Any) -> list[Any]:
    found = [event for event in events(prof) if event.cpu_parent is None]
    return [each for event in found for each in (flat_children(event) if event.is_python_function else [event])]


@pytest.mark.parametrize("flags", [{"profile_memory": True}, FLAGS], ids=["memory", "all"])
@pytest.mark.parametrize("seed", range(8))
def test_a_random_program_is_shown_as_it_was(seed: int, flags: dict[str, Any], tmp_path: Path) -> None:
    program = make(random.Random(seed), 6)
    kept: list[Any] = []
    with profile(**flags) as prof:
        run(program, kept)
    root = next(event for event in roots(prof) if event.is_user_annotation)
    assert shown(root) == program
    wanted = +count(program)
    assert {key: row.count for key, row in averages(prof).items() if key != "[memory]"} == wanted
    written = Counter(span["name"] for span in spans(trace_of(prof, tmp_path), "cpu_op", "user_annotation"))
    assert written == wanted
    assert root.cpu_memory_usage == size_of(program)
    assert prof.key_averages().total_average().self_cpu_memory_usage == size_of(program)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_on_several_threads_do_not_mix(seed: int) -> None:
    programs = [make(random.Random(100 * seed + number), 5) for number in range(4)]
    kept: list[list[Any]] = [[] for _ in programs]
    barrier = threading.Barrier(len(programs))
    ids: dict[int, int] = {}

    def work(number: int) -> None:
        ids[threading.get_native_id()] = number
        barrier.wait()
        run(programs[number], kept[number])
        barrier.wait()

    with profile(**FLAGS) as prof:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(programs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = {ids[event["thread_id"]]: shown(event) for event in roots(prof) if event.is_user_annotation}
    assert found == dict(enumerate(programs))


@pytest.mark.parametrize("seed", range(4))
def test_times_of_a_random_program_add_up(seed: int) -> None:
    with profile(**FLAGS) as prof:
        run(make(random.Random(seed), 6), [])
    for event in events(prof):
        inside = sum(child["duration_ns"] for child in event.cpu_children)
        assert event.self_cpu_time_total * 1000 == pytest.approx(event["duration_ns"] - inside, abs=1)
    outer = sum(event.cpu_time_total for event in events(prof) if event.cpu_parent is None)
    assert prof.events().self_cpu_time_total == pytest.approx(outer)
    rows = prof.key_averages(include_python_functions=True)
    assert rows.self_cpu_time_total == pytest.approx(outer)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_graph_links_each_backward_node_to_the_op_that_made_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    ops: dict[str, tuple[str, Any]] = {
        "aten::mul": ("MulBackward0", lambda value: value * value),
        "aten::exp": ("ExpBackward0", lambda value: value.exp()),
        "aten::sin": ("SinBackward0", lambda value: value.sin()),
        "aten::neg": ("NegBackward0", lambda value: -value),
    }
    chosen = [rng.choice(list(ops)) for _ in range(12)]
    with profile() as prof:
        value = torch.ones(3, requires_grad=True)
        noise = torch.ones(3)
        for name in chosen:
            value = ops[name][1](value)
            ops[rng.choice(list(ops))][1](noise)
        value.sum().backward()
    trace = trace_of(prof, tmp_path)
    ends: dict[int, dict[str, str]] = {}
    for number, entry in enumerate(trace["traceEvents"]):
        if entry["ph"] in "sf":
            owner = next(each for each in reversed(trace["traceEvents"][:number]) if each["ph"] == "X")
            ends.setdefault(entry["id"], {})[entry["ph"]] = owner["name"]
    pairs = [(end["s"], end["f"]) for _, end in sorted(ends.items())]
    backward = [(name, ops[name][0]) for name in reversed(chosen)]
    assert pairs == [("aten::sum", "SumBackward0"), *backward]
