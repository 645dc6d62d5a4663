"""What the figures depend on."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def describe() -> dict[str, str]:
    """Return the machine, the programs and the moment."""
    return {
        "processor": processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory('MemTotal') / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "torch": metadata.version("torch"),
        "mindtorch-v2": f"{metadata.version('mindtorch-v2')}, wheel {wheel_hash()}",
        "commit": commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "load": f"{os.getloadavg()[0]:.2f}",
    }


def processor() -> str:
    """Return the name of the processor."""
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return model[1] if model else platform.machine()


def memory(key: str) -> int:
    """Return a number of bytes from the system's account of its memory."""
    found = re.search(rf"^{key}:\s*(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def commit() -> str:
    """Return the commit of the sources, marked if they were changed since; nothing outside a repository."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def wheel_hash() -> str:
    """Return the beginning of our wheel's hash: the sources may be newer than what is installed and measured."""
    hashes = wheel_origin().get("archive_info", {}).get("hashes", {})
    return str(hashes.get("sha256", "unknown"))[:12]


def wheel_origin() -> dict[str, Any]:
    """Return what the installer has written down of where our wheel came from."""
    origin: dict[str, Any] = json.loads(metadata.distribution("mindtorch-v2").read_text("direct_url.json") or "{}")
    return origin
