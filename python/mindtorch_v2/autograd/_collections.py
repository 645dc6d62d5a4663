"""Python's garbage collections, shown while a profiler asks for them."""

from __future__ import annotations

import gc
import weakref

from mindtorch_v2._core import _note_collection

_wanted_by = 0


def watch(owner: object) -> weakref.finalize[[], object]:
    """Show collections, until what this returns is called, or ``owner`` is gone."""
    global _wanted_by  # noqa: PLW0603
    _wanted_by += 1
    if _wanted_by == 1:
        gc.callbacks.append(_note_collection)
    end = weakref.finalize(owner, _unwatch)
    end.atexit = False
    return end


def _unwatch() -> None:
    global _wanted_by  # noqa: PLW0603
    _wanted_by -= 1
    # Whoever has cleared the list meanwhile is not to be told that it was empty.
    if _wanted_by == 0 and _note_collection in gc.callbacks:
        gc.callbacks.remove(_note_collection)
