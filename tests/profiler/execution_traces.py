"""Execution traces for tests: making one, reading it strictly, and what holds for all of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.profiler.support import read_json

from mindtorch_v2.profiler import ExecutionTraceObserver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTRIBUTES = {
    "rf_id": "uint64",
    "fw_parent": "uint64",
    "seq_id": "int64",
    "scope": "uint64",
    "tid": "uint64",
    "fw_tid": "uint64",
    "op_schema": "string",
    "kernel_backend": "string",
    "kernel_file": "string",
    "tensor_range": "string",
}
PROCESS, THREAD = "[pytorch|profiler|execution_trace|process]", "[pytorch|profiler|execution_trace|thread]"
TENSOR_FIELDS = 6


class Nodes(list[dict[str, Any]]):
    """The nodes of a file that was written while a block ran; empty until the block is left."""

    def named(self, name: str) -> list[dict[str, Any]]:
        return [node for node in self if node["name"] == name]

    def one(self, name: str) -> dict[str, Any]:
        (node,) = self.named(name)
        return node

    def parent(self, node: dict[str, Any]) -> dict[str, Any]:
        (parent,) = (other for other in self if other["id"] == node["ctrl_deps"])
        return parent

    def names(self) -> list[str]:
        """Return the names of what the program did, in the order of its beginning."""
        found = [node for node in self if node["name"] not in {PROCESS, THREAD}]
        return [node["name"] for node in sorted(found, key=lambda node: node["id"])]


@contextmanager
def observed(path: Path) -> Iterator[Nodes]:
    """Write an execution trace of a block."""
    nodes = Nodes()
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    try:
        yield nodes
    finally:
        observer.unregister_callback()
    nodes.extend(nodes_of(path))


def nodes_of(path: Path) -> Nodes:
    """Read a file and check what must hold for every file."""
    trace = read_json(path)
    assert list(trace) == ["schema", "pid", "time", "start_ts", "nodes", "finish_ts"]
    assert trace["schema"] == "1.1.1-chakra.0.0.4"
    assert 0 < trace["start_ts"] <= trace["finish_ts"]
    nodes = Nodes(trace["nodes"])
    by_id = {node["id"]: node for node in nodes}
    assert len(by_id) == len(nodes), "a number was given twice"
    values = set()
    for node in nodes:
        assert list(node) == ["id", "name", "ctrl_deps", "inputs", "outputs", "attrs"]
        assert {attr["name"]: attr["type"] for attr in node["attrs"]} == ATTRIBUTES
        assert node["ctrl_deps"] in by_id, f"{node['name']} is part of something that is not there"
        assert node["id"] > node["ctrl_deps"] or node["name"] == PROCESS
        for side in ("inputs", "outputs"):
            lists = node[side]
            assert list(lists) == ["values", "shapes", "types", "strides"]
            assert len({len(texts) for texts in lists.values()}) == 1
            values |= {number for tensor in tensors(lists) for number in tensor[:2]}
    assert not values & set(by_id), "a tensor has the number of a node"
    (process,) = nodes.named(PROCESS)
    assert (process["id"], process["ctrl_deps"]) == (1, 1)
    return nodes


def tensors(lists: dict[str, Any]) -> list[list[Any]]:
    """Return the tensors among inputs or outputs, those in lists too."""
    found = []
    for value, kind in zip(lists["values"], lists["types"], strict=True):
        if kind.startswith("Tensor("):
            found.append(value)
        elif kind.startswith("GenericList[Tensor("):
            found.extend(value)
    assert all(len(tensor) == TENSOR_FIELDS for tensor in found)
    return found


def attribute(node: dict[str, Any], name: str) -> Any:
    """Return an attribute of a node."""
    (value,) = (attr["value"] for attr in node["attrs"] if attr["name"] == name)
    return value
