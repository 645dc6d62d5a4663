"""Memory is shared with numpy and with torch, in both directions, and mistakes are answered as torch answers them."""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

ours: Any = mindtorch_v2

NUMPY_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
SHAPES: list[tuple[int, ...]] = [(), (0,), (0, 3), (1,), (2, 3), (2, 1, 3)]


def arrays(dtype: str) -> list[Any]:
    """Arrays in every kind of memory."""
    plain = [np.ones(shape, dtype=dtype) for shape in SHAPES]
    grid = np.arange(24).reshape(2, 3, 4).astype(dtype)
    return [*plain, grid.T, grid[:, ::2, 1:], grid[1], np.broadcast_to(grid[0, 0], (3, 4)).copy().T, grid[:0]]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_arrays_become_tensors_and_arrays_again(dtype: str) -> None:
    for array in arrays(dtype):
        expected, tensor = torch.from_numpy(array), ours.from_numpy(array)
        assert str(tensor.dtype) == str(expected.dtype)
        assert tuple(tensor.shape) == tuple(expected.shape)
        if array.size:
            assert tensor.stride() == expected.stride()
            assert tensor.data_ptr() == expected.data_ptr()
        again = tensor.numpy()
        assert again.dtype == array.dtype
        assert again.strides == array.strides or not array.size
        np.testing.assert_array_equal(again, array)


def test_changes_are_seen_on_both_sides() -> None:
    array = np.zeros((2, 3), dtype=np.float32)
    tensor = ours.from_numpy(array)
    tensor[0] = 1
    array[1] = 2
    view = tensor.t().numpy()
    view[2, 0] = 9
    assert tensor.tolist() == array.tolist() == [[1, 1, 9], [2, 2, 2]]
    assert view.strides == (4, 12)


def test_memory_lives_as_long_as_someone_has_it() -> None:
    array = np.arange(5.0)
    alive = weakref.ref(array)
    again = ours.from_numpy(array)[1:].numpy()[1:]
    del array
    gc.collect()
    assert alive() is not None
    assert again.tolist() == [2, 3, 4]
    del again
    gc.collect()
    assert alive() is None
    assert ours.arange(1000.0).numpy()[999] == 999


def outcome(package: Any, program: Callable[[Any], Any]) -> tuple[str, str]:
    """The kind of an error, and its text without what differs between the packages on purpose."""
    with pytest.raises(Exception) as raised:  # noqa: PT011
        program(package)
    text = re.sub(r"supported types are: .*", "supported types are", str(raised.value))
    return type(raised.value).__name__, text


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "negative strides": lambda package: package.from_numpy(np.arange(3.0)[::-1]),
    "negative strides, copied": lambda package: package.tensor(np.arange(3.0)[::-1]),
    "odd strides": lambda package: package.from_numpy(np.zeros(3, dtype=[("a", "f4"), ("b", "i1")])["a"]),
    "objects": lambda package: package.from_numpy(np.array([object()])),
    "texts": lambda package: package.from_numpy(np.array(["a"])),
    "dates": lambda package: package.from_numpy(np.array(["2020-01-01"], dtype="M8[D]")),
    "byte order": lambda package: package.from_numpy(np.arange(3, dtype=">i4")),
    "a list": lambda package: package.from_numpy([1]),
    "a number": lambda package: package.from_numpy(np.float32(1)),
    "gradient": lambda package: package.ones(2, requires_grad=True).numpy(),
    "array of a gradient": lambda package: np.asarray(package.ones(2, requires_grad=True)),
    "history": lambda package: (package.ones(2, requires_grad=True) * 2).numpy(),
    "bfloat16": lambda package: package.ones(2, dtype=package.bfloat16).numpy(),
    "bfloat16, forced": lambda package: package.ones(2, dtype=package.bfloat16).numpy(force=True),
    "no copy": lambda package: np.array(package.ones(2), dtype=np.int32, copy=False),
    "capsule of a gradient": lambda package: package.ones(2, requires_grad=True).__dlpack__(),
    "stream": lambda package: package.ones(2).__dlpack__(stream=1),
    "stream of a wrong type": lambda package: package.ones(2).__dlpack__(stream="a"),
    "read only": lambda package: package.ones(2).__dlpack__(read_only=True),
    "no capsule": lambda package: package.from_dlpack([1]),
    "capsule with options": lambda package: package.from_dlpack(package.ones(2).__dlpack__(), device="cpu"),
    "no buffer": lambda package: package.frombuffer([1], dtype=package.int32),
    "empty buffer": lambda package: package.frombuffer(bytearray(0), dtype=package.int32),
    "count": lambda package: package.frombuffer(bytearray(8), dtype=package.int32, count=0),
    "offset": lambda package: package.frombuffer(bytearray(8), dtype=package.int32, offset=8),
    "length": lambda package: package.frombuffer(bytearray(7), dtype=package.int32),
    "too many": lambda package: package.frombuffer(bytearray(8), dtype=package.int32, count=3),
    "buffer with gaps": lambda package: package.frombuffer(memoryview(bytearray(8))[::2], dtype=package.uint8),
    "deep copy of history": lambda package: (package.ones(2, requires_grad=True) * 2).__deepcopy__({}),
}


# Numpy is not content with every message of torch's.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    assert outcome(ours, MISTAKES[name]) == outcome(torch, MISTAKES[name])


