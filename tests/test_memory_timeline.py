"""The memory timeline: exact bytes of every category, on both devices, in all forms."""

from __future__ import annotations

import gc
import gzip
import json
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.programs import memory as programs
from tests.profiler.support import NO_WARMUP

import mindtorch_v2
from mindtorch_v2.profiler import profile, schedule
from mindtorch_v2.profiler._memory_profiler import Action, Category, Key, MemoryProfileTimeline, TensorKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch: Any = mindtorch_v2
DEVICES = ["cpu", "npu:0"]
CATEGORIES = (
    "PARAMETER",
    "OPTIMIZER_STATE",
    "INPUT",
    "TEMPORARY",
    "ACTIVATION",
    "GRADIENT",
    "AUTOGRAD_DETAIL",
    "UNKNOWN",
)
CREATE, DESTROY = Action.CREATE.value, Action.DESTROY.value


def recording(**options: Any) -> profile:
    return profile(record_shapes=True, profile_memory=True, with_stack=True, **options)


def raw(prof: profile, directory: Path, device: str = "cpu") -> list[list[int]]:
    path = directory / "timeline.raw.json"
    prof.export_memory_timeline(path, device)
    entries: list[list[int]] = json.loads(path.read_text())
    return entries


def created(prof: profile, directory: Path, device: str = "cpu") -> dict[str, list[int]]:
    """The sizes of the blocks that were allocated, by category."""
    found: dict[str, list[int]] = defaultdict(list)
    for _, action, size, category in raw(prof, directory, device):
        if action == CREATE:
            found[CATEGORIES[category]].append(size)
    return dict(found)


def rounded(size: int, device: str) -> int:
    """What an allocator sets aside for a block."""
    return size if device == "cpu" else -(-size // 512) * 512


@pytest.mark.parametrize("device", DEVICES)
def test_every_byte_of_a_training_has_its_category(device: str, tmp_path: Path) -> None:
    run = programs.adam(torch, device, steps=1)
    gc.collect()
    with recording() as prof:
        run()

    def blocks(*counts: int) -> list[int]:
        return sorted(rounded(4 * count, device) for count in counts)

    weights = blocks(64 * 128, 128, 128 * 10, 10)
    entries = raw(prof, tmp_path, device)
    existed = [size for _, action, size, category in entries if action == 1 and CATEGORIES[category] == "PARAMETER"]
    # Others may be alive in this process.
    assert all(existed.count(size) >= weights.count(size) for size in weights)
    found = created(prof, tmp_path, device)
    assert sorted(found["GRADIENT"]) == weights
    # The counts of steps: one for each, then all in one block.
    state = [size for size in found["OPTIMIZER_STATE"] if size not in {4, 16, 512}]
    assert sorted(state + [512] * found["OPTIMIZER_STATE"].count(512))[-6:] == sorted(weights * 2)[-6:]
    # Two layers, the non-linearity, the difference, its square and the sum.
    assert sorted(found["ACTIVATION"]) == blocks(16 * 128, 16 * 128, 16 * 10, 16 * 10, 16 * 10, 1)
    assert "INPUT" not in found
    assert "UNKNOWN" not in found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["adam", "adam by hand", "convolutions", "transformer", "by hand", "no model"])
def test_the_categories_add_up_to_what_the_allocator_says(
    name: str, device: str, tmp_path: Path, exported: Callable[[profile], dict[str, Any]]
) -> None:
    run = programs.PROGRAMS[name](torch, device)
    with recording() as prof:
        run()
    entries = raw(prof, tmp_path, device)
    total, totals = 0, []
    for _, action, size, _ in entries:
        total += size
        if action in {CREATE, DESTROY}:
            totals.append(total)
    kind = 0 if device == "cpu" else 1
    instants = [event for event in exported(prof)["traceEvents"] if event.get("name") == "[memory]"]
    of_device = sorted((event["ts"], event["args"]) for event in instants if event["args"]["Device Type"] == kind)
    assert totals == [args["Total Allocated"] for _, args in of_device]
    sizes = read(prof, tmp_path, device)[1]
    assert all(size >= 0 for row in sizes for size in row)
    assert sum(sizes[-1]) == total


def read(prof: profile, directory: Path, device: str = "cpu") -> tuple[list[int], list[list[int]]]:
    path = directory / "timeline.json"
    prof.export_memory_timeline(path, device)
    times, sizes = json.loads(path.read_text())
    return times, sizes


