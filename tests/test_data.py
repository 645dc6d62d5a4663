"""Datasets, samplers, collation and loaders."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections import Counter, namedtuple
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
from mindtorch_v2.utils import data

if TYPE_CHECKING:
    from collections.abc import Iterator


class Squares(data.Dataset[int]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index: int) -> int:
        return index * index

    def __len__(self) -> int:
        return self.size


class Counting(data.IterableDataset[int]):
    """Counts from start to end, and leaves to each worker its share."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        step, offset = (1, 0) if info is None else (info.num_workers, info.id)
        return iter(range(self.start + offset, self.end, step))

    def __len__(self) -> int:
        return self.end - self.start


class Broken(Squares):
    def __getitem__(self, index: int) -> int:
        if index == 2:
            raise KeyError("no such sample")
        return index


def batches(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def worker_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("DataLoader worker")]


def wait_for_no_workers() -> None:
    # An exception that was caught may be part of a cycle, and hold the iterator that it was raised by.
    gc.collect()
    for thread in worker_threads():
        thread.join(120)
    assert not worker_threads()


# Datasets


def test_datasets_are_put_together() -> None:
    both = Squares(2) + Squares(3)
    assert len(both) == 5
    assert [both[index] for index in range(5)] == [0, 1, 0, 1, 4]
    assert both[-1] == 4
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-6]
    with pytest.raises(IndexError):
        both[5]
    assert list(Counting(0, 2) + Counting(5, 7)) == [0, 1, 5, 6]
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        data.ConcatDataset([Counting(0, 2)])
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        data.ConcatDataset([])


def test_tensors_are_a_dataset_of_their_rows() -> None:
    dataset = data.TensorDataset(torch.arange(6).reshape(3, 2), torch.tensor([1.0, 2.0, 3.0]))
    assert len(dataset) == 3
    row, value = dataset[1]
    assert (row.tolist(), value.item()) == ([2, 3], 2.0)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.zeros(2), torch.zeros(3))


def test_stacked_datasets_give_tuples_or_dicts() -> None:
    assert data.StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    named = data.StackDataset(a=Squares(3), b=data.Subset(Squares(9), [8, 7, 6]))
    assert named[0] == {"a": 0, "b": 64}
    assert named.__getitems__([1, 2]) == [{"a": 1, "b": 49}, {"a": 4, "b": 36}]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(Squares(1), Squares(2))


def test_a_split_has_every_sample_once() -> None:
    generator = torch.Generator()
    generator.manual_seed(1)
    parts = data.random_split(Squares(10), [3, 7], generator)
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(part[index] for part in parts for index in range(len(part))) == [i * i for i in range(10)]
    assert [len(part) for part in data.random_split(Squares(10), [0.5, 0.25, 0.25])] == [6, 2, 2]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(Squares(10), [3, 3])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(Squares(1), [0.5, 0.5])


def test_a_subset_that_gives_samples_of_its_own_says_how_to_give_many() -> None:
    class Negated(data.Subset[int]):
        def __getitem__(self, index: Any) -> int:
            return -super().__getitem__(index)

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Negated(Squares(3), [1])


# Samplers


def test_random_samplers_draw_all_and_repeat_with_a_seed() -> None:
    generator = torch.Generator()
    sampler = data.RandomSampler(range(50), generator=generator)
    generator.manual_seed(3)
    first = list(sampler)
    generator.manual_seed(3)
    assert list(sampler) == first
    assert sorted(first) == list(range(50))
    assert first != list(range(50))


def test_random_samplers_draw_fewer_or_more() -> None:
    assert len(set(data.RandomSampler(range(50), num_samples=20))) == 20
    assert Counter(data.RandomSampler(range(4), num_samples=10)).most_common()[-1][1] >= 2
    drawn = list(data.RandomSampler(range(4), replacement=True, num_samples=100))
    assert (len(drawn), set(drawn)) == (100, {0, 1, 2, 3})
    with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
        data.RandomSampler([])


