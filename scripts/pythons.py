"""Runs the Python tests on each CPython from 3.10 to 3.14 that is found, against one installed wheel.

``python scripts/pythons.py WHEEL`` runs all tests on all versions. With ``--quick`` it runs the tests that depend
on the interpreter, on the oldest and the newest version beside the one that runs this script.

Interpreters are searched as ``python3.X`` on the PATH and among the versions of pyenv. Each has an environment in
``.venv-pythons``, which is kept. The output of pytest is in ``.venv-pythons/3.X.txt``, and is printed if tests fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv-pythons"
MINORS = range(10, 15)
# Prints a line for a CPython with the GIL that can make environments. Free-threaded builds are not supported.
PROBE = """
import sys, sysconfig, venv
if sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(f"{sys.version_info.major}.{sys.version_info.minor} {sys.executable}")
"""
# `--quick` leaves these out: native code computes the same values under every interpreter, and tools of the repository
# run under the default one.
INDEPENDENT = [
    "tests/test_bench_costs.py",
    "tests/test_gradients.py",
    "tests/test_indexing.py",
    "tests/test_models.py",
    "tests/test_ops.py",
]


class Outcome(NamedTuple):
    """The result of the tests under one interpreter."""

    passed: bool
    output: str
    seconds: float


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository's root, and return its status and its combined output."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def find(version: str) -> Path | None:
    """Return the first interpreter of this version that starts."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    on_path = [Path(directory) / name for directory in os.environ.get("PATH", "").split(os.pathsep) if directory]
    for path in [*on_path, *sorted(pyenv.glob(f"versions/{version}*/bin/{name}"))]:
        # pyenv's shims exist for all versions, and fail for those that are not selected.
        if os.access(path, os.X_OK):
            done = run(path, "-c", PROBE)
            found, _, executable = done.stdout.strip().partition(" ")
            if done.returncode == 0 and found == version:
                return Path(executable)
    return None


def checked(*command: str | Path) -> None:
    """Run a command that has to succeed."""
    done = run(*command)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed with status {done.returncode}:\n{done.stdout}")


def prepare(version: str, python: Path, wheel: Path) -> Path:
    """Install the wheel in an environment of this interpreter, and return the environment's interpreter."""
    environment = ENVIRONMENTS / version
    installed = environment / "bin" / "python"
    made_from = environment / "made-from.txt"
    description = f"{python}\n{run(python, '-VV').stdout}{(ROOT / 'pyproject.toml').read_text(encoding='utf-8')}"
    # The pip of the environment that runs this script: older ones that come with Python do not know `--group`.
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", installed, "install"]
    if not made_from.exists() or made_from.read_text(encoding="utf-8") != description:
        checked(python, "-m", "venv", "--clear", "--without-pip", environment)
        checked(*pip, "--group", "tests")
        made_from.write_text(description, encoding="utf-8")
    checked(*pip, "--force-reinstall", "--no-deps", wheel)
    done = run(installed, "-c", "import mindtorch_v2; print(mindtorch_v2.__file__)")
    if not done.stdout.startswith(f"{environment}{os.sep}"):
        raise RuntimeError(
            f"The tests would not use the wheel in {environment}: importing mindtorch_v2 gave\n{done.stdout}"
        )
    return installed


def test(version: str, python: Path, wheel: Path, left_out: list[str]) -> Outcome:
    """Run the tests under one interpreter."""
    begin = time.monotonic()
    try:
        installed = prepare(version, python, wheel)
    except RuntimeError as error:
        return Outcome(passed=False, output=str(error), seconds=time.monotonic() - begin)
    # Runs at the same time would write the same cache.
    pytest: list[str | Path] = [installed, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = run(*pytest, *(f"--ignore={path}" for path in left_out))
    ENVIRONMENTS.joinpath(f"{version}.txt").write_text(done.stdout, encoding="utf-8")
    return Outcome(passed=done.returncode == 0, output=done.stdout, seconds=time.monotonic() - begin)


def main() -> int:
    """Test, and print the outcome of each version."""
    parser = argparse.ArgumentParser(description="Runs the Python tests on several CPythons.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer tests, on two versions beside this one")
    parser.add_argument("--only", nargs="+", metavar="VERSION", help="test these versions, such as 3.13")
    arguments = parser.parse_args()

    versions = arguments.only or [f"3.{minor}" for minor in MINORS]
    found = {version: path for version in versions if (path := find(version))}
    chosen = list(found)
    if arguments.quick:
        others = [version for version in found if version != f"3.{sys.version_info.minor}"]
        chosen = others if len(others) <= 2 else [others[0], others[-1]]
    for version, path in found.items():
        print(f"CPython {version}: {path}{'' if version in chosen else ' (not tested)'}", flush=True)
    if missing := [version for version in versions if version not in found]:
        print(f"Not found: CPython {', '.join(missing)}", flush=True)
    if not found or (arguments.only and missing):
        return 1

    wheel, left_out = arguments.wheel.resolve(), INDEPENDENT if arguments.quick else []
    ENVIRONMENTS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda version: test(version, found[version], wheel, left_out), chosen))
    for version, outcome in zip(chosen, outcomes, strict=True):
        if not outcome.passed:
            print(f"\nCPython {version}:\n{outcome.output}")
    for version, outcome in zip(chosen, outcomes, strict=True):
        last_line = outcome.output.strip().rpartition("\n")[2].strip("= ")
        print(f"CPython {version}: {'passed' if outcome.passed else 'FAILED'} in {outcome.seconds:.0f} s: {last_line}")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
