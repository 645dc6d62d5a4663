"""What older versions of PyTorch say besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    for message in (
        "Warning. Profiler clears events at the end of each cycle",
        "Profiler won.t be using warmup",
        ".torch.jit.script. is deprecated",
    ):
        config.addinivalue_line("filterwarnings", f"ignore:{message}")
