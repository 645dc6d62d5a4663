"""The library is built where it is needed, once, or it is said why not. Something takes the compiler's place here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tests.torch.bridge.processes import SEEN, SHOW, UNSEEN, compiler_of, finish, run, start

from mindtorch_v2 import _core
from mindtorch_v2._torch import _build

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "import torch" + SHOW
# What a library would read.
DETAILS = """
values = torch.ones(2, 3, requires_grad=True)
with profile(record_shapes=True, with_flops=True, profile_memory=True) as prof:
    with torch.profiler.record_function("scope"):
        values.exp()
[scope, exp] = prof.events()
print(scope.name, exp.name, scope.is_user_annotation, exp.cpu_parent.name, exp.thread == scope.thread)
print(exp.input_shapes, exp.sequence_nr, exp.cpu_memory_usage)
"""
WITHOUT_DETAILS = ["scope aten::exp True scope True", "[] -1 0"]
BUILDING = f"mindtorch_v2: building what records PyTorch {torch.__version__}, this once\n"


@pytest.fixture(scope="module")
def built() -> Path:
    return _build.library_for(torch)


# The releases that are recorded without a library, on x86-64 Linux.
needs_exports = pytest.mark.skipif(
    not _core._torch_versions_by_name(), reason="PyTorch is not recorded without a compiler on this machine"
)


@needs_exports
def test_this_version_is_recorded_without_a_compiler() -> None:
    """The tests below run that. A version that is added to the make targets, or removed, changes the list as well."""
    minor = ".".join(torch.__version__.split(".")[:2])
    assert minor in _core._torch_versions_by_name(), "see VERSIONS_WITHOUT_SHIM in crates/mindtorch-bridge/src/shim.rs"


def by_name(**environment: str) -> str:
    """What is said, once, when there is no library: operators are seen, without all that only a library can read."""
    output, said = run(PROGRAM + DETAILS + SHOW, **environment)
    assert output == [*SEEN, *WITHOUT_DETAILS, *SEEN]
    assert said.count("PyTorch's operators are recorded with their names, times and threads only, without shapes,") == 1
    return said


def test_once(tmp_path: Path, built: Path) -> None:
    environment = {"CXX": compiler_of(tmp_path, built), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(PROGRAM, **environment) == (SEEN, BUILDING)
    assert run(PROGRAM, **environment) == (SEEN, "")
    [library] = (tmp_path / "cache" / "mindtorch_v2").glob("*.so")
    assert library.stat().st_mode & 0o077 == 0
    assert library.parent.stat().st_mode & 0o077 == 0


def test_by_a_compiler_with_arguments(tmp_path: Path, built: Path) -> None:
    compiler = compiler_of(tmp_path, built)
    assert run(PROGRAM, CXX=f"{compiler} -m64", XDG_CACHE_HOME=str(tmp_path / "cache")) == (SEEN, BUILDING)


def test_by_many_at_once(tmp_path: Path, built: Path) -> None:
    """One builds it, and all have it."""
    environment = {"CXX": compiler_of(tmp_path, built), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    processes = [start(PROGRAM, **environment) for _ in range(3)]
    finished = [finish(process) for process in processes]
    assert [output for output, _ in finished] == [SEEN] * 3
    assert sorted(said for _, said in finished) == ["", "", BUILDING]


@pytest.mark.parametrize("damage", ["truncated", "hole", "empty"])
def test_again_when_it_is_damaged(tmp_path: Path, built: Path, damage: str) -> None:
    """Loading a truncated one would be a SIGBUS, and one with a hole a SIGSEGV."""
    environment = {"CXX": compiler_of(tmp_path, built), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(PROGRAM, **environment) == (SEEN, BUILDING)
    [library] = (tmp_path / "cache" / "mindtorch_v2").glob("*.so")
    whole = library.read_bytes()
    half = len(whole) // 2
    library.write_bytes(
        {"truncated": whole[:half], "hole": whole[:4096] + bytes(half) + whole[4096 + half :], "empty": b""}[damage]
    )
    assert run(PROGRAM, **environment) == (SEEN, BUILDING)
    assert run(PROGRAM, **environment) == (SEEN, "")
    assert library.read_bytes() == whole


@needs_exports
def test_without_a_compiler(tmp_path: Path) -> None:
    said = by_name(PATH=str(tmp_path), CXX="", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert "there is no C++ compiler (c++, g++, clang++). Install one, or say where it is in CXX" in said


@needs_exports
def test_with_one_that_is_not_there(tmp_path: Path) -> None:
    said = by_name(CXX=str(tmp_path / "nothing"), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert f"there is no C++ compiler ({tmp_path / 'nothing'})" in said


@needs_exports
def test_with_one_that_fails(tmp_path: Path) -> None:
    script = tmp_path / "compiler"
    script.write_text("#!/bin/sh\nfor line in $(seq 100); do echo line $line >&2; done\nexit 1\n")
    script.chmod(0o700)
    said = by_name(CXX=str(script), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert f"{script} cannot build what records it:\nline 89\n" in said
    assert "line 100\n" in said
    assert "line 88\n" not in said
    assert [file.name for file in (tmp_path / "cache" / "mindtorch_v2").iterdir()] == ["lock"]


def test_for_a_pytorch_whose_private_members_are_others(tmp_path: Path) -> None:
    """It is built without them, and reads as much."""
    script = tmp_path / "compiler"
    script.write_text("""#!/bin/sh
    for argument; do
      [ "$argument" = -DMINDTORCH_REACH ] && echo "in 'struct Reach': no member named 'fn_'" >&2 && exit 1
    done
    exec c++ "$@"
    """)
    script.chmod(0o700)
    environment = {"CXX": str(script), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    seen = [*SEEN, "scope aten::exp True scope True", "[[2, 3]] 0 24"]
    assert run(PROGRAM + DETAILS, **environment) == (seen, BUILDING)
    assert run(PROGRAM + DETAILS, **environment) == (seen, "")


@needs_exports
def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    said = by_name(XDG_CACHE_HOME=str(file))
    assert f"there is no place for what is built: [Errno 20] Not a directory: '{file}/mindtorch_v2'" in said


@needs_exports
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_where_others_can_write(tmp_path: Path, built: Path, mode: int) -> None:
    """Even if what is needed is there: someone else may have put it there."""
    environment = {"CXX": compiler_of(tmp_path, built), "XDG_CACHE_HOME": str(tmp_path)}
    assert run(PROGRAM, **environment)[0] == SEEN
    (tmp_path / "mindtorch_v2").chmod(mode)
    assert f"{tmp_path / 'mindtorch_v2'} can be written to by others" in by_name(**environment)


def not_recorded(program: str, directory: Path) -> str:
    """Return the one warning that PyTorch is not recorded. The program and its own spans continue."""
    environment = {"PATH": str(directory), "CXX": "", "XDG_CACHE_HOME": str(directory / "cache")}
    output, said = run(program + SHOW + OURS + SHOW, **environment)
    assert output == [*UNSEEN, "['ours']", *UNSEEN]
    assert said.count("UserWarning") == said.count("PyTorch is not recorded: there is no C++ compiler") == 1
    assert "Install one, or say where it is in CXX" in said
    return said


OURS = """
from mindtorch_v2.profiler import record_function
with profile() as prof:
    with record_function("ours"):
        torch.ones(2)
