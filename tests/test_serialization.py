"""``save`` and ``load``: what comes back, what is in the file, and what is wrong with files that are not loaded."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim
from mindtorch_v2.serialization import load, save

if TYPE_CHECKING:
    from pathlib import Path

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def round_trip(obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return load(file, **options)


def header_of(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    return header


def with_header(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: Any = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


class MakesDirectory:
    """An object whose pickle makes a directory when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


# What comes back


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_tensors_of_all_dtypes_and_shapes_come_back(name: str, shape: tuple[int, ...]) -> None:
    dtype = getattr(torch, name)
    tensor = (torch.ones(shape) * 3).to(dtype)
    again = round_trip(tensor)
    assert (again.dtype, tuple(again.shape), again.tolist()) == (dtype, shape, tensor.tolist())


def test_values_come_back_with_their_types() -> None:
    obj = {
        "numbers": [1, -(2**70), 0.1, True, None, float("inf"), float("-inf")],
        "text": 'ünïcode "\0\n\ud800',
        3: (1, (), [], {}),
        None: OrderedDict([("b", 1), ("a", 2)]),
        (1, "x"): Counter("aab"),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
    }
    again = round_trip(obj)
    assert again == obj
    assert [type(value) for value in again.values()] == [type(value) for value in obj.values()]
    assert list(again[None]) == ["b", "a"]
    nan = round_trip(float("nan"))
    assert nan != nan  # noqa: PLR0124


def test_tensors_keep_their_place_their_values_and_their_ties() -> None:
    shared = torch.tensor([1.5, -2.5])
    again = round_trip({"a": shared, "deep": [{"b": shared}, torch.tensor(7)], "view": shared[1:]})
    assert again["a"] is again["deep"][0]["b"]
    assert again["a"].tolist() == [1.5, -2.5]
    assert again["deep"][1].item() == 7
    assert again["view"].tolist() == [-2.5]


def test_names_may_be_the_same_at_different_depths() -> None:
    again = round_trip({"a": {"b": torch.tensor(1)}, "a.b": torch.tensor(2), "__metadata__": torch.tensor(3)})
    assert (again["a"]["b"].item(), again["a.b"].item(), again["__metadata__"].item()) == (1, 2, 3)


def test_tensors_that_are_not_contiguous_are_written_in_their_order() -> None:
    tensor = torch.arange(6).reshape(2, 3)
    assert round_trip(tensor.t()).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert round_trip(tensor[:, 1]).tolist() == [1, 4]
    assert round_trip(torch.tensor([1.0]).expand(3)).tolist() == [1.0, 1.0, 1.0]


def test_leaves_stay_leaves() -> None:
    again = round_trip({"weight": torch.ones(2, requires_grad=True), "buffer": torch.ones(2)})
    assert again["weight"].requires_grad
    assert again["weight"].is_leaf
    assert not again["buffer"].requires_grad


def test_what_comes_back_can_be_changed() -> None:
    again = round_trip(torch.zeros(3))
    again += 1
    assert again.tolist() == [1.0, 1.0, 1.0]


