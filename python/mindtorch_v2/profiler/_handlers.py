"""What to do with a finished trace."""

from __future__ import annotations

import os
import time

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2.profiler._base import _KinetoProfile


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[_KinetoProfile], None]:
    """Return a handler that writes each trace into a directory, where TensorBoard finds it.

    Files are called ``<worker>.<time in ns>.pt.trace.json``, so that several workers can share a directory.

    Args:
        dir_name: the directory; it is made if it does not exist.
        worker_name: part of the file names; None takes the names of host and process.
        use_gzip: compress the files.
        use_python_export: accepted, as in PyTorch; there is one exporter.

    >>> import tempfile
    >>> from mindtorch_v2.profiler import profile, record_function
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "worker0")), record_function("work"):
    ...         pass
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['worker0']
    """
    folder = os.fspath(dir_name)

    def write(prof: _KinetoProfile) -> None:
        nonlocal worker_name
        try:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103 (pathlib takes long to import)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + folder) from error
        if not worker_name:
            worker_name = f"{os.uname().nodename}_{os.getpid()}"
        name = f"{worker_name}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(folder, name), use_python_export=use_python_export)  # noqa: PTH118

    return write
