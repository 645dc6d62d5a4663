"""``scripts/pythons.py`` finds the interpreters that ``make test-pythons`` uses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from scripts import pythons

if TYPE_CHECKING:
    from pathlib import Path

VERSION = f"3.{sys.version_info.minor}"


def program(directory: Path, body: str) -> Path:
    """Write a shell script under the name of the interpreter."""
    directory.mkdir(parents=True)
    path = directory / f"python{VERSION}"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return two directories on the PATH, and one of pyenv. Only these are searched."""
    on_path = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setenv("PATH", ":".join(map(str, on_path)))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return [*on_path, tmp_path / "pyenv" / "versions" / f"{VERSION}.1" / "bin"]


def test_the_path_comes_before_pyenv(places: list[Path]) -> None:
    for place in places[1:]:
        program(place, f"echo {VERSION} {place}/real")
    assert pythons.find(VERSION) == places[1] / "real"


@pytest.mark.parametrize(
    "body",
    [
        'echo "pyenv: python: command not found" >&2; exit 127',  # a shim of a version that is not selected
        "exit 0",  # the probe prints nothing for a free-threaded build and for other implementations
        "echo 3.99 /usr/bin/python3.99",
    ],
)
def test_an_interpreter_that_is_not_usable_is_skipped(places: list[Path], body: str) -> None:
    program(places[0], body)
    assert pythons.find(VERSION) is None
    program(places[2], f"echo {VERSION} /real")
    assert str(pythons.find(VERSION)) == "/real"


def test_this_interpreter_is_found(places: list[Path]) -> None:
    program(places[0], f'exec "{sys.executable}" "$@"')
    assert str(pythons.find(VERSION)) == sys.executable
