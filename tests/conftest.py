from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindtorch_v2.profiler import profile


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[profile], dict[str, Any]]:
    """Export a profile and read the file back, as strictly as the JSON standard is."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    def export(prof: profile) -> dict[str, Any]:
        path = tmp_path / "exported.json"
        prof.export_chrome_trace(path)
        return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse))

    return export
