"""What it costs to have the library: the time of its imports, and its size on the disk.

Imports are timed in new processes, in turns, from files that the system has in memory. Sizes are those of what is
installed, without what it depends on.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from benches.costs.figure import Figure, Row
from benches.costs.library import MODULES
from benches.costs.machine import wheel_origin
from benches.costs.worker import order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.costs.effort import Effort

SECTION = "importing and installing"
TIMED = "import time; start = time.perf_counter_ns(); import {}; print(time.perf_counter_ns() - start)"
PACKAGES = {"ours": "mindtorch-v2", "torch": "torch"}


def rows(effort: Effort) -> Iterator[Row]:
    """Yield times and sizes."""
    effort.say(SECTION)
    for what, suffix in {"import of the package": "", "import of its profiler, with the package": ".profiler"}.items():
        names = {side: module + suffix for side, module in MODULES.items()}
        for name in names.values():
            import_time(name)
        times: dict[str, list[float]] = {side: [] for side in names}
        for number in range(effort.rounds(full=9, quick=3)):
            for side in order(number):
                times[side].append(import_time(names[side]))
        yield Row.of(SECTION, what, "ns", times)
    ours, theirs = (Figure.exact(installed(package)) for package in PACKAGES.values())
    yield Row(SECTION, "size installed", "B", ours, theirs)
    wheel = Path(unquote(urlparse(wheel_origin().get("url", "")).path))
    if wheel.suffix == ".whl" and wheel.exists():
        # What PyTorch's was is not known once it is installed.
        yield Row(SECTION, "size of the wheel", "B", Figure.exact(wheel.stat().st_size))


def import_time(module: str) -> int:
    """Return how long the import takes in a new process."""
    command = [sys.executable, "-c", TIMED.format(module)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def installed(package: str) -> int:
    """Return the bytes of a package's files."""
    return sum(file.size or 0 for file in metadata.files(package) or ())