def test_a_training_goes_on_from_a_file(tmp_path: Path) -> None:
    param = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([param], lr=0.1)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, [1, 5])
    param.grad = torch.tensor([1.0, -1.0])
    optimizer.step()
    scheduler.step()
    save({"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, tmp_path / "checkpoint")
    loaded = load(tmp_path / "checkpoint")
    other = torch.tensor(param.tolist(), requires_grad=True)
    resumed = optim.Adam([other])
    resumed.load_state_dict(loaded["optimizer"])
    optim.lr_scheduler.MultiStepLR(resumed, [2]).load_state_dict(loaded["scheduler"])
    for each, its in ((param, optimizer), (other, resumed)):
        each.grad = torch.tensor([0.5, 0.5])
        its.step()
    assert other.tolist() == param.tolist()


def test_tensors_go_where_they_are_sent() -> None:
    tensor = torch.ones(1)
    assert round_trip(tensor, map_location="cpu").device.type == "cpu"
    assert round_trip([tensor], map_location=torch.device("cpu"))[0].device.type == "cpu"
    assert round_trip([tensor], map_location={"npu:0": "cpu"})[0].device.type == "cpu"
    with pytest.raises(RuntimeError, match=r"cannot load a tensor to 'nowhere': .* as map_location, such as 'cpu'"):
        round_trip(tensor, map_location="nowhere")
    with pytest.raises(TypeError, match="map_location as a function is not supported"):
        round_trip(tensor, map_location=lambda storage, _: storage)


# What is in the file


def test_a_dict_of_tensors_has_just_these_names() -> None:
    shared = torch.tensor([1.0, 2.0])
    file = io.BytesIO()
    save({"layer.weight": shared, "byte": torch.tensor([1, 2, 3], dtype=torch.uint8), "layer.tied": shared}, file)
    data = file.getvalue()
    header = header_of(data)
    metadata = header.pop("__metadata__")
    assert list(header) == ["layer.weight", "byte", "layer.tied"]
    assert header["layer.weight"] == {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    assert header["layer.tied"] == {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}
    assert header["byte"] == {"dtype": "U8", "shape": [3], "data_offsets": [16, 19]}
    assert all(isinstance(text, str) for text in metadata.values())
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert data[8 + length :] == b"\0\0\x80\x3f\0\0\0\x40" * 2 + b"\x01\x02\x03"


def test_deeper_tensors_are_named_by_their_path() -> None:
    file = io.BytesIO()
    save({"state": {0: {"exp_avg": torch.zeros(1)}}, "list": [torch.zeros(1)]}, file)
    assert set(header_of(file.getvalue())) == {"__metadata__", "state.0.exp_avg", "list.0"}


def test_files_of_others_are_dicts_of_their_tensors() -> None:
    header = {
        "b": entry("I16", [2], [4, 8]),
        "a": entry("F32", [], [0, 4]),
        "empty": entry("BOOL", [0, 3], [8, 8]),
        "__metadata__": {"format": "pt"},
    }
    loaded = load(io.BytesIO(with_header(header, b"\0\0\x80\x3f\x01\0\xff\xff")))
    assert {name: tensor.tolist() for name, tensor in loaded.items()} == {"b": [1, -1], "a": 1.0, "empty": []}
    assert load(io.BytesIO(with_header({}))) == {}


def test_paths_and_files_are_both_taken(tmp_path: Path) -> None:
    path = tmp_path / "tensors.safetensors"
    for target in (path, str(path)):
        save({"a": torch.ones(1)}, target)
        assert load(target)["a"].item() == 1
    with path.open("wb") as file:
        save([1], file)
    with path.open("rb") as file:
        assert load(file) == [1]
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as file:
        save([2], file)
    with os.fdopen(read_end, "rb") as file:
        assert load(file) == [2]
    with pytest.raises(TypeError, match="expected a path or a binary file to read, not int"):
        load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a path or a binary file to write, not int"):
        save(1, 3)  # type: ignore[arg-type]


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    link = tmp_path / "link"
    save([1], path)
    link.symlink_to(path)

    class Unwritable:
        def __reduce__(self) -> Any:
            raise OSError("no more space")

    with pytest.raises(OSError, match="no more space"):
        save(Unwritable(), path, use_pickle=True)
    assert load(path) == [1]
    save([2], link)
    assert load(path) == [2]
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [path, link]


def test_a_file_has_the_mode_that_it_had_or_that_others_have(tmp_path: Path) -> None:
    path = tmp_path / "file"
    umask = os.umask(0o022)
    os.umask(umask)
    save([1], path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    path.chmod(0o600)
    save([2], path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError, match=r"Parent directory .*nowhere does not exist\."):
        save([1], tmp_path / "nowhere" / "file")


def test_a_device_is_written_to_and_not_replaced() -> None:
    save([1], os.devnull)
    assert os.path.exists(os.devnull)  # noqa: PTH110
    assert not os.path.isfile(os.devnull)  # noqa: PTH113


# What is not written


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (object(), "the object is of type builtins.object"),
        ({"a": [1, {2}]}, "the value at 'a.1' is of type builtins.set"),
        ({"f": print}, "the value at 'f' is of type builtins.builtin_function_or_method"),
        (b"bytes", "the object is of type builtins.bytes"),
    ],
)
def test_other_objects_are_refused_with_advice(obj: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=rf"cannot save: {text}.*state_dict\(\).*use_pickle=True"):
        save(obj, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_containers_that_contain_themselves_are_refused() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    with pytest.raises(ValueError, match="the value at '1' contains itself"):
        save(loop, io.BytesIO())
    twice = [1]
    assert round_trip([twice, twice]) == [[1], [1]]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        save(deep, io.BytesIO())


# Pickles


def test_a_pickle_is_loaded_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "pickle"
    made = tmp_path / "made"
    save(MakesDirectory(made), path, use_pickle=True)
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed: .*pickle' is a pickle"):
        load(path)
    with pytest.raises(ValueError, match="map_location is not supported"):
        load(path, "cpu", weights_only=False)
    assert not made.exists()
    load(path, weights_only=False)
    assert made.is_dir()


def test_objects_come_back_from_a_pickle(tmp_path: Path) -> None:
    save({"set": {1, 2}, "tensor": torch.tensor([1.0])}, tmp_path / "pickle", use_pickle=True)
    loaded = load(tmp_path / "pickle", weights_only=False)
    assert loaded["set"] == {1, 2}
    assert loaded["tensor"].tolist() == [1.0]


def test_no_code_is_in_what_is_loaded_without_asking(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save({"a": torch.ones(1)}, path)
    assert load(path, weights_only=False)["a"].item() == 1


# What is not loaded

GOOD = b"\0\0\x80\x3f"
BROKEN = [
    (b"", "it ends after 0 bytes, within the header's length"),
    (b"\x10\0\0\0", "it ends after 4 bytes, within the header's length"),
    (b"\xff" * 16, "its header is 18446744073709551615 bytes long"),
    ((2**40).to_bytes(8, "little") + b"{}", "its header is 1099511627776 bytes long"),
    ((100).to_bytes(8, "little") + b"{}", "its header is 100 bytes long, but only 2 bytes follow"),
    (with_header(b"{nonsense}"), "its header is not JSON"),
    (with_header(b'{"a": 1, "a": 2}'), "its header is not JSON: 'a' appears twice"),
    (with_header(b'{"a": "\xff"}'), "its header is not JSON"),
    (with_header(b'{"a": ' + b"[" * 100_000), "its header is not JSON"),
    (with_header({"__metadata__": {"a": 1}}), "its __metadata__ is not an object of texts"),
    (with_header({"a": 1}), "tensor 'a' lacks dtype, shape or data_offsets"),
    (with_header({"a": {"dtype": "F32"}}), "tensor 'a' lacks dtype, shape or data_offsets"),
    (with_header({"a": entry(dtype="F31")}, GOOD), "tensor 'a' has the unknown dtype 'F31'"),
    (with_header({"a": entry(dtype=[])}, GOOD), "tensor 'a' has the unknown dtype"),
    (with_header({"a": entry(shape=[-1])}, GOOD), "tensor 'a' has the impossible shape"),
    (with_header({"a": entry(shape=[True])}, GOOD), "tensor 'a' has the impossible shape"),
    (with_header({"a": entry(shape=[1.0])}, GOOD), "tensor 'a' has the impossible shape"),
    (with_header({"a": entry(shape="1")}, GOOD), "tensor 'a' has the impossible shape"),
    (with_header({"a": entry(shape=[2**62, 2**62, 0], offsets=[0, 0])}), "tensor 'a' has the impossible shape"),
    (with_header({"a": entry(offsets=[4, 0])}, GOOD), "tensor 'a' has the impossible data_offsets"),
    (with_header({"a": entry(offsets=[0])}, GOOD), "tensor 'a' has the impossible data_offsets"),
    (with_header({"a": entry(offsets=[-4, 0])}, GOOD), "tensor 'a' has the impossible data_offsets"),
    (with_header({"a": entry(shape=[2])}, GOOD), "tensor 'a' takes 8 bytes, but its data_offsets"),
    (with_header({"a": entry()}, b"\0\0\0"), "tensor 'a' ends at byte 4 of 3 that there are"),
    (
        with_header({"a": entry(shape=[2**60], offsets=[0, 2**62])}, GOOD),
        "tensor 'a' ends at byte 4611686018427387904 of 4 that there are",
    ),
    (with_header({"a": entry(), "b": entry()}, GOOD * 2), "tensor 'b' begins at byte 0 instead of 4: it overlaps"),
    (with_header({"a": entry(offsets=[4, 8])}, GOOD * 2), "tensor 'a' begins at byte 4 instead of 0: it leaves a hole"),
    (with_header({"a": entry()}, GOOD * 2), "4 bytes follow its last tensor"),
    (b"PK\x03\x04 and more of it", "it is a zip file, as torch.save writes"),
    (b"some text that is no checkpoint", "its header is"),
    (with_header({"__metadata__": {"mindtorch": "{"}}), "its metadata do not describe an object: JSONDecodeError"),
    (with_header({"__metadata__": {"mindtorch": '{"tensor":"a"}'}}), "its metadata do not describe an object"),
    (with_header({"__metadata__": {"mindtorch": '{"exec":"a"}'}}), "its metadata do not describe an object"),
    (with_header({"__metadata__": {"mindtorch": '{"dict":[[[],1]]}'}}), "its metadata do not describe an object"),
    (with_header({"__metadata__": {"mindtorch": '{"dtype":"load"}'}}), "its metadata do not describe an object"),
    (
        with_header({"a": entry("I32"), "__metadata__": {"mindtorch": '{"tensor":"a","requires_grad":true}'}}, GOOD),
        "tensor 'a' is of torch.int32 and cannot require a gradient",
    ),
    (with_header({"__metadata__": {"mindtorch": '{"tuple":5}'}}), "its metadata do not describe an object"),
]


@pytest.mark.parametrize(("data", "text"), BROKEN)
def test_broken_files_are_named_with_what_is_wrong(data: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(data)
    with pytest.raises(RuntimeError) as caught:
        load(path)
    assert str(caught.value).startswith(f"cannot load {str(path)!r}: ")
    assert text in str(caught.value)


def test_every_truncation_of_a_file_is_noticed() -> None:
    file = io.BytesIO()
    save({"a": torch.ones(3), "b": [1, (2, torch.zeros(2))]}, file)
    data = file.getvalue()
    for length in range(len(data)):
        with pytest.raises(RuntimeError, match="cannot load the file"):
            load(io.BytesIO(data[:length]))


def test_a_changed_byte_is_no_crash() -> None:
    file = io.BytesIO()
    save({"a": torch.ones(3), "b": [1, (2, torch.zeros(2))]}, file)
    data = file.getvalue()
    header_end = 8 + int.from_bytes(data[:8], "little")
    refused = 0
    for position in range(header_end):
        for flip in (0x01, 0x80):
            broken = bytearray(data)
            broken[position] ^= flip
            try:
                load(io.BytesIO(bytes(broken)))
            except (RuntimeError, pickle.UnpicklingError):
                refused += 1
    # The rest are changes that leave a file that can be read, of a number or a name.
    assert header_end < refused < 2 * header_end
