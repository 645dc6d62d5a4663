"""Measure, print one table, and keep the figures: ``python -m benches.costs``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benches.costs import (
    accuracy,
    added,
    answers,
    bridge,
    engine,
    files,
    imports,
    lifecycle,
    machine,
    merging,
    page,
    recordings,
    scopes,
    table,
)
from benches.costs.effort import Effort
from benches.costs.library import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benches.costs.figure import Row

OUTPUT = Path("bench-output", "costs.json")
SECTIONS: dict[str, Callable[[Effort], Iterable[Row]]] = {
    "operators": added.operator_rows,
    "training": added.training_rows,
    "scopes": scopes.rows,
    "lifecycle": lifecycle.rows,
    "accuracy": accuracy.rows,
    "recordings": recordings.rows,
    "files": files.rows,
    "imports": imports.rows,
    "bridge": bridge.rows,
    "summary": answers.summary_rows,
    "diff": answers.diff_rows,
    "merge": merging.rows,
    "report": page.rows,
}


def main() -> int:
    """Run every section; one that fails is reported, and the others go on."""
    options = arguments()
    if missing := [module for module in MODULES.values() if find_spec(module) is None]:
        sys.exit(f"{' and '.join(missing)} is missing from {sys.executable}: run it with .venv-torch/bin/python")
    effort = Effort(options.quick)
    about = machine.describe()
    rows: list[Row] = []
    failures = [name for name in options.only if not run(SECTIONS[name], effort, rows)]
    if options.engine:
        rows += engine.rows(options.engine)
    about["load"] += f" to {os.getloadavg()[0]:.2f}"
    effort.say("done")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    data = {"machine": about, "quick": options.quick, "rows": [row.data() for row in rows]}
    options.out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print("\n".join(f"{name}: {value}" for name, value in about.items()), end="\n\n")
    print(table.markdown(rows) if options.markdown else table.text(rows))
    return 1 if failures else 0


def run(section: Callable[[Effort], Iterable[Row]], effort: Effort, rows: list[Row]) -> bool:
    """Add a section's rows to the others; if it fails, say why and return false."""
    try:
        rows += section(effort)
    except (RuntimeError, OSError):
        traceback.print_exc()
        return False
    return True


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benches.costs", description=sys.modules["benches.costs"].__doc__)
    parser.add_argument("--quick", action="store_true", help="a rough look, in six minutes")
    parser.add_argument("--only", metavar="SECTION", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--engine", metavar="FILE", type=Path, help="what the Rust benchmark has written")
    parser.add_argument("--out", metavar="FILE", type=Path, default=OUTPUT, help=f"for the figures; default {OUTPUT}")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
