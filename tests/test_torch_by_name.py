"""PyTorch without a compiler: where it is recorded nevertheless, and what is checked first. None is needed here."""

from __future__ import annotations

import platform
import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from mindtorch_v2 import _core, _torch
from mindtorch_v2._torch import _canary

if TYPE_CHECKING:
    from collections.abc import Callable

IS_X86_64_LINUX = sys.platform == "linux" and platform.machine() == "x86_64"
ROOT = Path(__file__).parents[1]


def fake_torch(version: str) -> Any:
    return SimpleNamespace(
        __version__=version,
        __file__="/nowhere/torch/__init__.py",
        version=SimpleNamespace(git_version="0"),
        _C=SimpleNamespace(),
    )


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_torch, "_refused", set())


@pytest.mark.parametrize("version", ["2.99.0", "2.99.0+cu140", "2.10.0a0+git0123456", "2.10.0.dev20260101+cpu"])
def test_a_version_that_is_not_tested_is_not_recorded(version: str, no_compiler: None) -> None:
    """One warning says so, and what to install."""
    torch = fake_torch(version)
    with pytest.warns(UserWarning, match="PyTorch is not recorded: there is no C") as caught:
        _torch.attach_to(torch)
    [message] = [str(warning.message) for warning in caught]
    assert "Install one, or say where it is in CXX" in message
    assert f"without a compiler, PyTorch {version} cannot be recorded on" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _torch.attach_to(torch)
    assert _core._torch_bridge() is None


@pytest.mark.skipif(not IS_X86_64_LINUX, reason="PyTorch is not recorded without a compiler here")
@pytest.mark.parametrize("minor", _core._torch_versions_by_name())
def test_a_version_that_is_tested_is_looked_for(minor: str, no_compiler: None) -> None:
    with pytest.warns(UserWarning, match=r"PyTorch is not recorded: .*libtorch_cpu\.so is not loaded"):
        _torch.attach_to(fake_torch(f"{minor}.0"))


@pytest.mark.skipif(IS_X86_64_LINUX, reason="PyTorch is recorded without a compiler here")
def test_no_version_is_recorded_on_other_machines() -> None:
    assert _core._torch_versions_by_name() == []


@pytest.mark.skipif(not IS_X86_64_LINUX, reason="PyTorch is not recorded without a compiler here")
def test_the_versions_are_those_of_the_makefile_and_the_newest() -> None:
    """`make test-torch` asserts that the newest, which it installs, is in the list."""
    [older] = re.findall(r"^TORCH_VERSIONS := (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    *listed, newest = sorted(_core._torch_versions_by_name(), key=numbers)
    assert sorted(older.split(), key=numbers) == listed
    assert newest not in older.split()
    document = (ROOT / "docs" / "pytorch.md").read_text(encoding="utf-8")
    assert f"are tested: {', '.join(listed)} and {newest}." in document


def numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


SCOPE: tuple[Any, ...] = ("mindtorch_v2 self-test", [], 7, 0, 5)
ADD: tuple[Any, ...] = ("aten::add", [], 0, 1, 4)
# One that an operator may call.
INNER: tuple[Any, ...] = ("aten::empty", [], 0, 2, 3)


def delivering(monkeypatch: pytest.MonkeyPatch, seen: list[Any]) -> MagicMock:
    """Stand for the core, and for a PyTorch whose functions deliver this."""
    monkeypatch.setattr(_canary, "_core", SimpleNamespace(_torch_canary=lambda run: (run(), seen)[1]))
    return MagicMock()


@pytest.mark.parametrize("seen", [[SCOPE, ADD, INNER], [(*SCOPE[:4], 3), (*ADD[:4], 2)]])
def test_what_is_delivered_rightly_is_trusted(monkeypatch: pytest.MonkeyPatch, seen: list[Any]) -> None:
    torch = delivering(monkeypatch, seen)
    _canary.check_by_name(torch)
    torch.add.assert_called_once()
    torch.autograd.profiler.record_function.assert_called_once_with(SCOPE[0])


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([], id="nothing"),
        pytest.param([SCOPE], id="no operator on this thread"),
        pytest.param([("another name", *SCOPE[1:]), ADD, INNER], id="name of the scope"),
        pytest.param([SCOPE, ("aten::mul", *ADD[1:]), INNER], id="name of the operator"),
        pytest.param([(SCOPE[0], [], 0, 0, 5), ADD, INNER], id="kind of the scope"),
        pytest.param([SCOPE, (ADD[0], [], 1, 1, 4), INNER], id="kind of the operator"),
        pytest.param([(*SCOPE[:4], None), ADD, INNER], id="no end of the scope"),
        pytest.param([SCOPE, (*ADD[:4], None), INNER], id="no end of the operator"),
        pytest.param([(*SCOPE[:4], 4), (*ADD[:4], 5), INNER], id="the operator ends after the scope"),
        pytest.param([SCOPE, ADD, (*INNER[:4], None)], id="an operator within does not end"),
    ],
)
def test_what_is_delivered_wrongly_is_not_trusted(monkeypatch: pytest.MonkeyPatch, seen: list[Any]) -> None:
    with pytest.raises(_canary.CanaryError, match="PyTorch's functions deliver"):
        _canary.check_by_name(delivering(monkeypatch, seen))


LIBRARY = ("aten::add", _canary._INPUTS, 0, 0, 1)


def test_a_library_that_reads_rightly_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    _canary.check(delivering(monkeypatch, [LIBRARY]))


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([], id="nothing"),
        pytest.param([("aten::mul", *LIBRARY[1:])], id="name"),
        pytest.param([("aten::add", [], 0, 0, 1)], id="inputs"),
        pytest.param([("aten::add", LIBRARY[1], 7, 0, 1)], id="kind"),
        pytest.param([(*LIBRARY[:4], None)], id="no end"),
    ],
)
def test_a_library_that_reads_wrongly_is_not_trusted(monkeypatch: pytest.MonkeyPatch, seen: list[Any]) -> None:
    with pytest.raises(_canary.CanaryError, match="it reads"):
        _canary.check(delivering(monkeypatch, seen))


def test_an_operator_that_fails_is_an_error_of_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = delivering(monkeypatch, [])
    torch.add.side_effect = RuntimeError("out of memory")
    checks: list[Callable[[Any], None]] = [_canary.check, _canary.check_by_name]
    for check in checks:
        with pytest.raises(_canary.CanaryError, match="out of memory"):
            check(torch)
