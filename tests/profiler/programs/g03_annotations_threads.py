"""Annotations in annotations, as a context and as a decorator, on several threads."""

from __future__ import annotations

import threading
from typing import Any


def run(torch: Any, *, all_threads: bool) -> Any:
    record_function = torch.profiler.record_function

    @record_function("decorated")  # type: ignore[untyped-decorator]
    def decorated(x: Any) -> Any:
        return x + 1

    def body() -> None:
        x = torch.ones(4, 4)
        with record_function("outer"):
            with record_function("inner", "some args"):
                x = x @ x
            with record_function("inner"):
                x = decorated(x)

    def worker(number: int) -> None:
        with record_function(f"worker{number}"):
            body()

    config = torch.profiler._ExperimentalConfig(profile_all_threads=True) if all_threads else None
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, experimental_config=config) as prof:
        body()
        for number in range(2):
            thread = threading.Thread(target=worker, args=(number,))
            thread.start()
            thread.join()
    return prof
