"""What memory was used for, over time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2._torch import with_cuda

if TYPE_CHECKING:
    from typing import TypeAlias

    from mindtorch_v2._core import Results

    Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    KeyAndID: TypeAlias = tuple["Key", int]
    Event: TypeAlias = tuple[int, "Action", KeyAndID, int]
    Timeline: TypeAlias = tuple[Event, ...]

__all__ = ["Action", "Category", "Key", "MemoryProfile", "MemoryProfileTimeline", "TensorKey"]


class Category(Enum):
    """What a block of memory is used for.

    >>> Category.PARAMETER
    <Category.PARAMETER: 6>
    """

    INPUT = 1
    TEMPORARY = 2
    ACTIVATION = 3
    GRADIENT = 4
    AUTOGRAD_DETAIL = 5
    PARAMETER = 6
    OPTIMIZER_STATE = 7


class Action(Enum):
    """What happened to a block of memory.

    >>> Action(2)
    <Action.CREATE: 2>
    """

    PREEXISTING = 1
    CREATE = 2
    INCREMENT_VERSION = 3
    DESTROY = 4


# In the order of the files, and of the engine; None is what is not known.
_CATEGORIES = (
    Category.PARAMETER,
    Category.OPTIMIZER_STATE,
    Category.INPUT,
    Category.TEMPORARY,
    Category.ACTIVATION,
    Category.GRADIENT,
    Category.AUTOGRAD_DETAIL,
    None,
)


@dataclass(frozen=True)
class Key:
    """All memory of a device of which nothing else is known."""

    device: torch.device


@dataclass(frozen=True)
class _Storage:
    """A block of memory: where it is, and a number that tells it from others that were there at other times."""

    ptr: int
    allocation_id: int


@dataclass(frozen=True)
class TensorKey(Key):
    """A block of memory."""

    id: int
    storage: _Storage


class _Categories:
    """What blocks are used for, by their versions: a block has a new one whenever it is written to."""

    def __init__(self) -> None:
        self._values: dict[KeyAndID, Category | None] = {}

    def get(self, key: Key, version: int) -> Category | None:
        """Return what a version of a block is used for; None if that is not known."""
        return self._values.get((key, version))


class MemoryProfile:
    """Says of each block of memory what it is used for.

    The engine was told by those who allocate, so nothing is guessed. ``profile._memory_profile()`` makes one.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2.profiler import profile
    >>> with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
    ...     weight = torch.nn.Parameter(torch.ones(100))
    >>> memory = prof._memory_profile()
    >>> time, action, (key, version), size = memory.timeline[-1]
    >>> action, memory._categories.get(key, version), size
    (<Action.CREATE: 2>, <Category.PARAMETER: 6>, 400)
    """

    def __init__(self, result: Results) -> None:
        self._result = result

    @property
    def timeline(self) -> Timeline:
        """What happened: nanoseconds since the epoch (-1 for what was there before), what, to whom, and the bytes."""
        return self._read[0]

    @property
    def _categories(self) -> _Categories:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[Timeline, _Categories]:
        """Objects for all that happened: made when someone looks at them, since files need none."""
        events: list[Event] = []
        categories = _Categories()
        known = categories._values
        first = 0
        for name in self._result.memory_devices():
            device = torch.device(name)
            rest = Key(device)
            keys: dict[int, Key] = {}
            for time, action, block, address, version, size, before, after in self._result.memory_events(device):
                key = rest
                if address:
                    key = keys.setdefault(block, TensorKey(device, first + block, _Storage(address, first + block)))
                    known[key, version] = _CATEGORIES[before]
                    if action == Action.INCREMENT_VERSION.value:
                        known[key, version + 1] = _CATEGORIES[after]
                events.append((time, Action(action), (key, version), size))
            first += max(keys, default=-1) + 1
        events.sort(key=lambda event: event[0])
        return tuple(events), categories


class MemoryProfileTimeline:
    """Says how much memory was in use for what at each moment."""

    def __init__(self, memory_profile: MemoryProfile) -> None:
        self._profile = memory_profile

    @property
    def timeline(self) -> Timeline:
        """What happened: see ``MemoryProfile.timeline``."""
        return self._profile.timeline

    @property
    def categories(self) -> _Categories:
        """What each version of each block was used for."""
        return self._profile._categories

    def export_memory_timeline(self, path: Path, device_str: str | torch.device) -> None:
        """Write how much there was of each category over time: ``[times, sizes]``."""
        self._export(path, device_str, "plain")

    def export_memory_timeline_raw(self, path: Path, device_str: str | torch.device) -> None:
        """Write what happened to each block: ``[time, action, bytes, category]``."""
        self._export(path, device_str, "raw")

    def export_memory_timeline_html(
        self,
        path: Path,
        device_str: str | torch.device,
        figsize: tuple[int, int] = (20, 12),  # noqa: ARG002 (of a picture; a page has the size of its window)
        title: str | None = None,
    ) -> None:
        """Write a page that shows the timeline. It needs nothing else: no network, no other package."""
        self._export(path, device_str, "html", title)

    def _export(self, path: Path, device: str | torch.device, form: str | None, title: str | None = None) -> None:
        name = os.fsdecode(path)
        if "\0" in name:
            raise ValueError("embedded null byte")
        self._profile._result.export_memory_timeline(name, checked_device(device), form=form, title=title)


def checked_device(device: str | torch.device) -> torch.device:
    """Return the device, if there is one.

    Raises:
        RuntimeError: there is none of this name.
        ValueError: there are not so many.
    """
    found = torch.device(device)
    pytorch = with_cuda()
    count = torch.npu.device_count() if pytorch is None else pytorch.cuda.device_count()
    if found.type == "npu" and (found.index or 0) >= count:
        raise ValueError(f"there is no device {str(found)!r}: this machine has {count} of that kind")
    return found


def default_device(result: Results) -> torch.device:
    """Return the first accelerator of whose memory something is known, or else the host."""
    accelerators = [name for name in result.memory_devices() if name != "cpu"]
    return torch.device(accelerators[0] if accelerators else "cpu")
