"""Execution traces: what is in the file."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.profiler.execution_traces import THREAD, attribute, nodes_of, observed, tensors
from tests.profiler.support import (
    CYCLES_CLEAR_EVENTS,
    NO_WARMUP,
    ODD_TEXTS,
    in_thread,
    scope,
    spans,
    square,
    torch,
    trace_of,
)

from mindtorch_v2.profiler import ExecutionTraceObserver, ProfilerActivity, profile, record_function, schedule

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.json"


def test_an_operation_has_its_arguments_its_result_and_its_signature(path: Path) -> None:
    x = torch.ones(2, 3)
    with observed(path) as nodes:
        torch.sum(x.t(), (0,), True)
    (transposed,) = nodes.one("aten::t")["outputs"]["values"]
    node = nodes.one("aten::sum")
    assert node["inputs"] == {
        "values": [transposed, [0], True, "<None>"],
        "shapes": [[3, 2], [[]], [], []],
        "types": ["Tensor(float)", "GenericList[Int]", "Bool", "None"],
        "strides": [[1, 3], [[]], [], []],
    }
    assert transposed[2:] == [0, 6, 4, "cpu"]
    assert node["outputs"]["shapes"] == [[1, 2]]
    assert attribute(node, "scope") == 0
    assert attribute(nodes.one("aten::t"), "op_schema") == "aten::t(Tensor(a) self) -> Tensor(a)"


def test_the_overload_is_part_of_the_signature(path: Path) -> None:
    with observed(path) as nodes:
        torch.add(torch.ones(2), torch.ones(2))
    expected = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert attribute(nodes.one("aten::add"), "op_schema") == expected


def test_numbers_of_every_kind_are_json_and_exact(path: Path) -> None:
    numbers = [1 / 3, 1e300, -0.0, math.inf, -math.inf, math.nan, 7, True]
    with observed(path) as nodes:
        for number in numbers:
            torch.full((1,), number)
    found = [node["inputs"]["values"][1] for node in nodes.named("aten::full")]
    assert found == [1 / 3, 1e300, -0.0, "inf", "-inf", "nan", 7, True]


def test_every_text_survives(path: Path) -> None:
    with observed(path) as nodes:
        for text in ODD_TEXTS:
            with record_function(text or "empty", text):
                pass
    assert nodes.names() == [text or "empty" for text in ODD_TEXTS]
    assert [node["inputs"]["values"] for node in nodes if attribute(node, "rf_id")] == [[text] for text in ODD_TEXTS]


def test_an_output_is_known_again_where_it_is_an_input(path: Path) -> None:
    x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with observed(path) as nodes:
        hidden = torch.nn.functional.linear(x, w)
        loss = torch.relu(hidden).sum()
        loss.backward()
        optimizer.step()
    (product,) = nodes.one("aten::linear")["outputs"]["values"]
    (positive,) = nodes.one("aten::relu")["outputs"]["values"]
    assert nodes.one("aten::relu")["inputs"]["values"] == [product]
    assert nodes.one("aten::sum")["inputs"]["values"][0] == positive
    (step,) = (node for node in nodes if nodes.parent(node)["name"] == "Optimizer.step#SGD.step")
    data, weight = nodes.one("aten::linear")["inputs"]["values"][:2]
    assert tensors(step["inputs"])[0] == weight
    given = [tensor for node in nodes for tensor in tensors(node["outputs"])]
    taken = [tensor for node in nodes for tensor in tensors(node["inputs"])]
    outside = [tensor for tensor in taken if tensor[0] not in {tensor[0] for tensor in given}]
    # What a node saved of its own result is another tensor with the same storage.
    assert {tensor[1] for tensor in outside} - {tensor[1] for tensor in given} <= {data[1], weight[1]}


def test_a_view_shares_the_storage_of_its_base(path: Path) -> None:
    x = torch.ones(4, 4)
    with observed(path) as nodes:
        first, second = torch.split(x, 2)
        torch.add(first, second)
    (base,) = tensors(nodes.one("aten::split")["inputs"])
    parts = tensors(nodes.one("aten::split")["outputs"])
    assert nodes.one("aten::split")["outputs"]["types"] == ["GenericList[Tensor(float),Tensor(float)]"]
    assert [part[1] for part in parts] == [base[1], base[1]]
    assert [part[2] for part in parts] == [0, 8]
    assert tensors(nodes.one("aten::add")["inputs"]) == parts


def test_numbers_are_not_given_again_to_what_takes_a_freed_place(path: Path) -> None:
    x = square()
    with observed(path) as nodes:
        for _ in range(50):
            torch.relu(x)
    outputs = [tensors(node["outputs"])[0] for node in nodes.named("aten::relu")]
    assert len({tensor[0] for tensor in outputs}) == 50
    assert len({tensor[1] for tensor in outputs}) == 50


def test_an_operation_in_place_gives_what_it_changed(path: Path) -> None:
    x = torch.ones(3)
    with observed(path) as nodes:
        x.add_(1)
        x.fill_(2)
        x.copy_(torch.ones(3))
        x.zero_()
    for name in ("aten::add_", "aten::copy_", "aten::zero_"):
        node = nodes.one(name)
        assert node["outputs"]["values"] == node["inputs"]["values"][:1], name


def test_several_outputs_and_numbers_are_outputs(path: Path) -> None:
    x = torch.ones(2, 2)
    with observed(path) as nodes:
        torch.max(x, 1)
        x.sum().item()
    assert nodes.one("aten::max")["outputs"]["types"] == ["Tensor(float)", "Tensor(long int)"]
    assert nodes.one("aten::item")["outputs"] == {"values": [4.0], "shapes": [[]], "types": ["Double"], "strides": [[]]}


def test_an_operation_that_fails_gives_nothing_and_contains_nothing_that_follows(path: Path) -> None:
    x = torch.ones(2, 3)
    with observed(path) as nodes:
        with pytest.raises(RuntimeError):
            torch.matmul(x, x)
        torch.relu(x)
    assert nodes.one("aten::matmul")["outputs"]["values"] == []
    assert nodes.parent(nodes.one("aten::relu"))["name"] == THREAD


def test_scopes_and_operations_nest(path: Path) -> None:
    x = square()
    with observed(path) as nodes, record_function("outer", "with a text"):
        with record_function("inner"):
            torch.matmul(x, x)
        torch.relu(x)
    chain = ["aten::mm", "aten::matmul", "inner", "outer", THREAD]
    assert [nodes.parent(nodes.one(name))["name"] for name in chain[:-1]] == chain[1:]
    assert nodes.parent(nodes.one("aten::relu"))["name"] == "outer"
    outer = nodes.one("outer")
    assert outer["inputs"] == {"values": ["with a text"], "shapes": [[]], "types": ["String"], "strides": [[]]}
    assert (attribute(outer, "scope"), attribute(outer, "seq_id")) == (7, -1)


def test_backward_nodes_know_their_forward_operations(path: Path) -> None:
    x = torch.ones(2, requires_grad=True)
    with observed(path) as nodes:
        (x * x).sum().backward()
    node, engine = nodes.one("MulBackward0"), nodes.one("autograd::engine::evaluate_function: MulBackward0")
    assert nodes.parent(node) == engine
    assert attribute(node, "seq_id") == attribute(nodes.named("aten::mul")[0], "seq_id")
    assert (attribute(node, "scope"), attribute(engine, "scope")) == (1, 0)
    assert attribute(node, "fw_tid") == attribute(node, "tid") != 0
    assert attribute(node, "fw_parent") == engine["id"]
    assert node["inputs"]["types"] == ["Tensor(float)"]


def test_each_thread_is_a_node_with_its_operations(path: Path) -> None:
    def work(label: str) -> None:
        with record_function(label):
            for _ in range(20):
                torch.relu(torch.ones(2))

    labels = [f"thread {number}" for number in range(4)]
    with observed(path) as nodes:
        threads = [threading.Thread(target=work, args=(label,)) for label in labels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for label in labels:
        of_thread = nodes.parent(nodes.one(label))
        assert of_thread["name"] == THREAD
        assert of_thread["ctrl_deps"] == 1
        inside = [node for node in nodes.named("aten::relu") if nodes.parent(node)["name"] == label]
        assert len(inside) == 20
        assert {attribute(node, "tid") for node in inside} == {attribute(of_thread, "tid")}
    assert len({attribute(nodes.parent(nodes.one(label)), "tid") for label in labels}) == 4


def test_a_scope_may_be_left_on_another_thread(path: Path) -> None:
    with observed(path) as nodes:
        handed = record_function("handed over").__enter__()
        in_thread(lambda: handed.__exit__(None, None, None))
        scope("after")
    assert nodes.parent(nodes.one("after"))["name"] == THREAD


def test_what_happens_between_stop_and_start_is_not_there(path: Path) -> None:
    x = torch.ones(2)
    observer = ExecutionTraceObserver().register_callback(path)
    torch.relu(x)
    observer.start()
    with record_function("all the time"):
        torch.relu(x)
        observer.stop()
        torch.exp(x)
        observer.start()
        torch.abs(x)
    observer.unregister_callback()
    nodes = nodes_of(path)
    inside = [node["name"] for node in nodes if nodes.parent(node)["name"] == "all the time"]
    assert inside == ["aten::relu", "aten::abs"]
    assert nodes.named("aten::exp") == []


def test_what_is_open_at_the_end_is_there_for_its_parts(path: Path) -> None:
    with record_function("before"):
        with observed(path) as nodes, record_function("left later"):
            pass
        observer = ExecutionTraceObserver().register_callback(path)
        observer.start()
        with record_function("cut"):
            torch.relu(torch.ones(1))
            observer.unregister_callback()
    assert nodes.names() == ["left later"]
    nodes = nodes_of(path)
    assert nodes.parent(nodes.one("aten::relu"))["name"] == "cut"


def test_tensors_of_the_npu_say_so(path: Path) -> None:
    x = torch.ones(2, device="npu")
    with observed(path) as nodes:
        torch.relu(x)
    node = nodes.one("aten::relu")
    assert [tensors(node[side])[0][-1] for side in ("inputs", "outputs")] == ["npu:0", "npu:0"]


def test_numbers_in_the_trace_are_those_of_the_nodes(path: Path, tmp_path: Path) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    observer = ExecutionTraceObserver().register_callback(path)
    with (
        profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as prof,
        record_function("outer"),
    ):
        (x @ x).sum().backward()
    nodes = nodes_of(path)
    by_number = {attribute(node, "rf_id"): node["name"] for node in nodes if attribute(node, "rf_id")}
    events = spans(trace_of(prof, tmp_path), "cpu_op", "user_annotation")
    assert {event["args"]["Record function id"]: event["name"] for event in events} == by_number


@pytest.mark.filterwarnings(CYCLES_CLEAR_EVENTS, NO_WARMUP)
def test_each_recording_of_a_schedule_is_in_the_file_with_its_steps(path: Path) -> None:
    x = torch.ones(2)
    observer = ExecutionTraceObserver().register_callback(path)
    plan = schedule(wait=1, warmup=0, active=2, repeat=2)
    with profile(schedule=plan, execution_trace_observer=observer) as prof:
        for number in range(8):
            torch.full((1,), number)
            torch.relu(x)
            prof.step()
    nodes = nodes_of(path)
    assert not observer.is_registered
    recorded = {nodes.parent(node)["name"]: node["inputs"]["values"][1] for node in nodes.named("aten::full")}
    assert recorded == {f"ProfilerStep#{number}": number for number in (1, 2, 4, 5)}


def test_without_an_observer_numbers_in_the_trace_are_zero(tmp_path: Path) -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        torch.relu(torch.ones(1))
    found: Any = {event["args"]["Record function id"] for event in spans(trace_of(prof, tmp_path), "cpu_op")}
    assert found == {0}
