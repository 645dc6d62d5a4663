"""How much memory this process has."""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path


def held() -> int:
    """Return the bytes of memory that this process has made its own, once what is free has been given back.

    What both libraries free they free to the C library, which may keep it; the system's account counts that too.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return number("smaps_rollup", "Anonymous")


def peak_begins() -> int:
    """Return the bytes that are resident, and have the system note the largest number from here on."""
    held()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return number("status", "VmRSS")


def peak() -> int:
    """Return the largest number of resident bytes."""
    return number("status", "VmHWM")


def number(file: str, key: str) -> int:
    """Return a number of bytes from what the system tells of this process."""
    found = re.search(rf"^{key}:\s*(\d+) kB", Path("/proc/self", file).read_text(encoding="ascii"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{file} has no {key}")
    return int(found[1]) * 1024