def test_a_subset_is_drawn_at_random() -> None:
    assert sorted(data.SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]


def test_weights_say_how_often_an_index_is_drawn() -> None:
    generator = torch.Generator()
    generator.manual_seed(0)
    counts = Counter(data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=generator))
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.15)


def test_weights_without_replacement_draw_each_index_once() -> None:
    generator = torch.Generator()
    generator.manual_seed(0)
    firsts: Counter[int] = Counter()
    for _ in range(500):
        drawn = list(data.WeightedRandomSampler([1.0, 0.0, 9.0], 2, replacement=False, generator=generator))
        assert sorted(drawn) == [0, 2]
        firsts[drawn[0]] += 1
    assert firsts[2] / 500 == pytest.approx(0.9, abs=0.05)
    with pytest.raises(RuntimeError, match="cannot draw 3 samples without replacement"):
        list(data.WeightedRandomSampler([1.0, 0.0, 9.0], 3, replacement=False))


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_weights_must_be_a_distribution(weights: list[float]) -> None:
    with pytest.raises(RuntimeError, match=r"invalid multinomial distribution|probability tensor contains"):
        list(data.WeightedRandomSampler(weights, 1))


def test_batches_of_indices() -> None:
    assert list(data.BatchSampler(range(5), 2, drop_last=False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, drop_last=False)) == 3
    assert len(data.BatchSampler(range(5), 2, drop_last=True)) == 2


# Collation

Point = namedtuple("Point", ["x", "y"])


def test_collation_keeps_the_shape_of_samples() -> None:
    assert data.default_collate([torch.tensor([1, 2]), torch.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    numbers = data.default_collate([1.5, 2.5])
    assert (numbers.dtype, numbers.tolist()) == (torch.float64, [1.5, 2.5])
    assert data.default_collate([1, 2]).dtype == torch.int64
    assert data.default_collate([True, False]).dtype == torch.bool
    assert data.default_collate(["a", "b"]) == ["a", "b"]
    mapping = data.default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert (mapping["a"].tolist(), mapping["b"]) == ([1, 2], ["x", "y"])
    pairs = data.default_collate([(1, 2.0), (3, 4.0)])
    assert [column.tolist() for column in pairs] == [[1, 3], [2.0, 4.0]]
    points = data.default_collate([Point(1, 2), Point(3, 4)])
    assert (type(points), points.y.tolist()) == (Point, [2, 4])


def test_samples_that_cannot_be_collated_are_refused() -> None:
    with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1, 2], [1]])


# Loaders


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_batches_come_in_order(num_workers: int) -> None:
    loader = data.DataLoader(Squares(7), batch_size=3, num_workers=num_workers)
    assert len(loader) == 3
    assert batches(loader) == [[0, 1, 4], [9, 16, 25], [36]]
    assert batches(loader) == [[0, 1, 4], [9, 16, 25], [36]]
    assert batches(data.DataLoader(Squares(7), 3, drop_last=True, num_workers=num_workers)) == [[0, 1, 4], [9, 16, 25]]
    assert not worker_threads()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_iterable_datasets_are_read_to_the_end(num_workers: int) -> None:
    loader = data.DataLoader(Counting(0, 7), batch_size=2, num_workers=num_workers)
    expected = [[0, 1], [2, 3], [4, 5], [6]] if num_workers == 0 else [[0, 2], [1, 3], [4, 6], [5]]
    assert batches(loader) == expected
    assert len(loader) == 4
    dropping = data.DataLoader(Counting(0, 7), 2, drop_last=True, num_workers=num_workers)
    assert batches(dropping) == expected[:3]
    assert list(data.DataLoader(Counting(0, 3), batch_size=None, num_workers=num_workers)) == [0, 1, 2]


