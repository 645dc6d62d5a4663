"""Workers: what runs in the threads that fetch batches ahead of their use."""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mindtorch_v2.utils.data.fetcher import Exhausted

if TYPE_CHECKING:
    import queue
    from collections.abc import Callable

    from mindtorch_v2.utils.data.fetcher import Fetcher

__all__ = ["WorkerInfo", "get_worker_info"]

_local = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, and its own copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Return the WorkerInfo of the worker that calls, or None outside of workers."""
    return getattr(_local, "info", None)


class Failure(NamedTuple):
    """An exception that a worker met."""

    error: BaseException
    worker: int

    def rebuilt(self) -> BaseException:
        """Return an exception of the same type, whose message has the worker's traceback."""
        kind = type(self.error)
        trace = "".join(traceback.format_exception(kind, self.error, self.error.__traceback__))
        text = f"Caught {kind.__name__} in DataLoader worker thread {self.worker}.\nOriginal {trace}"
        if issubclass(kind, StopIteration):
            # Would end the loop over the loader as though all were well.
            return RuntimeError(text)
        try:
            return kind(_Text(text))
        except Exception:
            # It takes other arguments than a text.
            return RuntimeError(text)


class _Text(str):
    """A text that is its own repr, which is what a KeyError shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Task(NamedTuple):
    """A batch to be fetched."""

    epoch: int
    number: int
    index: Any


class Result(NamedTuple):
    """What became of a task: a batch, a failure, or that the worker's dataset has no more."""

    task: Task
    worker: int
    batch: Any = None
    failure: Failure | None = None
    ended: bool = False


class Clock:
    """The present epoch, which workers look at to leave out tasks of the past."""

    epoch = 0


class Worker:
    """Does tasks, in their order, until it is given None."""

    def __init__(
        self,
        info: WorkerInfo,
        *,
        clock: Clock,
        tasks: queue.SimpleQueue[Task | None],
        results: queue.SimpleQueue[Result],
        make_fetcher: Callable[[Any], Fetcher],
        init_fn: Callable[[int], Any] | None,
    ) -> None:
        self._info = info
        self._clock = clock
        self._tasks = tasks
        self._results = results
        self._make_fetcher = make_fetcher
        self._init_fn = init_fn
        self._init_failure: Failure | None = None
        self._fetcher: Fetcher | None = None
        self._epoch = 0

    def run(self) -> None:
        """Work in this thread."""
        _local.info = self._info
        try:
            if self._init_fn is not None:
                self._init_fn(self._info.id)
        except BaseException as error:  # it is the consumer's to handle
            self._init_failure = Failure(error, self._info.id)
        while (task := self._tasks.get()) is not None:
            if task.epoch == self._clock.epoch:
                self._results.put(self._do(task))

    def _do(self, task: Task) -> Result:
        if self._init_failure is not None:
            return Result(task, self._info.id, failure=self._init_failure)
        try:
            if self._fetcher is None or task.epoch != self._epoch:
                self._fetcher = self._make_fetcher(self._info.dataset)
                self._epoch = task.epoch
            return Result(task, self._info.id, batch=self._fetcher(task.index))
        except Exhausted:
            return Result(task, self._info.id, ended=True)
        except BaseException as error:  # it is the consumer's to handle
            return Result(task, self._info.id, failure=Failure(error, self._info.id))