def test_an_array_that_may_not_be_written_to_gives_one_warning() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert ours.tensor(array).tolist() == [0, 1, 2]
        assert caught == []
        for _ in range(2):
            assert ours.from_numpy(array).tolist() == [0, 1, 2]
        ours.frombuffer(b"abc", dtype=ours.uint8)
        ours.frombuffer(b"abc", dtype=ours.uint8)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2
    assert texts[0].startswith("The given NumPy array is not writable")
    assert texts[1].startswith("The given buffer is not writable")


def test_numpy_of_other_tensors() -> None:
    leaf = ours.ones(2, requires_grad=True)
    assert leaf.detach().numpy().tolist() == [1, 1]
    assert leaf.numpy(force=True).tolist() == [1, 1]
    with ours.no_grad():
        assert leaf.numpy().tolist() == [1, 1]
    on_device = ours.ones(2, device="npu")
    with pytest.raises(TypeError, match=r"can't convert npu:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy"):
        on_device.numpy()
    assert on_device.numpy(force=True).tolist() == [1, 1]
    assert ours.ones(1).expand(3).numpy().strides == (0,)
    with pytest.raises(ValueError, match="does not own its data"):
        ours.ones(3).numpy().resize(5)


def test_numpy_takes_tensors() -> None:
    tensor = ours.tensor([1.0, 2.0])
    shared = np.asarray(tensor)
    shared[0] = 5
    assert tensor.tolist() == [5, 2]
    copied = np.array(tensor)
    copied[0] = 7
    assert tensor.tolist() == [5, 2]
    assert np.array(tensor, copy=False)[0] == 5
    assert np.asarray(tensor, dtype=np.int32).tolist() == [5, 2]
    assert np.concatenate([tensor, tensor]).tolist() == [5, 2, 5, 2]


def test_functions_of_numpy_give_tensors() -> None:
    tensor = ours.tensor([1.0, 4.0])
    assert isinstance(np.sqrt(tensor), ours.Tensor)
    assert np.sqrt(tensor).tolist() == [1, 2]
    assert np.isnan(tensor).dtype == ours.uint8
    assert np.add(tensor, np.ones(2)).dtype == ours.float64


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.int16(2), np.bool_(True), np.array(2.0)])
def test_numbers_of_numpy(number: Any) -> None:
    for name in ("tensor", "as_tensor"):
        expected, tensor = getattr(torch, name)(number), getattr(ours, name)(number)
        assert (str(tensor.dtype), tensor.tolist()) == (str(expected.dtype), expected.tolist())


@pytest.mark.parametrize("dtype", [*NUMPY_DTYPES, "bfloat16"])
def test_tensors_of_torch_and_ours_share_memory(dtype: str) -> None:
    given = torch.ones(2, 3, 4).to(getattr(torch, dtype))[:, ::2].transpose(0, 2)
    tensor = ours.from_dlpack(given)
    assert str(tensor.dtype) == str(given.dtype)
    assert tensor.data_ptr() == given.data_ptr()
    assert tensor.stride() == given.stride()
    tensor[0] = 0
    assert given[0].sum().item() == 0
    again = torch.from_dlpack(tensor)
    assert again.data_ptr() == given.data_ptr()
    assert torch.equal(again, given)
    assert torch.from_dlpack(tensor.__dlpack__()).data_ptr() == given.data_ptr()


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_arrays_of_numpy_through_dlpack(dtype: str) -> None:
    for array in arrays(dtype):
        tensor = ours.from_dlpack(array)
        np.testing.assert_array_equal(tensor.numpy(), array)
        again = np.from_dlpack(tensor)
        assert again.flags.writeable
        np.testing.assert_array_equal(again, array)
        if array.size:
            assert again.ctypes.data == array.ctypes.data
    assert not np.from_dlpack(ReadOnly(ours.ones(2))).flags.writeable
    with pytest.raises(ValueError, match="negative strides are not supported"):
        ours.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(BufferError, match="no dtype for type code 1 with 16 bits"):
        ours.from_dlpack(np.arange(3, dtype=np.uint16))


class ReadOnly:
    """A tensor that may not be written to."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor.__dlpack__(read_only=True, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def test_capsules_give_the_memory_of_others_back() -> None:
    for version in (None, (1, 0)):
        array = np.arange(4.0)
        alive = weakref.ref(array)
        tensor = ours.from_dlpack(array.__dlpack__(max_version=version))
        final = torch.from_dlpack(tensor.__dlpack__(max_version=version))
        del array, tensor
        gc.collect()
        assert alive() is not None
        assert final.tolist() == [0, 1, 2, 3]
        del final
        ours.ones(1)
        gc.collect()
        assert alive() is None


def test_a_refused_capsule_is_still_whole() -> None:
    array = np.arange(4, dtype=np.uint16)
    alive = weakref.ref(array)
    capsule = array.__dlpack__()
    with pytest.raises(BufferError):
        ours.from_dlpack(capsule)
    assert torch.from_dlpack(capsule).tolist() == [0, 1, 2, 3]
    del array, capsule
    gc.collect()
    assert alive() is None


def test_buffers() -> None:
    for options in ({}, {"offset": 4}, {"offset": 4, "count": 1}, {"count": -5}):
        buffer = bytearray(range(16))
        expected = torch.frombuffer(buffer, dtype=torch.int32, **options)
        assert ours.frombuffer(buffer, dtype=ours.int32, **options).tolist() == expected.tolist()
    assert ours.frombuffer(np.arange(4).reshape(2, 2), dtype=ours.int64).tolist() == [0, 1, 2, 3]
