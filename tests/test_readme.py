"""The examples of README and of pages of the documentation: an empty list of parameters would be an error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def blocks() -> list[str]:
    pages = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("files.md", "endurance.md", "report.md"))]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return [block for text in texts for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize("block", blocks())
def test_every_example_runs(block: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", block]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
