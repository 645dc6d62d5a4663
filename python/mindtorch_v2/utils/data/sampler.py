"""Samplers: in which order the samples of a dataset are drawn."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Sized

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Gives indices, or lists of them. A subclass has ``__iter__``, and mostly ``__len__``."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Gives all indices in their order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Gives indices at random: each once, or ``num_samples`` of them, with replacement if asked for."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices are given; by default as many as there are samples, also when their number changes."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            # Its own, so that what others draw meanwhile does not change the order.
            generator = torch.Generator()
            generator.manual_seed(random_seed())
        size = len(self.data_source)
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                count = min(32, self.num_samples - start)
                yield from torch.randint(0, size, (count,), generator=generator).tolist()
            return
        for _ in range(self.num_samples // size):
            yield from torch.randperm(size, generator=generator).tolist()
        # Drawn also when nothing of it is given, as torch does, so that the next pass draws what torch's would.
        yield from torch.randperm(size, generator=generator).tolist()[: self.num_samples % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Gives the indices of a list, each once, at random."""

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Gives ``num_samples`` indices at random, each in proportion to its weight."""

    def __init__(
        self,
        weights: Sequence[float] | torch.Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        weights: list[float] = self.weights.tolist()
        if not all(0 <= weight < math.inf for weight in weights):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not any(weights):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        yield from self._with_replacement(weights) if self.replacement else self._without_replacement(weights)

    def _with_replacement(self, weights: list[float]) -> Iterator[int]:
        sums = list(itertools.accumulate(weights))
        # Rounding may take a draw to the very end, beyond the last index that has a weight.
        last = max(index for index, weight in enumerate(weights) if weight > 0)
        for draw in self._uniform(self.num_samples):
            yield min(bisect.bisect_right(sums, draw * sums[-1]), last)

    def _without_replacement(self, weights: list[float]) -> list[int]:
        candidates = [index for index, weight in enumerate(weights) if weight > 0]
        if self.num_samples > len(candidates):
            raise RuntimeError(
                f"cannot draw {self.num_samples} samples without replacement from {len(candidates)} with a weight"
            )
        # Each index waits for an exponential time at the rate of its weight; the first to come are the sample.
        draws = self._uniform(len(candidates))
        times = {index: -math.log1p(-draw) / weights[index] for index, draw in zip(candidates, draws, strict=True)}
        return heapq.nsmallest(self.num_samples, candidates, key=times.__getitem__)

    def _uniform(self, count: int) -> list[float]:
        draws: list[float] = torch.rand(count, dtype=torch.float64, generator=self.generator).tolist()
        return draws

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Gives the indices of another sampler in lists of ``batch_size``."""

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        sampler: Any = self.sampler
        return len(sampler) // self.batch_size if self.drop_last else -(-len(sampler) // self.batch_size)


def random_seed(generator: torch.Generator | None = None) -> int:
    """Draw a seed: the 63 low bits of the number that the generator gives next, as torch does."""
    return int(torch.randint(-(2**63), 2**63 - 1, (), generator=generator).item()) & (2**63 - 1)
