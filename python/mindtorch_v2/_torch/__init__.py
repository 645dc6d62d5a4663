"""PyTorch beside this package: while a profiler records, what PyTorch does is recorded, too.

Nothing here imports PyTorch. A program that has imported it when a recording starts, or does so while one is running,
has its operators, scopes and memory in the recording; ``MINDTORCH_TORCH=0`` in the environment leaves it alone.
"""

from __future__ import annotations

import _thread  # not threading, which takes longer to import than this package
import os
import sys

from mindtorch_v2 import _core
from mindtorch_v2._torch._hook import imported, is_being_imported, stop_watching, watch_import_of, watch_imports
from mindtorch_v2._torch._program import tell as tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# PyTorch modules that could not be attached to, of which the user was told.
_refused: set[int] = set()
# Held while one thread attaches: others wait, so that what they record next has PyTorch in it.
_attaching = _thread.RLock()


def _forget_other_threads() -> None:
    """Replace the lock in a child process, where a thread that held it does not run."""
    global _attaching  # noqa: PLW0603 (there is one lock)
    _attaching = _thread.RLock()


os.register_at_fork(after_in_child=_forget_other_threads)


def with_cuda() -> Any | None:
    """Return PyTorch, if it is imported, is to be recorded, and has a GPU."""
    if imported("torch") is None:
        return None
    from mindtorch_v2._torch._cuda import pytorch  # noqa: PLC0415 (few need it)

    return pytorch()


def attach() -> None:
    """Record PyTorch from now on, if it is there; else when its import has finished, in whichever thread that is."""
    if _core._torch_bridge() is not None or os.environ.get("MINDTORCH_TORCH") == "0":
        return
    torch = sys.modules.get("torch")
    if torch is None or is_being_imported(torch):
        watch_imports()
        # Another thread may have begun to import it before it could be watched.
        torch = sys.modules.get("torch")
        if torch is None:
            return
        watch_import_of(torch)
    # The import may have ended before it could be watched. A module whose import has failed is no longer there.
    if imported("torch") is torch:
        stop_watching()
        attach_to(torch)


def _is_pytorch(torch: ModuleType) -> bool:
    """Say whether a module of this name is PyTorch: it may be anything."""
    return hasattr(torch, "_C") and hasattr(getattr(torch, "version", None), "git_version")


def attach_to(torch: Any) -> None:
    """Record this PyTorch from now on, or say once why that cannot be."""
    with _attaching:
        if _core._torch_bridge() is None and id(torch) not in _refused and _is_pytorch(torch):
            _attach_to(torch)


def _attach_to(torch: Any) -> None:
    from mindtorch_v2._torch._build import load_library  # noqa: PLC0415 (few need it)
    from mindtorch_v2._torch._cache import BuildError  # noqa: PLC0415
    from mindtorch_v2._torch._canary import CanaryError, check  # noqa: PLC0415

    try:
        load_library(torch, lambda library: _core._load_torch_bridge(library, torch.__version__))
        check(torch)
    except BuildError as error:
        _observe_by_name(torch, error)
    except (CanaryError, ImportError, OSError) as error:
        _refuse(torch, error)
    else:
        _trust(torch)


def _trust(torch: Any) -> None:
    _core._trust_torch_bridge()
    _meet(torch)


def _meet(torch: Any) -> None:
    """Get on with PyTorch's own profiler."""
    from mindtorch_v2._torch._place import share  # noqa: PLC0415 (few need it)
    from mindtorch_v2._torch._program import listen  # noqa: PLC0415

    share(torch)
    listen(torch.autograd.profiler)


def _observe_by_name(torch: Any, why: Exception) -> None:
    """Record what can be without a library of our own."""
    from mindtorch_v2._torch._canary import CanaryError, check_by_name  # noqa: PLC0415 (few need it)
    from mindtorch_v2.profiler._warnings import warn_user  # noqa: PLC0415

    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")  # noqa: PTH118, PTH120
    try:
        _core._observe_torch_by_name(library, torch.__version__)
        check_by_name(torch)
    except (CanaryError, ImportError) as error:
        _refuse(torch, f"{why}. ({error})")
    else:
        _trust(torch)
        warn_user(
            "PyTorch's operators are recorded with their names, times and threads only, without shapes, types, "
            f"sequence numbers, flops and memory: {why}"
        )


def _refuse(torch: Any, why: object) -> None:
    from mindtorch_v2.profiler._warnings import warn_user  # noqa: PLC0415 (few need it)

    _refused.add(id(torch))
    warn_user(f"PyTorch is not recorded: {why}")
