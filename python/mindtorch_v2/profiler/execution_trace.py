"""``ExecutionTraceObserver``: writes what a program computes from what, for tools that replay or simulate it."""

from __future__ import annotations

import os
import time

from mindtorch_v2._core import ExecutionTrace
from mindtorch_v2.profiler._warnings import warn_user

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import Self

    Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class ExecutionTraceObserver:
    """Writes an execution trace: each operation with the tensors that it took and gave, in the Chakra format.

    Give it to ``profile`` as ``execution_trace_observer``, which starts and stops it with each recording and closes it
    at the end, or call ``start`` and ``stop`` yourself. The ``rf_id`` of a node is the ``Record function id`` of its
    event in the Chrome trace. There is one in a process at a time.

    The file is complete JSON from ``register_callback`` on, whatever becomes of the process; what happened since the
    last ``stop`` may not be in it yet.

    >>> import json, tempfile
    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2.profiler import ExecutionTraceObserver
    >>> x = torch.ones(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     observer = ExecutionTraceObserver().register_callback(f"{folder}/trace.json")
    ...     observer.start()
    ...     y = x.relu()
    ...     observer.stop()
    ...     observer.unregister_callback()
    ...     with open(f"{folder}/trace.json") as file:
    ...         nodes = json.load(file)["nodes"]
    >>> [(node["inputs"]["shapes"], node["outputs"]["types"]) for node in nodes if node["name"] == "aten::relu"]
    [([[2, 3]], ['Tensor(float)'])]
    """

    def __init__(self) -> None:
        self.extra_resources_collection = False
        self.resources_dir = ""
        self.output_file_path = ""
        self.output_file_path_observer = ""
        self._trace: ExecutionTrace | None = None
        self._is_running = False

    def __del__(self) -> None:
        self.unregister_callback()

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """Return an observer that writes to a temporary file, if ``ENABLE_PYTORCH_EXECUTION_TRACE`` is 1.

        ``ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS`` gives it a directory for resources, too.

        >>> ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
        True
        """
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        import tempfile  # noqa: PLC0415 (few need it)

        handle, path = tempfile.mkstemp(suffix=".et.json")
        os.close(handle)
        observer = ExecutionTraceObserver().register_callback(path)
        if not observer.is_registered:
            os.unlink(path)  # noqa: PTH108 (pathlib takes long to import)
        elif os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0") == "1":
            observer.set_extra_resource_collection(True)
        return observer

    def register_callback(self, output_file_path: Path) -> Self:
        """Make the file, and make ``start`` possible. Registering again without unregistering does nothing.

        If another observer of this process is registered, this one is not, and warns.

        Args:
            output_file_path: the file; it is compressed if the name ends in ``.gz``.

        Raises:
            OSError: the file cannot be written.
        """
        path = os.fsdecode(output_file_path)
        if self.is_registered:
            if path != self.output_file_path:
                warn_user(f"this observer writes to {self.output_file_path!r} already: {path!r} is ignored")
            return self
        trace = ExecutionTrace.create(path, time.strftime("%Y-%m-%d %H:%M:%S"), time.monotonic_ns() // 10**6)
        if trace is None:
            warn_user(f"another execution trace observer is registered in this process: {path!r} is not written")
            return self
        self._trace = trace
        self.output_file_path = self.output_file_path_observer = path
        if self.extra_resources_collection:
            self.set_extra_resource_collection(True)
        return self

    def unregister_callback(self) -> None:
        """End the trace and complete the file. Does nothing unless registered.

        Raises:
            OSError: something could not be written, now or earlier.
        """
        trace, self._trace = self.__dict__.get("_trace"), None
        self._is_running = False
        # In a forked child it is not: the file is the parent's.
        if trace is None or not trace.is_open:
            return
        trace.close()

    def cleanup(self) -> None:
        """Do what ``unregister_callback`` does: ``profile`` calls this when it is left."""
        self.unregister_callback()

    @property
    def is_registered(self) -> bool:
        """Whether there is a file that it writes to."""
        return self._trace is not None and self._trace.is_open

    def is_running(self) -> bool:
        """Say whether it is recording."""
        return self._is_running and self.is_registered

    def start(self) -> None:
        """Start to record, or go on. Does nothing unless registered."""
        if self._trace is not None and not self._is_running:
            self._is_running = self._trace.start()

    def stop(self) -> None:
        """Pause. What was recorded is in the file then. Does nothing unless running.

        Raises:
            OSError: something could not be written, now or earlier.
        """
        if self._trace is not None and self._is_running:
            self._is_running = False
            self._trace.stop()

    def get_output_file_path(self) -> str | None:
        """Return the path of the file; None if it was never registered."""
        return self.output_file_path or None

    def set_extra_resource_collection(self, val: bool) -> None:
        """Say whether there shall be a directory for resources beside the file. There are no resources here to put in.

        It is made now, or by ``register_callback``.
        """
        self.extra_resources_collection = val
        if val and self.output_file_path:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """Return the directory for resources; None if they are not collected, or if it is not there.

        Args:
            can_create: make it if it is not there.
        """
        if not self.extra_resources_collection or not self.output_file_path:
            return None
        found = self.get_resources_dir_for_et_path(self.output_file_path, create_dir=can_create)
        if found is not None:
            self.resources_dir = found
        return found

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: Path, create_dir: bool = False) -> str | None:
        """Return the directory for the resources of a trace; None if it is not there.

        For ``trace.json`` it is ``trace_resources``.

        Args:
            trace_path: the file of the trace.
            create_dir: make it if it is not there; if that fails, this warns.
        """
        folder = os.path.splitext(os.fsdecode(trace_path))[0] + "_resources"  # noqa: PTH122 (pathlib takes long to import)
        if not os.path.isdir(folder):  # noqa: PTH112
            if not create_dir:
                return None
            try:
                os.mkdir(folder)  # noqa: PTH102
            except OSError as error:
                warn_user(f"cannot make the directory for the resources of an execution trace: {error}")
                return None
        return folder
