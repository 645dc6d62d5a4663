"""The same programs under torch's execution trace observer and under ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import mindtorch_v2

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "crates/mindtorch/src/execution_trace/schemas.txt"


@pytest.mark.parametrize("line", SCHEMAS.read_text(encoding="utf-8").splitlines())
def test_a_signature_is_that_of_torch(line: str) -> None:
    name, _, overload = line.partition("(")[0].partition(".")
    assert str(torch._C._get_schema(name, overload)) == line


def test_every_operation_has_a_signature() -> None:
    listed = {line.partition("(")[0] for line in SCHEMAS.read_text(encoding="utf-8").splitlines()}
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "crates/mindtorch/src").rglob("*.rs"))
    names = re.findall(r'Op::new\(\s*"(aten::[^"]+)",\s*"([^"]*)"', sources)
    missing = [(name, overload) for name, overload in names if ".".join(filter(None, (name, overload))) not in listed]
    # The lines to add.
    assert [str(torch._C._get_schema(name, overload)) for name, overload in missing] == []


def nodes_of(package: Any, path: Path, program: Any) -> list[dict[str, Any]]:
    observer = package.profiler.ExecutionTraceObserver().register_callback(str(path))
    observer.start()
    try:
        program(package)
    finally:
        observer.stop()
        observer.unregister_callback()
    nodes: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    return nodes


def top_level(nodes: list[dict[str, Any]]) -> list[Any]:
    """Return what the program itself called, with numbers counted in the order of their appearance."""
    threads = {node["id"] for node in nodes if node["name"].endswith("thread]")}
    numbers: dict[int, int] = {}

    def renumbered(values: Any) -> Any:
        if not isinstance(values, list):
            return values
        if len(values) == 6 and isinstance(values[-1], str):
            return [numbers.setdefault(values[0], len(numbers)), *values[2:]]
        return [renumbered(value) for value in values]

    found = []
    for node in sorted((node for node in nodes if node["ctrl_deps"] in threads), key=lambda node: node["id"]):
        sides = [
            (renumbered(side["values"]), side["shapes"], side["types"], side["strides"])
            for side in (node["inputs"], node["outputs"])
        ]
        attributes = {attr["name"]: attr["value"] for attr in node["attrs"]}
        found.append((node["name"], sides, attributes["op_schema"], attributes["scope"]))
    return found


# What is made is kept: torch gives the number of a tensor that is gone to the next one in its place.
def products(package: Any) -> Any:
    a, b = package.ones(2, 3), package.ones(3, 4)
    product = package.matmul(a, b)
    return product, package.relu(product), package.mm(a, b)


def views(package: Any) -> Any:
    x = package.ones(2, 4)
    first, second = package.split(x, 2, 1)
    transposed = x.t()
    return package.add(first, second), package.cat([first, second], 1), transposed, transposed.transpose(0, 1)


def outputs(package: Any) -> Any:
    x = package.ones(2, 4)
    largest = package.max(x, 1)
    x.add_(x)
    x.zero_()
    with package.profiler.record_function("scope", "a text"):
        return largest, package.sub(x, x)


@pytest.mark.parametrize("program", [products, views, outputs], ids=lambda program: program.__name__)
def test_what_a_program_calls_is_the_same(program: Any, tmp_path: Path) -> None:
    # torch makes a tensor of ones with a device among its arguments, which ours has not.
    theirs, ours = (
        [node for node in top_level(nodes_of(package, tmp_path / package.__name__, program)) if node[0] != "aten::ones"]
        for package in (torch, mindtorch_v2)
    )
    assert ours == theirs


def test_torch_writes_names_that_are_not_json(tmp_path: Path) -> None:
    """Ours are: this is to notice when torch's are, too."""

    def program(package: Any) -> None:
        with package.profiler.record_function('say "hi"'):
            pass

    assert [node["name"] for node in nodes_of(mindtorch_v2, tmp_path / "ours", program)][1] == 'say "hi"'
    with pytest.raises(json.JSONDecodeError):
        nodes_of(torch, tmp_path / "theirs", program)
    assert re.search('"say "hi""', (tmp_path / "theirs").read_text(encoding="utf-8"))
