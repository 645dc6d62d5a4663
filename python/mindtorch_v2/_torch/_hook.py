"""PyTorch that is imported while a profiler records."""

from __future__ import annotations

import sys

from mindtorch_v2 import _core

# Not imported from typing, and without importlib.abc: they take longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class _TorchFinder:
    """Finds ``torch`` as Python does, and attaches to it once it is imported."""

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
        if spec is not None and spec.loader is not None:
            spec.loader = _AttachingLoader(spec.loader)  # type: ignore[assignment]
        return spec


class _AttachingLoader:
    """A loader with something to do when it has loaded; all else is the loader's."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Whoever asks the module how it is loaded gets the answer that it would have had.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        if _core._is_recording():
            from mindtorch_v2._torch import attach_to  # noqa: PLC0415 (that imports this)

            attach_to(module)


_finder = _TorchFinder()


def watch_imports() -> None:
    """Attach to PyTorch when it is imported, if something is recorded then."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