print([event.name for event in prof.events()])
"""


def test_without_a_compiler_for_a_version_that_is_not_tested(tmp_path: Path) -> None:
    said = not_recorded("import torch; torch.__version__ = '2.99.0'", tmp_path)
    assert "without a compiler, PyTorch 2.99.0 cannot be recorded" in said


@needs_exports
@pytest.mark.parametrize("wrong", ["[]", "[(*op[:2], 3, *op[3:]) for op in seen]", "[(*op[:4], None) for op in seen]"])
def test_without_a_compiler_where_something_else_is_delivered(tmp_path: Path, wrong: str) -> None:
    """Nothing, another kind of operation, or no ends."""
    program = f"""
import torch
from mindtorch_v2._torch import _canary
original = _canary._seen
def seen_wrongly(run):
    seen = original(run)
    return {wrong}
_canary._seen = seen_wrongly
"""
    assert "PyTorch's functions deliver" in not_recorded(program, tmp_path)


PARITY = """
import sys
import warnings
warnings.simplefilter("ignore")
from tests.torch.bridge import programs
from tests.torch.bridge.both import facts, ours_on_cpu, theirs_on_cpu
known = ("name", "parent", "thread", "scope", "is_user_annotation")
for program in programs.mlp, programs.transformer, programs.function, programs.jit:
    run = program()
    run()
    with ours_on_cpu() as ours, theirs_on_cpu() as theirs:
        run()
    one, other = ([[event[key] for key in known] for event in facts(prof)] for prof in (ours, theirs))
    print(one == other, len(one) > 20)
"""


@needs_exports
def test_what_is_seen_without_a_library_is_the_same(tmp_path: Path) -> None:
    """Names, order, nesting, threads and kinds."""
    output, _ = run(PARITY, PATH=str(tmp_path), CXX="", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert output == ["True True"] * 4
