"""The threads of a loader's workers, and their end."""

from __future__ import annotations

import atexit
import copy
import queue
import threading
import weakref
from typing import TYPE_CHECKING, Any

from mindtorch_v2.utils.data.dataset import Dataset
from mindtorch_v2.utils.data.worker import Clock, Result, Task, Worker, WorkerInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2.utils.data.fetcher import Fetcher

_CLOSED = -1


class WorkerPool:
    """Threads that do tasks, each from a queue of its own, and put what becomes of them into one queue.

    Each has a shallow copy of the dataset, so that the attributes which ``init_fn`` sets on it are the worker's own.
    """

    def __init__(
        self,
        dataset: Any,
        num_workers: int,
        seed: int,
        make_fetcher: Callable[[Any], Fetcher],
        init_fn: Callable[[int], Any] | None,
    ) -> None:
        self.results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._clock = Clock()
        self._tasks: list[queue.SimpleQueue[Task | None]] = [queue.SimpleQueue() for _ in range(num_workers)]
        self._threads: list[threading.Thread] = []
        for number, tasks in enumerate(self._tasks):
            own = copy.copy(dataset) if isinstance(dataset, Dataset) else dataset
            info = WorkerInfo(number, num_workers, seed + number, own)
            worker = Worker(
                info,
                clock=self._clock,
                tasks=tasks,
                results=self.results,
                make_fetcher=make_fetcher,
                init_fn=init_fn,
            )
            thread = threading.Thread(target=worker.run, name=f"DataLoader worker {number}", daemon=True)
            thread.start()
            self._threads.append(thread)
        _pools.add(self)

    def begin_epoch(self) -> int:
        """Let go of the tasks so far, and return the number of the epoch that begins."""
        self._clock.epoch += 1
        return self._clock.epoch

    def send(self, worker: int, task: Task) -> None:
        """Have a worker do a task, after those that it has."""
        self._tasks[worker].put(task)

    def close(self) -> None:
        """Tell the workers to end, each as soon as it has done what it is doing."""
        self._clock.epoch = _CLOSED
        for tasks in self._tasks:
            tasks.put(None)

    def join(self, timeout: float | None = None) -> None:
        """Wait for workers that were told to end."""
        for thread in self._threads:
            thread.join(timeout)


_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """End the workers of loaders that live as long as the program, before Python itself is taken down."""
    pools = list(_pools)
    for pool in pools:
        pool.close()
    for pool in pools:
        pool.join(timeout=5)
