"""Names of other profilers: they can be imported, and say at their first use what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from mindtorch_v2.profiler._warnings import warn_user

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class _Emit:
    """What both contexts do: refuse, unless they are switched off."""

    _name: str
    _missing: str

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes

    def __enter__(self) -> Self | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._name} annotation context manager is not reentrant")
        raise RuntimeError(self._missing)

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return None if not self.enabled else False


class emit_itt(_Emit):
    """Would name every op for Intel's ITT, which this build does not have.

    >>> with emit_itt(enabled=False):
    ...     pass
    >>> with emit_itt():
    ...     pass
    Traceback (most recent call last):
    RuntimeError: ITT functions not installed. Are you sure you have a ITT build?
    """

    _name = "ITT"
    _missing = "ITT functions not installed. Are you sure you have a ITT build?"


class emit_nvtx(_Emit):
    """Would name every op for NVIDIA's NVTX, which this build does not have.

    >>> with emit_nvtx(enabled=False):
    ...     pass
    >>> with emit_nvtx():
    ...     pass
    Traceback (most recent call last):
    RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?
    """

    _name = "NVTX"
    _missing = "NVTX functions not installed. Are you sure you have a CUDA build?"


def _deprecated(name: str) -> None:
    warn_user(
        f"`torch.autograd.profiler.{name}` is deprecated and will be removed in PyTorch 2.17.", category=FutureWarning
    )


def load_nvprof(path: str) -> NoReturn:
    """Would read a file of NVIDIA's nvprof, which knows nothing of this library's devices.

    >>> load_nvprof("run.nvprof")
    Traceback (most recent call last):
        ...
    NotImplementedError: cannot read 'run.nvprof': traces of nvprof are not supported

    Raises:
        NotImplementedError: always.
    """
    _deprecated("load_nvprof")
    raise NotImplementedError(f"cannot read {path!r}: traces of nvprof are not supported")


def parse_nvprof_trace(path: str) -> NoReturn:
    """Would read a file of NVIDIA's nvprof, which knows nothing of this library's devices.

    >>> parse_nvprof_trace("run.nvprof")
    Traceback (most recent call last):
        ...
    NotImplementedError: cannot read 'run.nvprof': traces of nvprof are not supported

    Raises:
        NotImplementedError: always.
    """
    _deprecated("parse_nvprof_trace")
    raise NotImplementedError(f"cannot read {path!r}: traces of nvprof are not supported")


class EnforceUnique:
    """Raises an error when it sees a key for the second time.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     unique = EnforceUnique()
    >>> unique.see(1, 2)
    >>> unique.see(1, 2)
    Traceback (most recent call last):
    RuntimeError: duplicate key: (1, 2)
    """

    def __init__(self) -> None:
        _deprecated("EnforceUnique")
        self.seen: set[tuple[object, ...]] = set()

    def see(self, *key: object) -> None:
        """Take note of a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)
