"""Memory that is shared with others, and tensors that are copied and stored. No other library is needed here."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2
from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

torch: Any = mindtorch_v2
core: Any = _core

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


class Array:
    """An object with numpy's protocol, in memory of its own."""

    def __init__(self, numbers: Sequence[float], shape: tuple[int, ...], **changes: Any) -> None:
        self.memory = (ctypes.c_double * max(len(numbers), 1))(*numbers)
        data = (ctypes.addressof(self.memory), False)
        interface = {"version": 3, "typestr": "<f8", "shape": shape, "strides": None, "data": data}
        self.__array_interface__ = {**interface, **changes}


def test_an_array_and_its_tensor_share_memory() -> None:
    given = Array([0, 1, 2, 3, 4, 5], (2, 3))
    tensor = torch.as_tensor(given)
    assert tensor.dtype == torch.float64
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    given.memory[0] = 10
    tensor[1, 2] = 50
    assert tensor[0, 0].item() == 10
    assert given.memory[5] == 50


def test_a_tensor_keeps_its_array_alive() -> None:
    given = Array([1, 2], (2,))
    alive = weakref.ref(given)
    row = torch.as_tensor(given)[1:]
    del given
    gc.collect()
    assert alive() is not None
    assert row.tolist() == [2]
    del row
    gc.collect()
    assert alive() is None


def test_strides_of_an_array() -> None:
    numbers = list(range(12))
    tensor = torch.as_tensor(Array(numbers, (3, 4), strides=(8, 24)))
    assert tensor.stride() == (1, 3)
    assert tensor.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert torch.as_tensor(Array([7], (2, 2), strides=(0, 0))).tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_arrays_without_numbers_may_be_nowhere(shape: tuple[int, ...]) -> None:
    tensor = torch.as_tensor(Array([], shape, data=(0, False), strides=(-8,) * len(shape)))
    assert tensor.shape == shape
    assert tensor.sum().item() == 0


def test_an_array_without_dimensions() -> None:
    tensor = torch.as_tensor(Array([3], ()))
    assert tensor.shape == ()
    assert tensor.item() == 3


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"strides": (-8,)}, ValueError, "At least one stride in the given numpy array is negative"),
        ({"strides": (12,)}, ValueError, "strides not a multiple of the element byte size"),
        ({"strides": (8, 8)}, ValueError, "more or fewer strides than sizes"),
        ({"typestr": ">f8"}, ValueError, "byte order different from the native byte order"),
        ({"typestr": "<c16"}, TypeError, "The only supported types are: float64, float32,"),
        ({"typestr": "|O8"}, TypeError, "The only supported types are: float64, float32,"),
        ({"typestr": ""}, TypeError, "The only supported types are: float64, float32,"),
        ({"data": (8 + 4, False)}, ValueError, "not aligned to the size of its numbers"),
        ({"data": (0, False)}, ValueError, "no memory"),
        ({"mask": [True, False]}, TypeError, "an array with a mask"),
        ({"typestr": None}, ValueError, "has no 'typestr'"),
        ({"data": bytes(8)}, ValueError, "more numbers than its buffer has"),
    ],
)
def test_arrays_that_cannot_be_shared(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        torch.as_tensor(Array([1, 2], (2,), **changes))


def test_an_array_may_give_a_buffer() -> None:
    memory = bytearray(32)
    tensor = torch.as_tensor(Array([], (2,), data=memory, offset=8))
    tensor.fill_(1.0)
    assert memory == bytes(8) + array.array("d", [1, 1]).tobytes() + bytes(8)


def test_numpy_is_not_needed_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(RuntimeError, match="Numpy is not available"):
        torch.ones(2).numpy()
    with pytest.raises(RuntimeError, match="Numpy is not available"):
        torch.from_numpy(Array([1], (1,)))


def test_a_buffer_and_its_tensor_share_memory() -> None:
    buffer = bytearray(16)
    tensor = torch.frombuffer(buffer, dtype=torch.int32)
    tensor[1] = 258
    assert buffer == b"\0\0\0\0\2\1\0\0" + bytes(8)
    buffer[12] = 7
    assert tensor.tolist() == [0, 258, 0, 7]
    assert torch.frombuffer(buffer, dtype=torch.int32, offset=4, count=1).tolist() == [258]
    assert torch.frombuffer(array.array("f", [1.5, 2.5]), dtype=torch.float32, requires_grad=True).requires_grad


def test_a_buffer_stays_where_it_is() -> None:
    buffer = bytearray(4)
    tensor = torch.frombuffer(buffer, dtype=torch.uint8)
    with pytest.raises(BufferError):
        buffer.extend(b"more")
    del tensor
    buffer.extend(b"more")


@pytest.mark.parametrize(
    ("buffer", "options", "kind", "message"),
    [
        ([1], {}, ValueError, "object does not implement Python buffer protocol."),
        (bytearray(0), {}, ValueError, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        (bytearray(8), {"count": 0}, ValueError, r"both buffer length \(8\) and count \(0\) must not be 0"),
        (bytearray(8), {"offset": -1}, ValueError, r"offset \(-1 bytes\) must be non-negative and no greater than"),
        (bytearray(8), {"offset": 8}, ValueError, r"buffer length \(8 bytes\) minus 1"),
        (
            bytearray(7),
            {},
            ValueError,
            r"buffer length \(7 bytes\) after offset \(0 bytes\) must be a multiple",
        ),
        (bytearray(8), {"count": 3}, ValueError, r"requested buffer length \(3 \* 4 bytes\) after offset \(0 bytes\)"),
        (bytearray(8), {"count": 2**62}, ValueError, "must not be greater than actual buffer length"),
        (bytearray(8), {"offset": 1, "count": 1}, ValueError, "not aligned"),
        (memoryview(bytearray(8))[::2], {}, RuntimeError, "could not retrieve a contiguous buffer"),
        (bytearray(8), {"requires_grad": True}, RuntimeError, "nly Tensors of floating point"),
        (bytearray(8), {"dtype": "int32"}, TypeError, "'dtype' must be torch.dtype, not str"),
    ],
)
def test_buffers_that_cannot_be_shared(
    buffer: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        torch.frombuffer(buffer, **{"dtype": torch.int32, **options})


def numbers(dtype: str) -> Any:
    return torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, dtype))


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bytes_of_a_tensor_and_back(dtype: str, device: str) -> None:
    tensor = numbers(dtype).to(device).t()
    data = core.tensor_to_bytes(tensor)
    assert len(data) == 6 * tensor.itemsize
    again = core.tensor_from_bytes(data, tensor.dtype, (3, 2))
    assert again.dtype == tensor.dtype
    assert again.tolist() == tensor.tolist()
    with pytest.raises(ValueError, match="are not those of a tensor of"):
        core.tensor_from_bytes(data + b"1", tensor.dtype, (3, 2))


def test_bytes_are_little_endian_and_none_may_be_there() -> None:
    assert core.tensor_to_bytes(torch.tensor([1, -2], dtype=torch.int16)) == b"\1\0\xfe\xff"
    assert core.tensor_to_bytes(torch.zeros(0, 3)) == b""
    assert core.tensor_from_bytes(b"", torch.float32, (0, 3)).shape == (0, 3)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_capsules_share_memory(dtype: str, version: tuple[int, int] | None) -> None:
    tensor = numbers(dtype).t()
    capsule = tensor.__dlpack__(max_version=version)
    name = "dltensor" if version is None or version[0] < 1 else "dltensor_versioned"
    assert f'"{name}"' in repr(capsule)
    again = torch.from_dlpack(capsule)
    assert f'"used_{name}"' in repr(capsule)
    assert (again.dtype, again.shape, again.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
    assert again.data_ptr() == tensor.data_ptr()
    assert again.tolist() == tensor.tolist()


def exports_of(tensor: Any) -> list[Any]:
    return [tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0)), core.to_dlpack(tensor)]