def test_a_parameter_is_there_though_nothing_happens_to_it(tmp_path: Path) -> None:
    held = torch.nn.Parameter(torch.ones(12_345))
    with recording() as prof:
        pass
    assert [-1, 1, held.numel() * 4, CATEGORIES.index("PARAMETER")] in raw(prof, tmp_path)
    del held
    with recording() as prof:
        pass
    assert not any(size == 4 * 12_345 for _, _, size, _ in raw(prof, tmp_path))


def test_gradients_and_state_are_there_though_nothing_happens_to_them(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(12_347))
    optimizer = torch.optim.Adam([weight])
    weight.sum().backward()
    optimizer.step()
    with recording() as prof:
        pass
    existed = [CATEGORIES[category] for _, action, size, category in raw(prof, tmp_path) if size == 4 * 12_347]
    assert sorted(existed) == ["GRADIENT", "OPTIMIZER_STATE", "OPTIMIZER_STATE", "PARAMETER"]
    optimizer.zero_grad()
    with recording() as prof:
        pass
    existed = [CATEGORIES[category] for _, action, size, category in raw(prof, tmp_path) if size == 4 * 12_347]
    assert sorted(existed) == ["OPTIMIZER_STATE", "OPTIMIZER_STATE", "PARAMETER"]


def test_the_state_of_an_optimiser_of_ones_own_is_state(tmp_path: Path) -> None:
    class Averaging(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, params: Any) -> None:
            super().__init__(params, {})

        def step(self, closure: Any = None) -> Any:  # noqa: ARG002 (as the base has it)
            for group in self.param_groups:
                for param in group["params"]:
                    self.state[param]["history"] = [torch.ones(12_349)]

    optimizer = Averaging([torch.ones(3, requires_grad=True)])
    with recording() as prof:
        optimizer.step()
    assert 4 * 12_349 in created(prof, tmp_path)["OPTIMIZER_STATE"]


def test_a_model_that_moves_stays_parameters(tmp_path: Path) -> None:
    model = torch.nn.Linear(100, 100)
    with recording() as prof:
        model.to("npu")
    assert created(prof, tmp_path, "npu:0") == {"PARAMETER": [40_448, 512]}


def test_a_gradient_that_is_part_of_a_loss_makes_activations(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(100, 100))
    batch = torch.ones(10, 100)
    with recording() as prof:
        out = (batch @ weight).tanh().sum()
        (grad,) = torch.autograd.grad(out, weight, create_graph=True)
        penalty = grad.pow(2)
        penalty.sum().backward()
    assert 40_000 in created(prof, tmp_path)["ACTIVATION"]
    del penalty


def test_memory_of_other_threads_is_in_the_timeline(tmp_path: Path) -> None:
    model = torch.nn.Linear(50, 50)

    def work() -> None:
        for _ in range(20):
            model(torch.ones(7, 50)).sum()

    with recording() as prof:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = created(prof, tmp_path)
    assert found["INPUT"] == [1400] * 80
    assert found["ACTIVATION"].count(1400) == 80
    times, sizes = read(prof, tmp_path)
    assert times == sorted(times)
    assert sum(sizes[-1]) == sum(sizes[0])


def test_collection_that_is_paused_and_resumed(tmp_path: Path) -> None:
    with recording() as prof:
        kept = torch.nn.Parameter(torch.ones(1000))
        before = torch.ones(500)
        prof.toggle_collection_dynamic(False, ["CPU", "NPU"])
        del before
        unseen = torch.ones(300)
        prof.toggle_collection_dynamic(True, ["CPU", "NPU"])
        after = torch.ones(200)
    existed = [entry for entry in raw(prof, tmp_path) if entry[0] == -1]
    _, sizes = read(prof, tmp_path)
    assert sum(sizes[-1]) - sum(size for _, _, size, _ in existed) == 4 * (1000 + 300 + 200)
    assert sizes[-1][1] - sum(size for _, _, size, category in existed if CATEGORIES[category] == "PARAMETER") == 4000
    del kept, unseen, after


def test_the_forms_by_their_names(tmp_path: Path) -> None:
    with recording() as prof:
        torch.ones(1000)
    plain, packed = tmp_path / "m.json", tmp_path / "m.json.gz"
    for path in (plain, packed, tmp_path / "m.raw.json", tmp_path / "m.raw.json.gz", tmp_path / "m.html"):
        prof.export_memory_timeline(path, "cpu")
    with gzip.open(packed, "rt") as file:
        assert json.load(file) == json.loads(plain.read_text())
    times, sizes = json.loads(plain.read_text())
    assert len(times) == len(sizes)
    assert {len(row) for row in sizes} == {9}
    assert {row[0] for row in sizes} == {0}
    start = prof.events()[0].time_range  # relative, so that it says nothing of the epoch
    assert start is not None
    entries = json.loads((tmp_path / "m.raw.json").read_text())
    assert times[-1] == entries[-1][0] // 1000
    page = (tmp_path / "m.html").read_text()
    assert '"device":"cpu"' in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    prof.export_memory_timeline(str(plain).encode(), torch.device("cpu"))
    with pytest.raises(IsADirectoryError):
        prof.export_memory_timeline(tmp_path, "cpu")


