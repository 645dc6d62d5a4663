"""Stores torch's results for every case, for the tests that run without torch: `python -m tests.ops.store`."""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

from tests.ops import index_programs, indexing, outcome, promotion
from tests.ops.compare import decode, encode
from tests.ops.database import GROUPS
from tests.ops.op import Case, cases

FOLDER = Path(__file__).parent / "stored"


def record(lib: Any, case: Case) -> dict[str, Any]:
    """What there is to know about a case. The in-place form is left out where it gives the same result."""
    result = next(iter(outcome.results(lib, case).values()))
    entry: dict[str, Any] = {"result": encode(result)}
    if case.differentiable:
        entry["gradients"] = encode(outcome.gradients(lib, case))
    if case.op.view:
        entry["layouts"] = next(iter(outcome.layouts(lib, case).values()))
    if case.inplace and (changed := encode(outcome.inplace(lib, case))) != entry["result"]:
        entry["inplace"] = changed
    return entry


def encoded(entry: dict[str, Any]) -> dict[str, Any]:
    return {field: encode(value) for field, value in entry.items()}


def write(name: str, entries: dict[str, Any]) -> None:
    """One line an entry, so that a change shows what changed."""
    lines = [f"{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'))}" for key, entry in entries.items()]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read(name: str) -> dict[str, Any]:
    entries = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {key: {field: decode(value) for field, value in entry.items()} for key, entry in entries.items()}


def main() -> None:
    torch = importlib.import_module("torch")
    warnings.simplefilter("ignore")
    for name, ops in GROUPS.items():
        write(name, {str(case): record(torch, case) for case in cases(ops)})
    indices = {str(case): encoded(indexing.outcome(torch, case)) for case in indexing.INDICES}
    programs = {
        program.__name__: {"outcome": encode(index_programs.outcome(torch, program))}
        for program in index_programs.PROGRAMS
    }
    write("indexing", indices | programs)
    write("promotion", {str(table): table.fill(torch) for table in promotion.TABLES})


if __name__ == "__main__":
    main()
