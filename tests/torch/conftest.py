"""One program of annotations, to be run under torch's profiler and under ours."""

from __future__ import annotations

import functools
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

import mindtorch_v2.profiler as ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def program(record_function: Callable[[str], Any]) -> None:
    """Nest, repeat and decorate annotations, on the main thread and on three others. No name is inside itself."""

    @record_function("decorated")
    def decorated(depth: int) -> int:
        with record_function("inside decorated"):
            return depth

    def work(label: str) -> None:
        for number in range(5):
            with record_function(f"{label} outer"):
                for _ in range(number):
                    with record_function(f"{label} inner"):
                        decorated(number)
                with record_function(f"{label} inner"), record_function(f"{label} innermost"):
                    sum(range(100))

    work("main")
    for number in range(3):
        thread = threading.Thread(target=functools.partial(work, f"thread {number}"))
        thread.start()
        thread.join()
    reused = record_function("reused")
    for _ in range(3):
        with reused, record_function("a rather long name, longer than the widest column that a table has"):
            pass


@pytest.fixture(scope="session")
def torch_profile() -> torch.profiler.profile:
    every_thread = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, experimental_config=every_thread) as prof:
        program(torch.profiler.record_function)
    return prof


@pytest.fixture(scope="session")
def record_ours() -> Callable[[], ours.profile]:
    def record() -> ours.profile:
        with ours.profile() as prof:
            program(ours.record_function)
        return prof

    return record


@pytest.fixture(scope="session")
def our_profile(record_ours: Callable[[], ours.profile]) -> ours.profile:
    return record_ours()


@pytest.fixture(scope="session")
def torch_trace(torch_profile: torch.profiler.profile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return exported(torch_profile, tmp_path_factory.mktemp("torch"))


@pytest.fixture(scope="session")
def our_trace(our_profile: ours.profile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return exported(our_profile, tmp_path_factory.mktemp("ours"))


def exported(prof: Any, directory: Path) -> dict[str, Any]:
    path = directory / "trace.json"
    prof.export_chrome_trace(str(path))
    return json.loads(path.read_text(encoding="utf-8"))