def test_a_device_without_data_is_empty_and_one_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with recording(activities=["CPU"]) as prof:
        torch.ones(1000)
    path = tmp_path / "m.json"
    prof.export_memory_timeline(path, "npu:0")
    assert path.read_text() == "[[], []]"
    prof.export_memory_timeline(tmp_path / "m.html", "npu")
    assert '"times_ns":[]' in (tmp_path / "m.html").read_text()
    with pytest.raises(ValueError, match="there is no device 'npu:7': this machine has 1 of that kind"):
        prof.export_memory_timeline(path, "npu:7")
    with pytest.raises(RuntimeError, match="tpu"):
        prof.export_memory_timeline(path, "tpu:0")
    prof.export_memory_timeline(path)
    assert json.loads(path.read_text())[0]


def test_the_default_device_is_the_accelerator_if_it_had_memory(tmp_path: Path) -> None:
    with recording() as prof:
        block = torch.ones(1000, device="npu")
        del block
    path = tmp_path / "m.raw.json"
    prof.export_memory_timeline(path)
    assert {abs(size) for _, action, size, _ in json.loads(path.read_text()) if action == CREATE} == {4096}


@pytest.mark.filterwarnings(NO_WARMUP)
def test_the_last_cycle_is_told(tmp_path: Path) -> None:
    cycles = schedule(wait=1, warmup=0, active=1, repeat=2)
    with recording(schedule=cycles, acc_events=True) as prof:
        for size in (111, 222, 333, 444):
            torch.ones(size)
            prof.step()
    assert created(prof, tmp_path) == {"UNKNOWN": [4 * 444]}


def test_the_objects_of_torchs_profile(tmp_path: Path) -> None:
    batch = torch.ones(8, 16)
    model = torch.nn.Linear(16, 4)
    with recording() as prof:
        out = model(batch)
        out.add_(1)
    before: object = prof.mem_tl
    assert before is None
    found = prof._memory_profile()
    times = [time for time, _, _, _ in found.timeline]
    assert times == sorted(times)
    assert times[0] == -1
    by_size = {size: key for _, action, (key, _), size in found.timeline if action is Action.CREATE}
    key = by_size[128]
    assert isinstance(key, TensorKey)
    assert key.device == torch.device("cpu")
    assert key.storage.ptr == out.data_ptr()
    assert found._categories.get(key, 0) is Category.ACTIVATION
    assert found._categories.get(key, 1) is Category.ACTIVATION
    assert found._categories.get(key, 2) is None
    changes = [(key, version) for _, action, (key, version), _ in found.timeline if action is Action.INCREMENT_VERSION]
    assert changes == [(key, 0)]
    inputs = [key for _, _, (key, version), size in found.timeline if found._categories.get(key, 0) is Category.INPUT]
    assert [key.storage.ptr for key in inputs if isinstance(key, TensorKey)] == [batch.data_ptr()]
    assert all(isinstance(key, Key) for _, _, (key, _), _ in found.timeline)
    timeline = MemoryProfileTimeline(found)
    timeline.export_memory_timeline(tmp_path / "plain", "cpu")
    timeline.export_memory_timeline_raw(tmp_path / "raw", "cpu")
    timeline.export_memory_timeline_html(tmp_path / "page", "cpu", title="A <b>title")
    prof.export_memory_timeline(tmp_path / "m.raw.json", "cpu")
    assert (tmp_path / "raw").read_text() == (tmp_path / "m.raw.json").read_text()
    assert len(json.loads((tmp_path / "plain").read_text())) == 2
    assert '"title":"A \\u003cb>title"' in (tmp_path / "page").read_text()
    assert isinstance(prof.mem_tl, MemoryProfileTimeline)
    assert prof.mem_tl.timeline == found.timeline


def test_not_started(tmp_path: Path) -> None:
    message = "Profiler and kineto_results must be initialized for memory profiling"
    with pytest.raises(AssertionError, match=message):
        recording().export_memory_timeline(tmp_path / "m.json")
