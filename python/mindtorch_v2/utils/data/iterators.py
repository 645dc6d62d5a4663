"""Iterators over a loader: one that fetches each batch when it is asked for, and one whose workers fetch ahead."""

from __future__ import annotations

import functools
import itertools
import queue
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from mindtorch_v2.profiler import record_function
from mindtorch_v2.utils.data.fetcher import Exhausted, make_fetcher
from mindtorch_v2.utils.data.pool import WorkerPool
from mindtorch_v2.utils.data.sampler import random_seed
from mindtorch_v2.utils.data.worker import Result, Task

if TYPE_CHECKING:
    from typing_extensions import Self

    from mindtorch_v2.utils.data.dataloader import DataLoader


class LoaderIterator:
    """What both iterators do: count, warn, and show each batch to the profiler."""

    # As torch's profiles have it.
    _profile_name: str

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator with pinned memory is found, then device "
                "pinned memory won't be used.",
                UserWarning,
                stacklevel=4,
            )
        self._index_sampler = loader._index_sampler
        self._dataset = loader.dataset
        self._make_fetcher = functools.partial(
            make_fetcher,
            batched=loader.batch_sampler is not None,
            collate_fn=loader.collate_fn,
            drop_last=loader.drop_last,
        )
        # Drawn whether it is used or not, so that the number of workers does not change what is drawn afterwards.
        self._seed = random_seed(loader.generator)
        self._begin(loader)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._indices = iter(self._index_sampler)
        self._yielded = 0
        self._promised_length = loader._promised_length

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with record_function(self._profile_name):
            batch = self._next_batch()
            self._yielded += 1
            if self._promised_length is not None and self._yielded > self._promised_length:
                warnings.warn(
                    f"Length of IterableDataset {self._dataset} was reported to be {self._promised_length} (when "
                    f"accessing len(dataloader)), but {self._yielded} samples have been fetched.",
                    UserWarning,
                    stacklevel=2,
                )
            return batch

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _next_batch(self) -> Any:
        raise NotImplementedError


class SingleIterator(LoaderIterator):
    """Fetches each batch when it is asked for, in the thread that asks."""

    _profile_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError("a timeout needs workers to wait for: give num_workers > 0 or timeout=0")
        super().__init__(loader)
        self._fetch = self._make_fetcher(self._dataset)

    def _next_batch(self) -> Any:
        index = next(self._indices)
        try:
            return self._fetch(index)
        except Exhausted:
            raise StopIteration from None


class ThreadedIterator(LoaderIterator):
    """Keeps ``prefetch_factor`` tasks with each worker, and gives their batches in the order of the sampler."""

    _profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._timeout = loader.timeout or None
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._ahead = (loader.prefetch_factor or 0) * loader.num_workers
        self._num_workers = loader.num_workers
        self._pool = WorkerPool(
            self._dataset, loader.num_workers, self._seed, self._make_fetcher, loader.worker_init_fn
        )
        # When the iterator is no longer used, however far it came. Its workers do not know it, and so do not keep it.
        weakref.finalize(self, self._pool.close).atexit = False
        self._start()

    def restart(self, loader: DataLoader[Any]) -> None:
        """Begin anew with the same workers."""
        self._begin(loader)
        self._start()

    def _start(self) -> None:
        self._epoch = self._pool.begin_epoch()
        self._sent = 0
        self._received = 0
        self._early: dict[int, Result] = {}
        self._ended = [False] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(self._ahead):
            self._send()

    def _send(self) -> None:
        if all(self._ended):
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        worker = next(turn for turn in self._turns if not self._ended[turn])
        self._pool.send(worker, Task(self._epoch, self._sent, index))
        self._sent += 1

    def _next_batch(self) -> Any:
        while self._received < self._sent:
            result = self._receive()
            self._received += 1
            if result.ended:
                self._ended[result.worker] = True
            self._send()
            if result.failure is not None:
                raise result.failure.rebuilt()
            if not result.ended:
                return result.batch
        if not self._persistent:
            self._pool.close()
            self._pool.join()
        raise StopIteration

    def _receive(self) -> Result:
        """Wait for the next result; the others that come meanwhile are kept, if there is an order to keep."""
        while self._received not in self._early:
            try:
                result = self._pool.results.get(timeout=self._timeout)
            except queue.Empty:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
            if result.task.epoch != self._epoch:
                continue
            if not self._in_order:
                return result
            self._early[result.task.number] = result
        return self._early.pop(self._received)
