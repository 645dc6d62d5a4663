"""``python -m mindtorch_v2.profiler``: the command ``mtprof``, for traces that PyTorch or this package wrote."""

from __future__ import annotations

import signal
import sys
import threading

from mindtorch_v2 import _core

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0 says that all is well, 1 that the answer is no, 2 that there is no answer: wrong arguments, files that cannot be
    read or written, or a standard output that is closed or full.
    """
    given = sys.argv[1:] if arguments is None else arguments
    # Python has no stream where the descriptor was closed when it started. Another file may have that descriptor now.
    has_stdout = sys.stdout is not None
    if has_stdout:
        sys.stdout.flush()
    # Python's own handler would wait for the command to be done. Only the main thread may have another.
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL) if is_main else None
    try:
        return _core._run_command(["mtprof", *given], has_stdout)
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)


if __name__ == "__main__":
    sys.exit(main())
