"""How the recorder and PyTorch find each other, and when they do not."""

from __future__ import annotations

import shutil
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
import torch
from tests.torch.bridge.both import NO_OVERLOADS
from tests.torch.bridge.processes import SEEN, SHOW, UNSEEN, compiler_of, quiet, run

from mindtorch_v2._torch import _build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module", autouse=True)
def built() -> Path:
    """The library, so that no program here has to wait for it, or says that it is being built."""
    return _build.library_for(torch)


@pytest.mark.parametrize(
    "imports", ["import torch, mindtorch_v2", "import mindtorch_v2, torch", "import mindtorch_v2.profiler, torch"]
)
def test_in_any_order(imports: str) -> None:
    assert quiet(imports + SHOW) == SEEN


WHILE_RECORDING = """
import sys
import mindtorch_v2
from mindtorch_v2.profiler import profile
prof = profile(profile_memory=True)
prof.start()
{before}
import torch
torch.ones(2)
prof.stop()
print([event.name for event in prof.events()])
print([event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"])
print(type(torch.__spec__.loader).__name__, type(torch.__loader__).__name__)
print([finder for finder in sys.meta_path if "mindtorch" in type(finder).__module__])
"""


@pytest.mark.parametrize("before", ["", "import importlib.util; assert importlib.util.find_spec('torch').loader.path"])
def test_imported_while_recording(before: str) -> None:
    seen, memory, loader, finders = quiet(WHILE_RECORDING.format(before=before))
    assert seen == "['aten::ones', 'aten::empty', 'aten::fill_', '[memory]']"
    assert memory == "[8]"
    assert loader == "SourceFileLoader SourceFileLoader"
    assert finders == "[]"


# The import of another thread stops where it looks for a module within torch.distributed, which is there by then and
# lacks most of its names.
WHILE_IMPORTED = """
import importlib, sys, threading
from mindtorch_v2.profiler import profile

class Pause:
    paused, goes_on = threading.Event(), threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name.startswith("torch.distributed.") and not self.paused.is_set():
            self.paused.set()
            assert self.goes_on.wait(300)

sys.meta_path.insert(0, Pause())
thread = threading.Thread(target=importlib.import_module, args=["torch"], daemon=True)
thread.start()
assert Pause.paused.wait(300)
assert not hasattr(sys.modules["torch.distributed"], "is_initialized")
prof = profile()
prof.start()
Pause.goes_on.set()
thread.join()
import torch
torch.ones(2)
prof.stop()
print([event.name for event in prof.events()])
print(type(torch.__spec__).__name__)
print([finder for finder in sys.meta_path if "mindtorch" in type(finder).__module__])
print(torch.autograd.profiler._is_profiler_enabled)
"""


def test_started_while_another_thread_imports() -> None:
    seen, spec, finders, is_enabled = quiet(WHILE_IMPORTED)
    assert seen == "['aten::ones', 'aten::empty', 'aten::fill_']"
    assert spec == "ModuleSpec"
    assert finders == "[]"
    assert is_enabled == "False"


@pytest.mark.skipif(NO_OVERLOADS, reason="this version has no overloads")
def test_overloads_of_what_is_imported_while_recording() -> None:
    program = """
    from mindtorch_v2.profiler import _ExperimentalConfig, profile
    with profile(experimental_config=_ExperimentalConfig(capture_overload_names=True)) as prof:
        import torch
        torch.ones(2).add(1)
    print([event.overload_name for event in prof.events() if event.name == "aten::add"])
    """
    assert quiet(program) == ["['Tensor']"]


def test_imported_after_a_recording() -> None:
    program = """
    import mindtorch_v2
    from mindtorch_v2.profiler import profile
    with profile():
        pass
    import torch
    """
    assert quiet(dedent(program) + SHOW) == SEEN


def test_what_is_called_torch_and_is_not(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("def ones(n): return n")
    program = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from mindtorch_v2.profiler import profile
    with profile() as prof:
        import torch
    with profile() as prof:
        print(torch.ones(3))
    """
    assert quiet(program, tmp_path) == ["3"]


def test_left_alone() -> None:
    assert quiet("import torch" + SHOW, MINDTORCH_TORCH="0") == UNSEEN


# A library that says what it is, and can do nothing.
OTHER = """
#include <stdint.h>
struct shim { uint32_t version; const char *(*torch)(void); };
static const char *torch(void) { return "0.1+other"; }
static struct shim table = { 0, torch };
const void *mindtorch_bridge(const uint32_t *recorder) {
  table.version = *recorder + DIFFERENCE;
  return &table;
}
"""


def library_of(directory: Path, source: str, *options: str) -> Path:
    library, file = directory / "other.so", directory / "other.c"
    file.write_text(source)
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler
    subprocess.run([compiler, "-shared", "-fPIC", *options, "-o", library, file], check=True)
    return library


def refused(directory: Path, library: Path) -> str:
    """What is said of a library that is not used. Nothing is recorded, and the program goes on."""
    cache = directory / "cache"
    output, said = run("import torch" + SHOW, CXX=compiler_of(directory, library), XDG_CACHE_HOME=str(cache))
    assert output == UNSEEN
    assert "UserWarning: PyTorch is not recorded: " in said
    return said


def test_built_for_another_pytorch(tmp_path: Path) -> None:
    said = refused(tmp_path, library_of(tmp_path, OTHER, "-DDIFFERENCE=0"))
    assert f"was built for PyTorch 0.1+other, and this is {torch.__version__}" in said


def test_of_another_version_of_the_recorder(tmp_path: Path) -> None:
    said = refused(tmp_path, library_of(tmp_path, OTHER, "-DDIFFERENCE=1"))
    assert "is not a bridge for this version of mindtorch_v2" in said


def test_one_that_knows_better_and_refuses(tmp_path: Path) -> None:
    said = refused(tmp_path, library_of(tmp_path, "const void *mindtorch_bridge(const void *_) { return 0; }"))
    assert "is not a bridge for this version of mindtorch_v2" in said


def test_a_library_of_something_else(tmp_path: Path) -> None:
    assert "it has no mindtorch_bridge" in refused(tmp_path, library_of(tmp_path, "int unrelated;"))


def test_what_is_no_library(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no library")
    assert "cannot load" in refused(tmp_path, text)


def test_one_that_misreads(tmp_path: Path) -> None:
    """Sizes and strides changed places, as they would if a struct had changed: nothing that it says is believed."""
    right = "at::kStrided ? impl->strides()"
    broken = tmp_path / "shim"
    shutil.copytree(_build._SOURCE.parent, broken)
    inputs = broken / "inputs.h"
    source = inputs.read_text(encoding="utf-8")
    assert right in source
    inputs.write_text(source.replace(right, "at::kStrided ? impl->sizes()"))
    program = """
    import sys
    from pathlib import Path
    import torch
    from mindtorch_v2._torch import _build
    _build._SOURCE = Path(sys.argv[1])
    """
    output, said = run(dedent(program) + SHOW + SHOW, broken / "shim.cpp", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert output == UNSEEN * 2
    assert said.count("PyTorch is not recorded: of an operator that is ('aten::add'") == 1
