"""Trace files that are nested very deep, as no program writes them: reading them does not overflow the stack."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2.profiler import Trace

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = 100_000
SMALL_STACK = 2 << 20


def on_a_small_stack(work: Any) -> Any:
    """Call it on a thread with a stack of 2 MiB, and return what it returns."""
    results: list[Any] = []
    before = threading.stack_size(SMALL_STACK)
    try:
        thread = threading.Thread(target=lambda: results.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return results[0]


def load(path: Path, events: list[dict[str, Any]]) -> Trace:
    path.write_text(json.dumps({"traceEvents": events}))
    return Trace.load(path)


def event(name: str, start: int, duration: int, category: str = "cpu_op", **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": args}


@pytest.mark.parametrize("category", ["cpu_op", "python_function"])
def test_deeply_nested_spans_are_read(category: str, tmp_path: Path) -> None:
    def nested(level: int) -> dict[str, Any]:
        arguments: dict[str, Any] = {"Python id": level + 1, "Python parent id": level or None}
        return event(f"f{level % 7}", level, 2 * (LEVELS - level), category, **arguments)

    events = [nested(level) for level in range(LEVELS)]

    def depth() -> int:
        trace = load(tmp_path / "deep.json", events)
        assert sum(row.count for row in trace.key_averages(group_by_stack_n=5)) >= 0
        spans = trace.events()
        roots = [span for span in spans if span.cpu_parent is None]
        levels = 0
        while roots:
            levels += 1
            assert repr(roots[0])
            roots = list(roots[0].cpu_children)
        return levels

    assert on_a_small_stack(depth) == LEVELS


def test_values_with_deeply_nested_lists_are_read(tmp_path: Path) -> None:
    text = "[" * LEVELS + "]" * LEVELS
    arguments: dict[str, Any] = {
        "Input Dims": [[], []],
        "Input type": ["ScalarList"] * 2,
        "Concrete Inputs": [text, "[1, 2]"],
    }
    trace = load(tmp_path / "values.json", [event("aten::add", 1, 5, **arguments)])
    nested, plain = on_a_small_stack(lambda: trace.events()[0].concrete_inputs)
    assert plain == [1, 2]
    depth = 0
    while nested != [None]:
        (nested,) = nested
        depth += 1
    # The depth to which inputs are kept.
    assert depth + 1 == 16
