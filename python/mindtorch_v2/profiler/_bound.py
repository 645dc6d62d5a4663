"""How much memory a recording may take, and what happens then."""

from __future__ import annotations

import os

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mindtorch_v2._core import Session

LEAST_BYTES = 1 << 20
POLICIES = "spill", "ring", "stop"


class Bound:
    """The memory that a recording may take.

    Args:
        max_bytes: at least 1 MiB; None is an eighth of the memory that the process may use, and no more than 2 GiB. The
            process may use the machine's memory, or less if a control group limits it, as in a container.
        when_full: what happens then: ``"spill"``, ``"ring"`` or ``"stop"``.
        spill_dir: the directory of the file to spill to; None is the system's for temporary files, or ``/var/tmp`` if
            that one is in memory.
        spool_dir: the directory of the files to record to, which outlive the process; None is memory.
    """

    def __init__(
        self,
        max_bytes: int | None = None,
        when_full: str = "spill",
        spill_dir: str | os.PathLike[str] | None = None,
        spool_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        if max_bytes is not None:
            if isinstance(max_bytes, bool) or not hasattr(max_bytes, "__index__"):
                raise TypeError(f"max_bytes should be a number of bytes or None, not {type(max_bytes).__name__}")
            max_bytes = max_bytes.__index__()
            if max_bytes < LEAST_BYTES:
                raise ValueError(f"max_bytes should be at least {LEAST_BYTES} (1 MiB), not {max_bytes}")
        if when_full not in POLICIES:
            raise ValueError(f"when_full should be one of 'spill', 'ring', 'stop', not {when_full!r}")
        if spill_dir is not None:
            spill_dir = os.fspath(spill_dir)
            if when_full != "spill":
                raise ValueError(f"spill_dir is for when_full='spill', not {when_full!r}")
            # Not by pathlib, which takes longer to import than this package.
            if not os.path.isdir(spill_dir):  # noqa: PTH112
                raise NotADirectoryError(f"spill_dir should be a directory that exists, not {spill_dir!r}")
        if spool_dir is not None:
            spool_dir = os.fspath(spool_dir)
            if when_full != "spill":
                raise ValueError(f"spool_dir is for when_full='spill', not {when_full!r}: files are not made shorter")
        self.max_bytes = max_bytes
        self.when_full = when_full
        self.spill_dir = spill_dir
        self.spool_dir = spool_dir

    def warning(self, session: Session) -> str | None:
        """Return what the user has to know of a recording that is full, if there is anything."""
        spool = session.spool()
        if spool is not None and spool[1] is not None:
            return (
                f"The profiler's files in {str(spool[0])!r} do not get everything that is recorded: {spool[1]}. It is "
                "in memory only, and is lost if the process dies before it is exported."
            )
        was_full, _, ended_because = session.fullness()
        if ended_because is not None:
            return (
                f"The profiler's recording ended early: {ended_because}. What was recorded until then is kept. "
                "Record fewer steps, or give more max_bytes."
            )
        if was_full and self.max_bytes is None and self.when_full == "spill":
            return (
                "The profiler's recording has reached the memory that it may take by default. Its oldest parts go to a "
                "temporary file from now on. Give max_bytes or when_full, or record fewer steps."
            )
        return None
