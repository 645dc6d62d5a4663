"""Handles of registered hooks."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections import OrderedDict
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["RemovableHandle", "register"]

_Hook = TypeVar("_Hook")
_ids = itertools.count()


class RemovableHandle:
    """Removes a hook again, by ``remove()`` or at the end of a with statement."""

    def __init__(self, hooks: OrderedDict[int, Any]) -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Remove the hook. Removing it again does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def register(hooks: OrderedDict[int, _Hook], hook: _Hook, *, prepend: bool = False) -> RemovableHandle:
    """Add ``hook`` to ``hooks``, as the last to run or the first, and return its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
