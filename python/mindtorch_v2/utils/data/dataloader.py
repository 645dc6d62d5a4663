"""``DataLoader``: batches of a dataset's samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mindtorch_v2.utils.data.collate import default_collate, default_convert
from mindtorch_v2.utils.data.dataset import IterableDataset
from mindtorch_v2.utils.data.iterators import SingleIterator, ThreadedIterator
from mindtorch_v2.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import mindtorch_v2 as torch
    from mindtorch_v2.utils.data.dataset import Dataset

__all__ = ["DataLoader"]

_T_co = TypeVar("_T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[_T_co]):
    """Gives the samples of a dataset in batches, in any order, if asked for with workers that fetch ahead.

    Workers are threads of this process: they share its memory and its random numbers, and need no pickling. What they
    run side by side is what lets go of Python's lock: tensors, files, the network.

    Args:
        dataset: where the samples come from.
        batch_size: how many samples a batch has; None gives samples one by one.
        shuffle: whether to draw the samples at random, anew each time.
        sampler: in which order to draw the samples.
        batch_sampler: which samples each batch has.
        num_workers: how many workers fetch ahead; 0 fetches each batch when it is asked for.
        collate_fn: makes a batch of a list of samples.
        pin_memory: warns, as there is no memory to pin.
        drop_last: leaves out a last batch that is smaller than the others.
        timeout: for how many seconds to wait for a worker; 0 waits as long as it takes.
        worker_init_fn: called with its number by each worker, before its first sample.
        multiprocessing_context: not supported, as workers are no processes.
        generator: draws the random numbers.
        prefetch_factor: how many batches each worker fetches ahead; 2 by default.
        persistent_workers: whether workers live on from one pass over the dataset to the next.
        pin_memory_device: not supported.
        in_order: whether batches come in the order of the sampler, or as soon as they are there.
    """

    _initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: None = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if multiprocessing_context is not None:
            raise ValueError("multiprocessing_context is not supported: workers are threads of this process")
        if pin_memory_device:
            raise ValueError("pin_memory_device is not supported: there is no memory to pin")
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_samplers(
            dataset,
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
        )
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.drop_last = drop_last
        self.sampler = _default_sampler(dataset, shuffle, generator) if sampler is None else sampler
        self.batch_size = batch_size
        self.batch_sampler = batch_sampler
        if batch_sampler is not None:
            self.batch_size = None
        elif batch_size is not None:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.collate_fn: Callable[[Any], Any] = collate_fn or (
            default_convert if self.batch_sampler is None else default_collate
        )
        # What len() said of an iterable dataset, which may not be so.
        self._promised_length: int | None = None
        self._iterator: ThreadedIterator | None = None
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return SingleIterator(self)
        if not self.persistent_workers:
            return ThreadedIterator(self)
        if self._iterator is None:
            self._iterator = ThreadedIterator(self)
        else:
            self._iterator.restart(self)
        return self._iterator

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        dataset: Any = self.dataset
        length = self._promised_length = len(dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler


class _Endless(Sampler[None]):
    """The sampler of iterable datasets, which have no indices."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _default_sampler(dataset: Any, shuffle: bool | None, generator: torch.Generator | None) -> Sampler[Any]:
    if isinstance(dataset, IterableDataset):
        return _Endless()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor <= 0:
        raise ValueError("prefetch_factor option should be positive")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_samplers(
    dataset: Any, *, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if isinstance(dataset, IterableDataset):
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
