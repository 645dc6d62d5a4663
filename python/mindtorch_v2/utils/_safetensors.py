"""The safetensors format: a length, a JSON header that says where each tensor lies, and the bytes of all tensors."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIGNMENT = 8
# What other readers allow; a length beyond it is a sign that this is another format.
_LONGEST_HEADER = 100_000_000
_LARGEST_SIZE = 2**63 - 1
# By name, since not every dtype of the format has a tensor.
_DTYPES = {
    "F64": ("float64", 8),
    "F32": ("float32", 4),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "I64": ("int64", 8),
    "I32": ("int32", 4),
    "I16": ("int16", 2),
    "I8": ("int8", 1),
    "U64": ("uint64", 8),
    "U32": ("uint32", 4),
    "U16": ("uint16", 2),
    "U8": ("uint8", 1),
    "BOOL": ("bool", 1),
    "F8_E4M3": ("float8_e4m3fn", 1),
    "F8_E5M2": ("float8_e5m2", 1),
    "C64": ("complex64", 8),
}


class FormatError(Exception):
    """What is wrong with a file."""


class Entry(NamedTuple):
    """Where the bytes of a tensor lie, and what they mean."""

    name: str
    dtype: torch.dtype
    shape: list[int]
    begin: int
    end: int


class Header(NamedTuple):
    """What a file has: tensors, in the order of the header, and texts."""

    entries: list[Entry]
    metadata: dict[str, str]


def write(file: BinaryIO, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Write tensors, and texts about them."""
    codes = {name: _code_of(name, tensor.dtype) for name, tensor in tensors.items()}
    sizes = {name: tensor.numel() * _DTYPES[codes[name]][1] for name, tensor in tensors.items()}
    # The widest first, so that each begins at a multiple of its width.
    ordered = sorted(tensors, key=lambda name: -_DTYPES[codes[name]][1])
    begins: dict[str, int] = {}
    end = 0
    for name in ordered:
        begins[name] = end
        end += sizes[name]
    header: dict[str, Any] = {"__metadata__": metadata}
    for name, tensor in tensors.items():
        offsets = [begins[name], begins[name] + sizes[name]]
        header[name] = {"dtype": codes[name], "shape": list(tensor.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in ordered:
        file.write(_core.tensor_to_bytes(tensors[name]))


def read(file: BinaryIO) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Read the tensors of a file that can seek, in the order of the header, and the texts about them."""
    header = _read_header(file, _size(file))
    tensors: dict[str, torch.Tensor] = {}
    for entry in sorted(header.entries, key=lambda entry: entry.begin):
        data = file.read(entry.end - entry.begin)
        if len(data) != entry.end - entry.begin:
            raise FormatError(f"it became shorter while tensor {entry.name!r} was read")
        tensors[entry.name] = _core.tensor_from_bytes(data, entry.dtype, entry.shape)
    return {entry.name: tensors[entry.name] for entry in header.entries}, header.metadata


def looks_like(start: bytes) -> bool:
    """Say whether the first nine bytes of a file may be those of this format."""
    return len(start) > 8 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= _LONGEST_HEADER


def _code_of(name: str, dtype: torch.dtype) -> str:
    wanted = str(dtype).rpartition(".")[2]
    for code, (dtype_name, _) in _DTYPES.items():
        if dtype_name == wanted:
            return code
    raise ValueError(f"cannot save tensor {name!r}: safetensors has no dtype for {dtype}")


def _size(file: BinaryIO) -> int:
    """Return how many bytes a file has from here on."""
    here = file.tell()
    size = file.seek(0, io.SEEK_END) - here
    file.seek(here)
    return size


def _read_header(file: BinaryIO, size: int) -> Header:
    if size < 8:
        raise FormatError(f"it ends after {size} bytes, within the header's length")
    length = int.from_bytes(file.read(8), "little")
    if length > _LONGEST_HEADER:
        raise FormatError(f"its header is {length} bytes long, which is more than {_LONGEST_HEADER}")
    if length > size - 8:
        raise FormatError(f"its header is {length} bytes long, but only {size - 8} bytes follow")
    try:
        fields = json.loads(file.read(length), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"its header is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise FormatError("its header is not an object")
    metadata = fields.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise FormatError("its __metadata__ is not an object of texts")
    entries = [_entry(name, field) for name, field in fields.items()]
    _check_layout(entries, size - 8 - length)
    return Header(entries, metadata)


def _without_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"{name!r} appears twice")
        fields[name] = value
    return fields


def _entry(name: str, field: Any) -> Entry:
    if not isinstance(field, dict) or not {"dtype", "shape", "data_offsets"} <= field.keys():
        raise FormatError(f"tensor {name!r} lacks dtype, shape or data_offsets")
    code, shape, offsets = field["dtype"], field["shape"], field["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPES:
        raise FormatError(f"tensor {name!r} has the unknown dtype {code!r}")
    dtype_name, width = _DTYPES[code]
    dtype = getattr(torch, dtype_name, None)
    if dtype is None:
        raise FormatError(f"tensor {name!r} has the dtype {code}, which is not supported")
    if not _are_sizes(shape) or math.prod(dim or 1 for dim in shape) > _LARGEST_SIZE:
        raise FormatError(f"tensor {name!r} has the impossible shape {shape!r}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise FormatError(f"tensor {name!r} has the impossible data_offsets {offsets!r}")
    needed = math.prod(shape) * width
    if offsets[1] - offsets[0] != needed:
        raise FormatError(
            f"tensor {name!r} takes {needed} bytes, but its data_offsets {offsets} have {offsets[1] - offsets[0]}"
        )
    return Entry(name, dtype, shape, offsets[0], offsets[1])


def _are_sizes(values: Any) -> bool:
    # A bool is an int to Python, and not to the format.
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= _LARGEST_SIZE for value in values)


def _check_layout(entries: list[Entry], size: int) -> None:
    """Refuse tensors that overlap, leave holes, or do not end where the file does."""
    end = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.end > size:
            raise FormatError(f"tensor {entry.name!r} ends at byte {entry.end} of {size} that there are")
        if entry.begin != end:
            problem = "overlaps the one before" if entry.begin < end else "leaves a hole before it"
            raise FormatError(f"tensor {entry.name!r} begins at byte {entry.begin} instead of {end}: it {problem}")
        end = entry.end
    if end != size:
        raise FormatError(f"{size - end} bytes follow its last tensor")