def test_memory_lives_as_long_as_someone_has_it() -> None:
    for index in range(3):
        buffer = bytearray(8)
        capsule = exports_of(torch.frombuffer(buffer, dtype=torch.int64))[index]
        again = torch.from_dlpack(capsule)
        del capsule
        gc.collect()
        with pytest.raises(BufferError):
            buffer.append(1)
        assert again.tolist() == [0]
        del again
        buffer.append(1)


def test_a_capsule_that_nobody_uses_gives_the_memory_back() -> None:
    buffer = bytearray(8)
    capsules = exports_of(torch.frombuffer(buffer, dtype=torch.int64))
    with pytest.raises(BufferError):
        buffer.append(1)
    del capsules
    buffer.append(1)


def test_a_capsule_is_used_once() -> None:
    for capsule in exports_of(torch.ones(2)):
        torch.from_dlpack(capsule)
        with pytest.raises(RuntimeError, match="can be consumed only once"):
            torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack([1, 2])


def test_memory_is_given_back_on_any_thread() -> None:
    buffer = bytearray(8)
    held = [torch.from_dlpack(torch.frombuffer(buffer, dtype=torch.int64))]
    thread = threading.Thread(target=held.clear)
    with pytest.raises(BufferError):
        buffer.append(1)
    thread.start()
    thread.join()
    buffer.append(1)
    assert len(buffer) == 9


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_capsules_of_few_numbers(shape: tuple[int, ...]) -> None:
    again = torch.from_dlpack(torch.ones(shape))
    assert again.shape == shape
    assert again.sum().item() == torch.ones(shape).sum().item()


