"""Reads the files that readers are asked about, as strictly as the standards are."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]


def parsed(path: Path) -> dict[str, Any]:
    """A Chrome trace. NaN and infinity, which Python reads, are no JSON."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(content.decode("utf-8"), parse_constant=refuse)


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def events_of(path: Path) -> list[Event]:
    return parsed(path)["traceEvents"]


def compressed(directory: Path, program: str) -> Path:
    """The file that TensorBoard's handler wrote."""
    (path,) = (directory / "tensorboard").glob(f"{program}.*.pt.trace.json.gz")
    return path
