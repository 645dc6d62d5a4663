"""The end of the interpreter, with threads, profilers, scopes and callbacks that are not done yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.faults.support import names_in
from tests.profiler.support import output_of, read_json, run_program, spans

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import atexit, sys, threading, weakref
import mindtorch_v2 as torch
from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function, schedule
options = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_flops": True}
def show(prof):
    print(sorted({event.name for event in prof.events() if event.is_user_annotation}))
"""

# Threads that do not stop when the interpreter does: in the middle of scopes, of work without the interpreter's lock,
# of looks at a recording, of exports.
BUSY = """
started = threading.Barrier(5)
def busy(work):
    work()
    started.wait()
    while True:
        work()
def compute():
    with record_function("compute"):
        torch.ones(300, 300) @ torch.ones(300, 300)
def on_device():
    with record_function("on device"):
        (torch.ones(100, device="npu") + 1).cpu()
def scopes():
    for _ in range(100):
        with record_function("outer"), record_function("inner"):
            pass
def look():
    prof.events(); prof.key_averages().table(); prof.export_chrome_trace("busy.json")
prof = profile(**options)
prof.start()
for work in (compute, on_device, scopes, look):
    threading.Thread(target=busy, args=(work,), daemon=True).start()
started.wait()
"""

ENDINGS = {
    "at its end": "",
    "by an exit": "sys.exit(0)",
    "after a stop": "prof.stop()",
    "with a scope open": "record_function('open').__enter__()",
    "with a callback": "atexit.register(prof.stop)",
    "in the middle of a scope": "with record_function('open'): sys.exit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_daemon_threads_that_record(ending: str, tmp_path: Path) -> None:
    for _ in range(3):
        run = run_program(HEAD + BUSY + ENDINGS[ending], directory=tmp_path)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("flags", ["", "**options"])
def test_a_profiler_that_is_running_and_scopes_that_are_open(flags: str) -> None:
    program = f"""
prof = profile({flags})
opened = record_function("before")
opened.__enter__()
prof.start()
record_function("open").__enter__()
def generate():
    with record_function("in a generator"):
        yield
generator = generate()
next(generator)
torch.ones(2, device="npu") + 1
"""
    assert output_of(HEAD + program) == []


def test_callbacks_that_record_look_and_export(tmp_path: Path) -> None:
    program = """
prof = profile(**options, on_trace_ready=lambda prof: prof.export_chrome_trace("ready.json"))
prof.start()
def last():
    with record_function("last"):
        torch.ones(2) + 1
    prof.stop()
    show(prof)
    prof.export_chrome_trace("last.json.gz")
    with profile() as again, record_function("again"):
        pass
    show(again)
atexit.register(last)
with record_function("work"):
    pass
"""
    assert output_of(HEAD + program, directory=tmp_path) == ["['last', 'work']", "['again']"]
    assert names_in(tmp_path) == ["last.json.gz", "ready.json"]
    assert {"work", "last"} <= {span["name"] for span in spans(read_json(tmp_path / "ready.json"))}


def test_objects_that_record_and_export_when_they_are_destroyed(tmp_path: Path) -> None:
    program = """
class Last:
    def __init__(self, name, made=profile, scope=record_function):
        self.name, self.made, self.scope = name, made, scope
    def __del__(self):
        with self.made() as prof, self.scope(self.name):
            pass
        prof.export_chrome_trace(f"{self.name}.json")
cycle = Last("cycle")
cycle.itself = cycle
last = Last("last")
weakref.finalize(last, Last("finalize").__del__)
sys.kept = Last("kept")
"""
    assert output_of(HEAD + program, directory=tmp_path) == []
    made = names_in(tmp_path)
    # The interpreter may have taken modules apart before the others, so that nothing can be called any more.
    assert "finalize.json" in made
    assert set(made) <= {"finalize.json", "cycle.json", "last.json", "kept.json"}
    assert all(spans(read_json(tmp_path / name)) for name in made)


def test_an_exception_that_ends_the_program_is_its_own(tmp_path: Path) -> None:
    program = """
prof = profile(**options, on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"))
with prof, record_function("work"):
    raise KeyError("the program's")
"""
    run = run_program(HEAD + program, directory=tmp_path)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == 'KeyError: "the program\'s"'
    assert "work" in {span["name"] for span in spans(read_json(tmp_path / "trace.json"))}


def test_an_export_that_fails_at_the_end_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    program = """
prof = profile()
prof.start()
prof.stop()
atexit.register(prof.export_chrome_trace, "no/such/directory/trace.json")
print("done")
"""
    run = run_program(HEAD + program, directory=tmp_path)
    assert run.stdout == "done\n"
    assert "FileNotFoundError: [Errno 2] No such file or directory: 'no/such/directory/trace.json'" in run.stderr
    assert names_in(tmp_path) == []
