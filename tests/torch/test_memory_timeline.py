"""The memory timelines of one program under torch's profiler and under ours.

What is there before, what is left in the end, and the most that there is of each category are compared, in bytes. What
differs on purpose has a row in docs/differences.md.
"""

from __future__ import annotations

import functools
import gc
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.profiler import differences
from tests.profiler.programs.memory import PROGRAMS

import mindtorch_v2

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.export_memory_timeline. is deprecated:FutureWarning")

# In the order of the files.
CATEGORIES = (
    "PARAMETER",
    "OPTIMIZER_STATE",
    "INPUT",
    "TEMPORARY",
    "ACTIVATION",
    "GRADIENT",
    "AUTOGRAD_DETAIL",
    "UNKNOWN",
)
MEANT = differences.names("Memory timeline")

Sizes = list[list[int]]


def profile(library: Any) -> Any:
    activities = [library.profiler.ProfilerActivity.CPU]
    return library.profiler.profile(activities=activities, record_shapes=True, profile_memory=True, with_stack=True)


def sizes(prof: Any, directory: Path) -> Sizes:
    """What there was of each category, first before the recording and then after each change.

    Of the raw form: in the plain one, what happens within a microsecond is one change, and that is a matter of luck.
    """
    path = directory / "timeline.raw.json.gz"
    prof.export_memory_timeline(str(path), "cpu")
    rows = [[0] * len(CATEGORIES)]
    for time, _, change, category in json.loads(gzip.decompress(path.read_bytes())):
        row = rows[-1] if time == -1 else rows[-1].copy()
        row[category] += change
        if time != -1:
            rows.append(row)
    return rows


def recorded(library: Any, name: str, directory: Path) -> Sizes:
    """The sizes of a program. What other tests have left in memory is not its: ours sees it, torch does not."""
    gc.collect()
    with profile(library) as nothing:
        pass
    others = sizes(nothing, directory)[-1]
    run = PROGRAMS[name](library)
    with profile(library) as prof:
        kept = run()
    rows = [[size - other for size, other in zip(row, others, strict=True)] for row in sizes(prof, directory)]
    del kept
    return rows


@functools.cache
def both(name: str, directory: Path) -> tuple[Sizes, Sizes]:
    return recorded(torch, name, directory), recorded(mindtorch_v2, name, directory)


def peaks(rows: Sizes) -> dict[str, int]:
    return {category: max(row[at] for row in rows) for at, category in enumerate(CATEGORIES)}


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("timelines")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_beginning_and_the_end_are_the_same(name: str, directory: Path) -> None:
    theirs, ours = both(name, directory)
    assert ours[-1] == theirs[-1]
    assert ours[0] == theirs[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_there_is_as_much_of_each_category(name: str, directory: Path) -> None:
    theirs, ours = (peaks(rows) for rows in both(name, directory))
    differing = {category for category in CATEGORIES if theirs[category] != ours[category]}
    meant = {category for category in CATEGORIES if f"{name} {category}" in MEANT}
    assert differing == meant, (theirs, ours)


def test_no_difference_is_about_another_program() -> None:
    assert frozenset(f"{name} {category}" for name in PROGRAMS for category in CATEGORIES) >= MEANT
