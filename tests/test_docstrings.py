"""The examples in docstrings: every public name of the profiler has one, and each gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import mindtorch_v2.autograd.profiler
import mindtorch_v2.autograd.profiler_util
import mindtorch_v2.profiler

PUBLIC = [mindtorch_v2.profiler, mindtorch_v2.autograd.profiler, mindtorch_v2.autograd.profiler_util]
MODULES = sorted(
    module.name
    for package in ("mindtorch_v2.profiler", "mindtorch_v2.autograd")
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
)


@pytest.mark.parametrize("name", ["mindtorch_v2.profiler", "mindtorch_v2.autograd", *MODULES])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_example_gives_what_it_says(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_example_of_a_native_class_gives_what_it_says() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    (found,) = finder.find(mindtorch_v2.profiler.record_function, "record_function", module=False, globs={})[:1]
    assert runner.run(found).attempted > 0
    assert runner.failures == 0


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_every_public_name_has_an_example(module: object) -> None:
    names: list[str] = module.__all__  # type: ignore[attr-defined]
    without = [name for name in names if ">>>" not in (inspect.getdoc(getattr(module, name)) or "")]
    assert without == []