def test_what_is_said_of_capsules() -> None:
    tensor = torch.ones(2)
    assert tensor.__dlpack_device__() == (1, 0)
    mistakes: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"stream": "a"}, TypeError, "stream must be ``int`` or ``none``"),
        ({"stream": 1}, AssertionError, "stream should be None on cpu."),
        ({"dl_device": (2, 0)}, BufferError, "Unsupported device_type: 2"),
        ({"read_only": True}, BufferError, "read_only export requires the versioned DLPack protocol"),
    ]
    for options, kind, message in mistakes:
        with pytest.raises(kind, match=message):
            tensor.__dlpack__(**options)
    with pytest.raises(BufferError, match=r"Can't export tensors that require gradient, use tensor.detach\(\)"):
        tensor.requires_grad_().__dlpack__()
    with pytest.raises(AssertionError, match="not supported when ext_tensor is already a DLPack capsule"):
        torch.from_dlpack(torch.ones(2).__dlpack__(), device="cpu")


def test_copies_in_capsules() -> None:
    tensor = torch.ones(2)
    for copied in (torch.from_dlpack(tensor, copy=True), torch.from_dlpack(tensor.__dlpack__(copy=True))):
        tensor.fill_(5)
        assert copied.tolist() == [1, 1]
        tensor.fill_(1)
    assert torch.from_dlpack(tensor, copy=False).data_ptr() == tensor.data_ptr()
    assert torch.from_dlpack(tensor, device="npu").device.type == "npu"
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(tensor, device="npu", copy=False)


def test_capsules_of_a_tensor_on_the_accelerator() -> None:
    tensor = torch.ones(2, device="npu")
    assert tensor.__dlpack_device__() == (12, 0)
    with pytest.raises(BufferError, match=r"Can't export a tensor on npu:0.*Use Tensor.cpu\(\)"):
        tensor.__dlpack__()
    assert torch.from_dlpack(tensor.__dlpack__(dl_device=(1, 0))).tolist() == [1, 1]
    with pytest.raises(ValueError, match="without copying"):
        tensor.__dlpack__(dl_device=(1, 0), copy=False)


class OldProducer:
    """An object that has not heard of versions."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, stream: None = None) -> Any:
        return self.tensor.__dlpack__(stream=stream)


def test_old_producers() -> None:
    tensor = torch.ones(2)
    assert torch.from_dlpack(OldProducer(tensor)).data_ptr() == tensor.data_ptr()


class Tagged(torch.Tensor):  # type: ignore[misc]
    """A class of the program's own."""


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(dtype: str, device: str, protocol: int) -> None:
    tensor = numbers(dtype).to(device).t()
    again = pickle.loads(pickle.dumps(tensor, protocol))
    assert (again.dtype, again.device, again.shape) == (tensor.dtype, tensor.device, tensor.shape)
    assert again.tolist() == tensor.tolist()


def test_pickles_keep_what_a_program_says_of_a_tensor() -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.note = "mine"
    again = pickle.loads(pickle.dumps([leaf, leaf]))
    assert again[0] is again[1]
    assert again[0].requires_grad
    assert again[0].note == "mine"
    result = pickle.loads(pickle.dumps(leaf * 2))
    assert result.requires_grad
    assert result.is_leaf
    tagged = torch.Tensor._make_subclass(Tagged, torch.zeros(0, 2))
    tagged.tag = 3
    again = pickle.loads(pickle.dumps(tagged))
    assert type(again) is Tagged
    assert (again.tag, again.shape) == (3, (0, 2))


def test_a_shallow_copy_shares_memory() -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.note = ["mine"]
    copied = copy.copy(leaf)
    assert copied is not leaf
    assert copied.data_ptr() == leaf.data_ptr()
    assert copied.requires_grad
    assert copied.grad is None
    assert copied.note is leaf.note
    copied.note = "other"
    assert leaf.note == ["mine"]
    assert type(copy.copy(torch.Tensor._make_subclass(Tagged, torch.ones(1)))) is Tagged


def test_a_deep_copy_has_its_own_of_all() -> None:
    leaf = torch.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    leaf.note = ["mine"]
    copied = copy.deepcopy(leaf)
    assert copied.requires_grad
    assert copied.is_leaf
    assert copied.grad.tolist() == [3, 3]
    assert copied.grad is not leaf.grad
    assert copied.note == ["mine"]
    assert copied.note is not leaf.note
    copied.grad.zero_()
    copied.data.zero_()
    assert leaf.tolist() == [1, 1]
    assert leaf.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_deep_copy_keeps_what_tensors_share(device: str) -> None:
    whole = torch.arange(6.0, device=device).reshape(2, 3)
    first, second, third = copy.deepcopy([whole, whole.t(), whole])
    assert first is third
    assert second.stride() == (1, 3)
    second[0, 0] = 9
    assert first[0, 0].item() == 9
    assert whole[0, 0].item() == 0
    assert copy.deepcopy(whole[1:, ::2]).tolist() == [[3, 5]]
    assert copy.deepcopy(torch.zeros(0, 2, device=device)).shape == (0, 2)


def test_a_deep_copy_of_a_subclass() -> None:
    tagged = torch.Tensor._make_subclass(Tagged, torch.ones(2), True)
    tagged.itself = tagged
    copied = copy.deepcopy(tagged)
    assert type(copied) is Tagged
    assert copied.requires_grad
    assert copied.itself is copied