def test_workers_that_end_early_leave_the_others_going() -> None:
    class Uneven(data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            info = data.get_worker_info()
            assert info is not None
            return iter([info.id * 100 + count for count in range([1, 6, 0][info.id])])

    loader = data.DataLoader(Uneven(), batch_size=1, num_workers=3)
    assert batches(loader) == [[0], [100], [101], [102], [103], [104], [105]]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_shuffling_is_by_the_generator(num_workers: int) -> None:
    generator = torch.Generator()
    loader = data.DataLoader(Squares(20), 20, shuffle=True, generator=generator, num_workers=num_workers)
    generator.manual_seed(5)
    first, second = batches(loader), batches(loader)
    generator.manual_seed(5)
    assert batches(loader) == first
    assert first != second
    assert sorted(first[0]) == [index * index for index in range(20)]


def test_samplers_say_what_is_drawn() -> None:
    assert batches(data.DataLoader(Squares(9), 2, sampler=[3, 1, 2])) == [[9, 1], [4]]
    assert batches(data.DataLoader(Squares(9), batch_sampler=[[3, 1], [2]])) == [[9, 1], [4]]
    assert list(data.DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    loader = data.DataLoader(Squares(4), 2, collate_fn=sum)
    assert list(loader) == [1, 13]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_exception_reaches_the_consumer(num_workers: int) -> None:
    iterator = iter(data.DataLoader(Broken(6), batch_size=2, num_workers=num_workers))
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(KeyError) as caught:
        next(iterator)
    if num_workers:
        text = str(caught.value)
        assert text.startswith("Caught KeyError in DataLoader worker thread 1.\nOriginal Traceback (most recent")
        assert "in __getitem__" in text
        assert 'raise KeyError("no such sample")' in text
    assert next(iterator).tolist() == [4, 5]
    assert next(iterator, None) is None


def test_an_exception_that_takes_other_arguments_is_a_runtime_error() -> None:
    class CodedError(Exception):
        def __init__(self, code: int, detail: int) -> None:
            super().__init__(code + detail)

    def fail(_: Any) -> None:
        raise CodedError(40, 2)

    with pytest.raises(RuntimeError, match=r"Caught CodedError in DataLoader worker thread 0[^$]*CodedError: 42"):
        next(iter(data.DataLoader(Squares(2), num_workers=1, collate_fn=fail)))


def test_a_stop_iteration_in_a_worker_is_not_the_end() -> None:
    def stop(_: Any) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="Caught StopIteration"):
        next(iter(data.DataLoader(Squares(2), num_workers=1, collate_fn=stop)))


def test_workers_know_themselves() -> None:
    seen: list[Any] = []
    assert data.get_worker_info() is None

    def init(number: int) -> None:
        info = data.get_worker_info()
        assert info is not None
        info.dataset.start += 10 * number
        seen.append((number, info.id, info.num_workers, info.seed))

    dataset = Counting(0, 40)
    loader = data.DataLoader(dataset, batch_size=None, num_workers=3, worker_init_fn=init)
    first = list(loader)[:3]
    assert sorted(number for number, *_ in seen) == [0, 1, 2]
    assert all(number == own and count == 3 for number, own, count, _ in seen)
    assert len({seed for *_, seed in seen}) == 3
    assert first == [0, 11, 22]
    assert dataset.start == 0


def test_a_failing_worker_init_fn_reaches_the_consumer() -> None:
    def init(_: int) -> None:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        list(data.DataLoader(Squares(4), num_workers=2, worker_init_fn=init))


def test_workers_fetch_ahead_but_not_further() -> None:
    fetched: list[int] = []
    reached = threading.Event()

    class Watched(Squares):
        def __getitem__(self, index: int) -> int:
            fetched.append(index)
            if len(fetched) == 5:
                reached.set()
            return index

    iterator = iter(data.DataLoader(Watched(100), batch_size=None, num_workers=2, prefetch_factor=2))
    assert next(iterator) == 0
    assert reached.wait(120)
    del iterator
    wait_for_no_workers()
    assert sorted(fetched) == [0, 1, 2, 3, 4]


def test_persistent_workers_live_on() -> None:
    started: list[int] = []
    loader = data.DataLoader(
        Counting(0, 4), batch_size=None, num_workers=2, persistent_workers=True, worker_init_fn=started.append
    )
    assert list(loader) == [0, 1, 2, 3]
    threads = set(worker_threads())
    assert len(threads) == 2
    assert next(iter(loader)) == 0
    assert list(loader) == [0, 1, 2, 3]
    assert set(worker_threads()) == threads
    assert sorted(started) == [0, 1]
    del loader
    wait_for_no_workers()


def test_abandoned_iterators_leave_no_threads() -> None:
    for batch in data.DataLoader(Squares(1000), num_workers=3):
        if batch.item() == 4:
            break
    wait_for_no_workers()


def test_a_program_ends_with_its_iterators_half_way() -> None:
    program = (
        "from mindtorch_v2.utils import data\n"
        "iterator = iter(data.DataLoader(range(1000), num_workers=2))\n"
        "persistent = iter(data.DataLoader(range(1000), num_workers=2, persistent_workers=True))\n"
        "print(next(iterator).item(), next(persistent).item())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "0 0\n", "")


def test_waiting_for_a_worker_has_an_end() -> None:
    released = threading.Event()

    def wait(_: Any) -> None:
        released.wait()

    iterator = iter(data.DataLoader(Squares(2), num_workers=1, collate_fn=wait, timeout=0.01))
    try:
        with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.01 seconds"):
            next(iterator)
    finally:
        released.set()
    del iterator
    wait_for_no_workers()
    with pytest.raises(AssertionError, match="a timeout needs workers"):
        iter(data.DataLoader(Squares(2), timeout=1))


def test_batches_out_of_order_come_as_soon_as_they_are_there() -> None:
    second_is_out = threading.Event()

    class Slow(Squares):
        def __getitem__(self, index: int) -> int:
            if index == 0:
                assert second_is_out.wait(120)
            return index

    received = []
    for sample in data.DataLoader(Slow(4), batch_size=None, num_workers=2, in_order=False):
        received.append(sample)
        second_is_out.set()
    assert received[0] == 1
    assert sorted(received) == [0, 1, 2, 3]


@pytest.mark.parametrize(("num_workers", "kind"), [(0, "_SingleProcess"), (1, "_MultiProcessing")])
def test_batches_are_profiled_under_the_names_of_torch(num_workers: int, kind: str) -> None:
    loader = data.DataLoader(Squares(2), num_workers=num_workers)
    with profile() as prof:
        list(loader)
    # Two batches, and the end.
    names = [event.name for event in prof.events() if event.name.startswith("enumerate")]
    assert names == [f"enumerate(DataLoader)#{kind}DataLoaderIter.__next__"] * 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor option should be positive"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
        ({"multiprocessing_context": "spawn"}, "multiprocessing_context is not supported"),
        ({"pin_memory_device": "npu"}, "pin_memory_device is not supported"),
    ],
)
def test_options_are_checked(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        data.DataLoader(Squares(4), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_iterable_datasets_have_their_own_order(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="DataLoader with IterableDataset: expected unspecified"):
        data.DataLoader(Counting(0, 4), **options)


def test_what_a_loader_is_made_of_stays() -> None:
    loader = data.DataLoader(Squares(4))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3


def test_a_dataset_longer_than_it_said_is_warned_of() -> None:
    class Longer(Counting):
        def __len__(self) -> int:
            return 1

    loader = data.DataLoader(Longer(0, 2))
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1"):
        assert batches(loader) == [[0], [1]]


def test_pinned_memory_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="device pinned memory won't be used"):
        iter(data.DataLoader(Squares(1), pin_memory=True))
