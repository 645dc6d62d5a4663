"""Recordings that start while another thread imports PyTorch. A package of the same name stands for it.

Its import stops in ``torch.distributed``, so that both modules lack most of their names, until the test lets it go on.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mindtorch_v2 import _torch
from mindtorch_v2._torch import _hook, _program
from mindtorch_v2.profiler import profile, supported_activities

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT_S = 120


class Import:
    """An import of the package in another thread, which waits at the place where the package calls ``pause``."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._is_paused, self._goes_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            importlib.import_module("torch")
        except BaseException as error:
            self.error = error

    def pause(self) -> None:
        self._is_paused.set()
        assert self._goes_on.wait(TIMEOUT_S)

    def start(self) -> int | None:
        self._thread.start()
        assert self._is_paused.wait(TIMEOUT_S)
        return self._thread.ident

    def finish(self) -> None:
        self._goes_on.set()
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "torch"
    (package / "distributed").mkdir(parents=True)
    (package / "__init__.py").write_text("import torch.distributed\nis_finished = True\n")
    pausing = "import sys\nsys.pause_import()\ndef is_available(): return False\n"
    (package / "distributed" / "__init__.py").write_text(pausing)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    _hook.stop_watching()
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]


@pytest.fixture
def importing(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Import]:
    importing = Import()
    monkeypatch.setattr(sys, "pause_import", importing.pause, raising=False)
    yield importing
    importing.finish()


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Note each call of `attach_to`: the thread, and whether all of the module's code had run."""
    calls: list[tuple[int, bool]] = []

    def attach_to(torch: Any) -> None:
        calls.append((threading.get_ident(), hasattr(torch, "is_finished")))

    monkeypatch.setattr(_torch, "attach_to", attach_to)
    return calls


def watchers() -> list[object]:
    return [finder for finder in sys.meta_path if isinstance(finder, _hook._TorchFinder)]


def spec_class() -> type:
    return type(sys.modules["torch"].__spec__)


def test_a_recording_starts_while_another_thread_imports(importing: Import) -> None:
    importing.start()
    with profile() as prof:
        assert _torch.with_cuda() is None
        assert supported_activities()
        assert _program.distributed_info() is None
    assert prof.events() == []
    importing.finish()
    assert importing.error is None


def test_a_module_that_is_being_imported_counts_as_absent(importing: Import) -> None:
    importing.start()
    assert [_hook.imported(name) for name in ("torch", "torch.distributed", "torch.nothing")] == [None] * 3
    importing.finish()
    assert _hook.imported("torch") is sys.modules["torch"]
    assert _hook.imported("torch.distributed") is sys.modules["torch.distributed"]
    assert _hook.imported("torch.nothing") is None


def test_a_module_counts_as_absent_while_its_parent_is_being_imported(
    package: Path, importing: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__init__.py").write_text("import torch.distributed, sys\nsys.pause_import()\n")
    (package / "distributed" / "__init__.py").write_text("def is_available(): return False\n")
    importing.start()
    assert not _hook.is_being_imported(sys.modules["torch.distributed"])
    assert _hook.imported("torch.distributed") is None


def test_pytorch_is_attached_in_the_thread_that_ends_its_import(
    importing: Import, attached: list[tuple[int, bool]]
) -> None:
    thread = importing.start()
    with profile():
        assert attached == []
        importing.finish()
        assert attached == [(thread, True)]
    assert spec_class() is importlib.machinery.ModuleSpec
    assert watchers() == []


def test_pytorch_is_attached_when_another_thread_imports_it_during_a_recording(
    importing: Import, attached: list[tuple[int, bool]]
) -> None:
    with profile():
        thread = importing.start()
        importing.finish()
        assert attached == [(thread, True)]
    assert spec_class() is importlib.machinery.ModuleSpec
    assert watchers() == []


def test_two_recordings_start_during_one_import(importing: Import, attached: list[tuple[int, bool]]) -> None:
    thread = importing.start()
    with profile():
        pass
    with profile():
        importing.finish()
    assert attached == [(thread, True)]
    assert spec_class() is importlib.machinery.ModuleSpec


def test_an_import_that_ends_after_the_recording(importing: Import, attached: list[tuple[int, bool]]) -> None:
    importing.start()
    with profile():
        pass
    importing.finish()
    assert attached == []
    with profile():
        assert attached == [(threading.get_ident(), True)]


def test_an_import_that_fails(
    package: Path, importing: Import, attached: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next import is watched as well."""
    whole = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text("import torch.distributed\nraise ImportError('it is broken')\n")
    importing.start()
    with profile():
        importing.finish()
        assert str(importing.error) == "it is broken"
        assert attached == []
        (package / "__init__.py").write_text(whole + "# of another size, so that the compiled file is not used\n")
        importlib.invalidate_caches()
        importlib.import_module("torch")
        assert attached == [(threading.get_ident(), True)]


def test_an_error_while_attaching_leaves_the_module_imported(
    importing: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_torch: Any) -> None:
        raise ValueError("attaching has failed")

    monkeypatch.setattr(_torch, "attach_to", fail)
    importing.start()
    with profile():
        importing.finish()
    assert str(importing.error) == "attaching has failed"
    assert not _hook.is_being_imported(sys.modules["torch"])
    assert spec_class() is importlib.machinery.ModuleSpec


def test_finding_is_not_importing(package: Path, attached: list[tuple[int, bool]]) -> None:
    with profile():
        assert importlib.util.find_spec("torch") is not None
        assert attached == []
        assert len(watchers()) == 1


def test_threads_attach_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits until the first is done, and finds that there is nothing left to do."""
    calls = 0
    others: list[threading.Thread] = []

    def attach(torch: Any) -> None:
        nonlocal calls
        calls += 1
        if not others:
            others.append(threading.Thread(target=_torch.attach_to, args=[torch]))
            others[0].start()
        _torch._refused.add(id(torch))

    monkeypatch.setattr(_torch, "_attach_to", attach)
    monkeypatch.setattr(_torch, "_is_pytorch", lambda _torch: True)
    monkeypatch.setattr(_torch, "_refused", set())
    _torch.attach_to(object())
    others[0].join(TIMEOUT_S)
    assert not others[0].is_alive()
    assert calls == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_process_attaches_though_a_thread_of_its_parent_was_attaching() -> None:
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with _torch._attaching:
            is_held.set()
            may_end.wait(TIMEOUT_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(TIMEOUT_S)
    child = os.fork()
    if child == 0:
        os._exit(0 if _torch._attaching.acquire(blocking=False) else 1)
    may_end.set()
    thread.join(TIMEOUT_S)
    assert os.waitpid(child, 0)[1] == 0
