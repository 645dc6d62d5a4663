"""``save`` and ``load``: objects with tensors, in files that any safetensors reader opens."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import mindtorch_v2 as torch
from mindtorch_v2.utils import _safetensors
from mindtorch_v2.utils._structure import Packer, Unpacker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    File: TypeAlias = str | os.PathLike[str] | BinaryIO
    MapLocation: TypeAlias = str | torch.device | Mapping[str, str] | None

__all__ = ["load", "save"]

_STRUCTURE = "mindtorch"
# Libraries that read weights for several frameworks want to be told whose conventions the names follow.
_METADATA = {"format": "pt"}


def save(obj: Any, f: File, *, use_pickle: bool = False) -> None:
    """Write an object to a file, which is there when it is complete.

    The object may be a tensor, or a dict, list or tuple of tensors, numbers, texts and the like, however deep: a
    ``state_dict()`` of a module, of an optimiser, or several in a dict. The file is a safetensors file, and a dict of
    named tensors has just these names in it. A module's parameter comes back as a tensor that requires a gradient.

    Args:
        obj: what to write.
        f: a path, or a binary file that is open for writing.
        use_pickle: writes a pickle instead, which holds almost any object, and which ``load`` reads only when it is
            told to trust it.
    """
    if use_pickle:
        with _opened_to_write(f) as file:
            pickle.dump(obj, file)
        return
    packer = Packer()
    try:
        structure = packer.pack(obj)
    except TypeError as error:
        raise TypeError(
            f"cannot save: {error}, and not a tensor, a number, a text, or a dict, list or tuple of these. Save the "
            "state_dict() of a module or an optimizer, or pass use_pickle=True"
        ) from None
    except RecursionError:
        raise ValueError("cannot save: the object is nested too deeply") from None
    with _opened_to_write(f) as file:
        _safetensors.write(file, packer.tensors, _METADATA | {_STRUCTURE: structure})


def load(f: File, map_location: MapLocation = None, *, weights_only: bool = True) -> Any:
    """Read what ``save`` wrote, or any safetensors file, as a dict of its tensors.

    Args:
        f: a path, or a binary file that is open for reading.
        map_location: the device to put all tensors on, or a dict from devices to others; by default each goes to the
            device that it was on.
        weights_only: False also reads a pickle, which runs the code that is in it: only do this with files from people
            you trust.
    """
    if callable(map_location):
        raise TypeError("map_location as a function is not supported: give a device, or a dict of devices")
    with _opened_to_read(f) as file:
        if _safetensors.looks_like(_peek(file)):
            return _load_safetensors(file, f, map_location)
        return _load_pickle(file, f, map_location, weights_only)


def _load_safetensors(file: BinaryIO, f: File, map_location: MapLocation) -> Any:
    try:
        tensors, metadata = _safetensors.read(file)
        place = _placer(map_location)
        if _STRUCTURE not in metadata:
            return {name: place(tensor, "cpu") for name, tensor in tensors.items()}
        unpacker = Unpacker(tensors, place)
        try:
            return unpacker.unpack(metadata[_STRUCTURE])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _safetensors.FormatError(
                f"its metadata do not describe an object: {type(error).__name__}: {error}"
            ) from error
    except _safetensors.FormatError as error:
        raise RuntimeError(f"cannot load {_name(f)}: {error}") from error


def _load_pickle(file: BinaryIO, f: File, map_location: MapLocation, weights_only: bool) -> Any:
    start = _peek(file)
    if start.startswith(b"PK\x03\x04"):
        raise RuntimeError(
            f"cannot load {_name(f)}: it is a zip file, as torch.save writes; convert it to safetensors where it is "
            "from"
        )
    if not start.startswith(b"\x80"):
        # Too short to be told apart, or neither of the two: say what is wrong with it as a safetensors file.
        return _load_safetensors(file, f, map_location)
    if weights_only:
        raise pickle.UnpicklingError(
            f"Weights only load failed: {_name(f)} is a pickle, which runs the code that is in it when it is loaded. "
            "If you trust where it is from, pass weights_only=False"
        )
    if map_location is not None:
        raise ValueError(f"map_location is not supported for {_name(f)}, which is a pickle: move tensors afterwards")
    return pickle.load(file)  # noqa: S301 - the user has asked for it


def _placer(map_location: MapLocation) -> Callable[[torch.Tensor, str], torch.Tensor]:
    """Return a function that puts a tensor where one that was on the given device is to go."""

    def place(tensor: torch.Tensor, device: str) -> torch.Tensor:
        if map_location is None:
            target: str | torch.device = device
        elif isinstance(map_location, (str, torch.device)):
            target = map_location
        else:
            target = map_location.get(device, device)
        try:
            return tensor.to(target)
        except RuntimeError as error:
            raise RuntimeError(
                f"cannot load a tensor to {str(target)!r}: {error}. Give a device that there is as map_location, such "
                "as 'cpu'"
            ) from error

    return place


def _peek(file: BinaryIO) -> bytes:
    """Return the first bytes without reading them."""
    here = file.tell()
    start = file.read(9)
    file.seek(here)
    return start


@contextlib.contextmanager
def _opened_to_read(f: File) -> Iterator[BinaryIO]:
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            yield file
        return
    if not hasattr(f, "read"):
        raise TypeError(f"expected a path or a binary file to read, not {type(f).__name__}")
    yield f if f.seekable() else io.BytesIO(f.read())


@contextlib.contextmanager
def _opened_to_write(f: File) -> Iterator[BinaryIO]:
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise TypeError(f"expected a path or a binary file to write, not {type(f).__name__}")
        yield f
        return
    # The file that a link leads to is replaced, not the link.
    path = Path(os.path.realpath(f))
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    if path.exists() and not path.is_file():
        # A pipe or a device cannot be replaced.
        with path.open("wb") as file:
            yield file
        return
    unfinished = path.with_name(f".unfinished-{secrets.token_hex(8)}")
    try:
        with unfinished.open("xb") as file:
            if path.exists():
                shutil.copymode(path, unfinished)
            yield file
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _name(f: File) -> str:
    return repr(os.fspath(f)) if isinstance(f, (str, os.PathLike)) else "the file"
