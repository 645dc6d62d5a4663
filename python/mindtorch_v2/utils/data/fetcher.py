"""Fetchers: from the indices of a batch to the batch."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from mindtorch_v2.utils.data.dataset import IterableDataset, fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    Fetcher = Callable[[Any], Any]


class Exhausted(Exception):  # noqa: N818 - it is no error, but the end of an iterable dataset
    """There are no more samples."""


def make_fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetcher:
    """Return a function from the indices of a batch, or the index of a sample, to what the loader gives."""
    if isinstance(dataset, IterableDataset):
        return _IterableFetcher(dataset, batched, collate_fn, drop_last)
    return _MapFetcher(dataset, batched, collate_fn)


class _MapFetcher:
    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._batched = batched
        self._collate_fn = collate_fn

    def __call__(self, index: Any) -> Any:
        return self._collate_fn(fetch(self._dataset, index) if self._batched else self._dataset[index])


class _IterableFetcher:
    """Goes through a dataset once. Indices say nothing to it but how many samples a batch has."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self._samples = iter(dataset)
        self._batched = batched
        self._collate_fn = collate_fn
        self._drop_last = drop_last
        self._ended = False

    def __call__(self, index: Any) -> Any:
        if self._ended:
            raise Exhausted
        size = len(index) if self._batched else 1
        batch = list(itertools.islice(self._samples, size))
        self._ended = len(batch) < size
        if not batch or (self._drop_last and self._ended):
            raise Exhausted
        return self._collate_fn(batch if self._batched else batch[0])
