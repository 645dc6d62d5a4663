"""``mtprof diff`` and ``mtprof check`` on recordings that are made here.

What is slower is so by a factor that no noise makes, and what is equal is one and the same recording.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, schedule
from mindtorch_v2.profiler.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = 24
RECORDINGS = 3
MANY = 100
"""How many times as much the slower operator computes."""
# The same functions further down in their file are the same places.
PROGRAM = """{moved}
def first(few):
    few.exp()

def second(few, slowed):
    slowed.exp()

def step(few, slowed):
    first(few)
    second(few, slowed)
    for operation in (few.add, few.mul, few.sub, few.div):
        operation(few)
    few.tanh()
    few.sum()
"""


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Run a command and return its status and its answer."""

    def run(*arguments: str | Path) -> tuple[int, Any]:
        capfd.readouterr()
        status = main(["--json", *map(str, arguments)])
        return status, json.loads(capfd.readouterr().out)

    return run


def recorded(folder: Path, times: int = 1, moved: int = 0, device: str = "cpu") -> Path:
    """Record the program some times; its `second` computes so many times as much."""
    folder.mkdir()
    for number in range(RECORDINGS):
        record(folder / f"{number}.json.gz", times, moved, device)
    return folder


def record(path: Path, times: int, moved: int, device: str) -> None:
    """Record steps of the program."""
    names: dict[str, Any] = {}
    exec(compile(PROGRAM.format(moved="\n" * moved), "train.py", "exec"), names)
    few = torch.rand(64, 64, device=device)
    slowed = torch.rand(64 * times, 64, device=device)
    plan = schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with profile(schedule=plan, with_stack=True, on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:
        for _ in range(STEPS + 1):
            names["step"](few, slowed)
            prof.step()


def exps(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rows of `exp` by the functions of the program that they were called from, innermost first."""
    rows = [row for row in answer["rows"] if row["key"]["name"] == "aten::exp"]
    return {" < ".join(frame for frame in row["key"].get("stack", ()) if "train.py" in frame): row for row in rows}


def test_stacks_tell_which_call_is_slower(tmp_path: Path, ask: Callable[..., tuple[int, Any]]) -> None:
    before, after = recorded(tmp_path / "before"), recorded(tmp_path / "after", times=MANY, moved=7)
    status, answer = ask("diff", before, after, "--by", "stack", "--fail-on", "slower")
    assert status == 1
    found = exps(answer)
    assert found.keys() == {"train.py: first < train.py: step", "train.py: second < train.py: step"}
    equal, slower = (found[f"train.py: {name} < train.py: step"] for name in ("first", "second"))
    assert slower["verdict"] == "slower"
    assert slower["cpu"]["relative"] > 10 > equal["cpu"]["relative"]
    assert all(row["a"]["totals"]["count"] == RECORDINGS * STEPS for row in found.values())


def test_names_alone_do_not_tell_calls_apart(tmp_path: Path, ask: Callable[..., tuple[int, Any]]) -> None:
    before, after = recorded(tmp_path / "before"), recorded(tmp_path / "after", times=MANY)
    _, answer = ask("diff", before, after)
    found = exps(answer)
    assert found.keys() == {""}
    assert found[""]["verdict"] == "slower"
    assert found[""]["a"]["totals"]["count"] == 2 * RECORDINGS * STEPS


def test_a_baseline_is_exceeded_by_what_is_slower(tmp_path: Path, ask: Callable[..., tuple[int, Any]]) -> None:
    equal, slower = recorded(tmp_path / "equal"), recorded(tmp_path / "slower", times=MANY)
    baseline = tmp_path / "baseline.json"
    assert ask("check", equal, "--write-baseline", baseline)[0] == 0
    status, answer = ask("check", equal, "--baseline", baseline)
    assert (status, answer["ok"], answer["slower"]) == (0, True, [])
    assert answer["diff"]["recordings"] == [RECORDINGS, RECORDINGS]
    assert answer["diff"]["steps"] == [RECORDINGS * STEPS] * 2
    assert all(row["cpu"]["change_ns"] == 0 for row in answer["diff"]["rows"] if row["cpu"])
    status, answer = ask("check", slower, "--baseline", baseline)
    assert (status, answer["ok"]) == (1, False)
    (line,) = [line for line in answer["slower"] if line.startswith("aten::exp: ")]
    assert " % slower than the baseline (noise " in line
    assert " at equal speed of the machine (" in line
    assert " as measured, but the machine took " in line


def test_a_slower_kernel_is_compared_at_equal_speed_of_the_device(
    tmp_path: Path, ask: Callable[..., tuple[int, Any]]
) -> None:
    baseline = tmp_path / "baseline.json"
    assert ask("check", recorded(tmp_path / "equal", device="npu"), "--write-baseline", baseline)[0] == 0
    slower = recorded(tmp_path / "slower", device="npu", times=MANY)
    status, answer = ask("check", slower, "--baseline", baseline)
    assert status == 1
    kernels = {row["key"]["name"] for row in answer["diff"]["rows"] if row["key"]["kind"] == "device"}
    lines = [line for line in answer["slower"] if line.split(": ")[0] in kernels]
    assert any(" at equal speed of the device (" in line for line in lines)


def test_a_slower_recording_may_become_the_baseline(tmp_path: Path, ask: Callable[..., tuple[int, Any]]) -> None:
    equal, slower = recorded(tmp_path / "equal"), recorded(tmp_path / "slower", times=MANY)
    baseline = tmp_path / "baseline.json"
    assert ask("check", equal, "--write-baseline", baseline)[0] == 0
    status, _ = ask("check", slower, "--baseline", baseline, "--write-baseline", baseline)
    assert status == 1
    assert ask("check", slower, "--baseline", baseline)[0] == 0


@pytest.fixture
def on_npu(tmp_path: Path) -> Path:
    """Record work on the NPU with waits between, and memory."""
    path = tmp_path / "npu.json"
    with profile(profile_memory=True) as prof:
        held = torch.ones(256, 1024, device="npu")
        for _ in range(3):
            held.exp_()
            torch.npu.synchronize()
            torch.rand(200, 200).exp()
    prof.export_chrome_trace(path)
    return path


def checked(answer: dict[str, Any], what: str) -> dict[str, Any]:
    (found,) = [limit for limit in answer["limits"] if limit["what"] == what]
    return dict(found)


@pytest.mark.parametrize(("peak", "is_exceeded"), [("1023 KiB", True), ("1 GiB", False)])
def test_memory_is_held_to_its_budget(
    peak: str, is_exceeded: bool, on_npu: Path, tmp_path: Path, ask: Callable[..., tuple[int, Any]]
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text(f'[memory."npu:0"]\npeak = "{peak}"\n[memory.cpu]\npeak = "1 GiB"\n', encoding="utf-8")
    status, answer = ask("check", on_npu, "--budget", budget)
    limit = checked(answer, "memory npu:0 peak")
    assert (status, limit["exceeded"]) == (int(is_exceeded), is_exceeded)
    assert limit["measured"] >= 256 * 1024 * 4
    _, (summary,) = ask("summary", on_npu)
    peaks = {memory["device"]: memory["bytes"] for memory in summary["memory"]}
    assert peaks["npu:0"] == limit["measured"]
    assert peaks["cpu"] == checked(answer, "memory cpu peak")["measured"] > 0


@pytest.mark.parametrize(("part", "is_exceeded"), [("0 %", True), ("100 %", False)])
def test_idle_devices_are_held_to_their_budget(
    part: str, is_exceeded: bool, on_npu: Path, tmp_path: Path, ask: Callable[..., tuple[int, Any]]
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text(f'[idle]\ndevice = "{part}"\n', encoding="utf-8")
    status, answer = ask("check", on_npu, "--budget", budget)
    limit = checked(answer, "idle device")
    assert (status, limit["exceeded"]) == (int(is_exceeded), is_exceeded)
    _, (summary,) = ask("summary", on_npu)
    (device,) = summary["devices"]
    assert limit["measured"] == pytest.approx(device["idle_ns"] / (device["end_ns"] - device["start_ns"]))
    assert 0 < limit["measured"] < 1
