"""Datasets: where samples come from, and how datasets are put together and apart."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by their index. A subclass has ``__getitem__``, mostly ``__len__``, and may have ``__getitems__``."""

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples in their own order. A subclass has ``__iter__``."""

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[torch.Tensor, ...]]):
    """Samples that are tuples of the rows of tensors."""

    tensors: tuple[torch.Tensor, ...]

    def __init__(self, *tensors: torch.Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[torch.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Samples that are tuples, or dicts, of the samples of other datasets."""

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(dataset) for dataset in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return the samples of ``indices``, from each dataset at once where it can."""
        if isinstance(self.datasets, dict):
            columns = [_fetch_nested(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(_fetch_nested(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The samples of several datasets, one dataset after the other."""

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(_len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> _T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"index {index} is out of range for a dataset of {len(self)} samples")
        start = self.cumulative_sizes[which - 1] if which > 0 else 0
        return self.datasets[which][index - start]


class ChainDataset(IterableDataset[_T_co]):
    """The samples of several iterable datasets, one dataset after the other."""

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[_T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(map(_len, self._checked()))

    def _checked(self) -> Iterator[IterableDataset[_T_co]]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


class Subset(Dataset[_T_co]):
    """The samples of a dataset that have certain indices.

    A subclass with a ``__getitem__`` of its own needs a ``__getitems__`` too, since that is what loaders call.
    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic."
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> _T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[each] for each in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        """Return the samples of ``indices``, at once where the dataset can."""
        return fetch(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T], lengths: Sequence[int | float], generator: torch.Generator | None = None
) -> list[Subset[_T]]:
    """Split a dataset at random into parts of the given lengths, or fractions of it that add up to 1."""
    size = _len(dataset)
    sizes = [int(length) for length in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes = _sizes_of_fractions(size, lengths)
    if sum(sizes) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = iter(torch.randperm(size, generator=generator).tolist())
    return [Subset(dataset, list(itertools.islice(indices, part))) for part in sizes]


def _sizes_of_fractions(size: int, fractions: Sequence[float]) -> list[int]:
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1")
    sizes = [math.floor(size * fraction) for fraction in fractions]
    for left_over in range(size - sum(sizes)):
        sizes[left_over % len(sizes)] += 1
    for index, part in enumerate(sizes):
        if part == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.",
                UserWarning,
                stacklevel=3,
            )
    return sizes


def fetch(dataset: Any, indices: Iterable[Any]) -> list[Any]:
    """Return the samples of ``indices``, at once if the dataset can do that."""
    if callable(getattr(dataset, "__getitems__", None)):
        samples: list[Any] = dataset.__getitems__(indices)
        return samples
    return [dataset[index] for index in indices]


def _fetch_nested(dataset: Any, indices: list[int]) -> list[Any]:
    samples = fetch(dataset, indices)
    if len(samples) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}")
    return samples


def _len(dataset: Any) -> int:
    return len(dataset)
