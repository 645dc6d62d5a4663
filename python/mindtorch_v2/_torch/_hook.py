"""Imports of PyTorch: whether one has finished, and a call when one finishes while a profiler records."""

from __future__ import annotations

import sys
from contextlib import suppress

from mindtorch_v2 import _core

# Not imported from typing, and without importlib.abc: they take longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def imported(name: str) -> Any:
    """Return a module if its import and those of its parents have finished, else None.

    Another thread may be in the middle of importing it, so that it is in ``sys.modules`` and lacks most of its names.
    """
    module, parent = sys.modules.get(name), name
    while parent:
        if is_being_imported(sys.modules.get(parent)):
            return None
        parent = parent.rpartition(".")[0]
    return module


def is_being_imported(module: ModuleType | None) -> bool:
    """Return true if the import of the module has not finished. The import system notes that in the specification."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


class _TorchFinder:
    """Finds ``torch`` with the other finders, and watches its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        # Whoever else finds modules may be the one that finds this.
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        # Finding is not importing: some only ask whether it is there.
        if spec is not None:
            _watch(spec)
        return spec


_finder = _TorchFinder()


def watch_imports() -> None:
    """Attach to PyTorch when its import finishes, in whichever thread, if something is recorded then."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def watch_import_of(module: ModuleType) -> None:
    """Do the same for an import that has begun."""
    spec = getattr(module, "__spec__", None)
    if spec is not None:
        _watch(spec)


def stop_watching() -> None:
    """Leave imports that begin from now on alone."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


class _Watched:
    """Has a module specification call ``_finish`` at the end of the import.

    The import system calls nothing then. It sets ``_initializing`` of the specification to false, whether or not the
    import has failed, on the thread that imports, while this still holds the lock of the module.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_initializing" or value:
            super().__setattr__(name, value)
            return
        try:
            _finish(self)
        finally:
            # The class that it had before `_watch`.
            self.__class__ = type(self).__bases__[1]
            setattr(self, name, value)


def _watch(spec: Any) -> None:
    """Call ``_finish`` when the import of this specification's module ends."""
    if not isinstance(spec, _Watched):
        # One that is not of Python's own class may refuse. Then PyTorch is found when the next recording starts.
        with suppress(TypeError):
            spec.__class__ = type("_WatchedSpec", (_Watched, type(spec)), {})


def _finish(spec: Any) -> None:
    """Attach to the module if its import has succeeded and something is recorded."""
    module = sys.modules.get(spec.name)
    if getattr(module, "__spec__", None) is not spec:
        return
    stop_watching()
    if _core._is_recording():
        from mindtorch_v2._torch import attach_to  # noqa: PLC0415 (that imports this)

        attach_to(module)
