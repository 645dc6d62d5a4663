"""Sequence numbers, forward-backward links, stacks of backward ops; runtime calls and kernels of the accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.profiler.support import ancestors, events, in_thread, named, only, scope, spans, torch, trace_of

from mindtorch_v2.profiler import DeviceType, profile, record_function

if TYPE_CHECKING:
    from pathlib import Path


def flows(trace: dict[str, Any], category: str) -> list[tuple[str, str]]:
    """Return the names of what each arrow connects."""
    entries = trace["traceEvents"]
    ends: dict[int, list[str]] = {}
    for index, entry in enumerate(entries):
        if entry["ph"] in "sf" and entry.get("cat") == category:
            owner = next(each for each in reversed(entries[:index]) if each["ph"] == "X")
            assert (owner["ts"], owner["tid"], owner["pid"]) == (entry["ts"], entry["tid"], entry["pid"])
            assert entry["name"] == category
            ends.setdefault(entry["id"], [""] * 2)["sf".index(entry["ph"])] = owner["name"]
    return [(start, end) for start, end in ends.values()]


def test_forward_and_backward_share_a_sequence_number() -> None:
    with profile() as prof:
        value = torch.ones(2, 2, requires_grad=True)
        (value @ value).exp().sum().backward()
    pairs = [("aten::mm", "MmBackward0"), ("aten::exp", "ExpBackward0"), ("aten::sum", "SumBackward0")]
    numbers = []
    for forward_name, backward_name in pairs:
        forward = next(
            event for event in named(prof, forward_name) if not any("Backward" in n for n in ancestors(event))
        )
        backward = only(named(prof, backward_name))
        assert forward.sequence_nr == backward.sequence_nr >= 0
        assert (forward.fwd_thread, backward.fwd_thread) == (0, forward.thread)
        assert (forward.scope, backward.scope) == (0, 1)
        evaluate = backward.cpu_parent
        assert evaluate.name == f"autograd::engine::evaluate_function: {backward_name}"
        assert (evaluate.scope, evaluate.sequence_nr, evaluate.fwd_thread) == (0, backward.sequence_nr, forward.thread)
        numbers.append(forward.sequence_nr)
    assert numbers == sorted(set(numbers))


def test_accumulated_gradients_have_no_forward_op() -> None:
    with profile() as prof:
        torch.ones(2, requires_grad=True).sum().backward()
    node = only(named(prof, "torch::autograd::AccumulateGrad"))
    assert (node.fwd_thread, node.flow_id) == (0, 0)


def test_links_go_from_the_true_forward_op_to_the_backward_node(tmp_path: Path) -> None:
    with profile() as prof:
        value = torch.ones(2, 2, requires_grad=True)
        other = torch.ones(2, 2)
        product = value * 2
        other * 3
        other + other
        product.exp().sum().backward()
    trace = trace_of(prof, tmp_path)
    found = flows(trace, "fwdbwd")
    assert sorted(found) == [
        ("aten::exp", "ExpBackward0"),
        ("aten::mul", "MulBackward0"),
        ("aten::sum", "SumBackward0"),
    ]
    starts = [entry for entry in trace["traceEvents"] if entry["ph"] == "s" and entry["cat"] == "fwdbwd"]
    first_mul = next(span for span in spans(trace) if span["name"] == "aten::mul")
    assert first_mul["ts"] in [entry["ts"] for entry in starts]


def test_links_are_on_the_events_too() -> None:
    with profile() as prof:
        (torch.ones(2, requires_grad=True) * 2).sum().backward()
    forward, backward = named(prof, "aten::mul")[0], only(named(prof, "MulBackward0"))
    assert forward.flow_id == backward.flow_id > 0
    assert (forward.flow_type, backward.flow_type) == (1, 1)
    assert (forward.flow_start, backward.flow_start) == (True, False)


def test_a_backward_op_has_the_stack_of_its_forward_op() -> None:
    def forward(value: Any) -> Any:
        return (value * 2).sum()

    def backward(loss: Any) -> None:
        loss.backward()

    with profile(with_stack=True) as prof:
        backward(forward(torch.ones(2, requires_grad=True)))
    node = only(named(prof, "MulBackward0"))
    assert any(frame.endswith(": forward") for frame in node.stack)
    assert not any(frame.endswith(": backward") for frame in node.stack)
    inside = next(event for event in events(prof) if "MulBackward0" in ancestors(event) and event["kind"] == "op")
    assert inside.stack == node.stack


def test_a_graph_from_before_the_recording_has_numbers_and_no_links(tmp_path: Path) -> None:
    loss = (torch.ones(2, requires_grad=True) * 2).sum()
    with profile() as prof:
        loss.backward()
    assert only(named(prof, "MulBackward0")).sequence_nr >= 0
    assert flows(trace_of(prof, tmp_path), "fwdbwd") == []


def test_nodes_of_two_threads_are_not_mixed_up(tmp_path: Path) -> None:
    def work() -> None:
        (torch.ones(2, requires_grad=True) * 2).sum().backward()

    with profile() as prof:
        in_thread(work)
        work()
    pairs = flows(trace_of(prof, tmp_path), "fwdbwd")
    assert sorted(pairs) == [("aten::mul", "MulBackward0")] * 2 + [("aten::sum", "SumBackward0")] * 2
    for node in named(prof, "MulBackward0"):
        assert node.fwd_thread == node.thread


def test_kernels_are_events_of_the_device_linked_to_the_op_that_launched_them(tmp_path: Path) -> None:
    ones = torch.ones(64, 64, device="npu")
    torch.npu.synchronize()
    with profile() as prof, record_function("work"):
        ones @ ones
    kernel = only(event for event in events(prof) if event.device_type == DeviceType.PrivateUse1)
    op = only(named(prof, "aten::mm"))
    assert (kernel["device_type"], kernel.device_index, kernel.activity_type) == ("NPU", 0, "kernel")
    assert kernel.cpu_parent is None
    assert [(each.name, each.device) for each in op.kernels] == [(kernel.name, 0)]
    assert op.kernels[0].duration == op.self_device_time_total == op.device_time_total
    assert round(op.device_time_total * 1000) == kernel["duration_ns"]
    assert kernel.cpu_time_total == 0
    assert kernel.self_device_time_total == op.self_device_time_total
    assert kernel.linked_correlation_id == op.id
    assert kernel["start_ns"] >= op["start_ns"]
    span = only(spans(trace_of(prof, tmp_path), "kernel"))
    assert span["pid"] == 0
    assert span["args"]["device"] == 0
    assert span["args"]["External id"] == op.external_id


def test_device_time_is_that_of_an_op_and_all_it_contains() -> None:
    ones = torch.ones(64, 64, device="npu")
    torch.npu.synchronize()
    with profile() as prof:
        with record_function("work"):
            ones @ ones
            ones + ones
        scope("none")
    kernels = [event for event in events(prof) if event.device_type == DeviceType.PrivateUse1]
    total = sum(event.time_range.elapsed_us() for event in kernels)
    work = only(named(prof, "work"))
    assert len(kernels) == 2
    assert abs(work.device_time_total - total) < 0.01
    assert work.self_device_time_total == 0
    assert only(named(prof, "none")).device_time_total == 0
    table = prof.key_averages().table(sort_by="self_device_time_total")
    assert "Self NPU" in table
    assert "NPU total" in table


def test_arrows_go_from_the_launch_to_the_kernel(tmp_path: Path) -> None:
    ones = torch.ones(64, 64, device="npu")
    torch.npu.synchronize()
    with profile() as prof:
        ones @ ones
    found = flows(trace_of(prof, tmp_path), "ac2g")
    kernel = only(event for event in events(prof) if event.device_type == DeviceType.PrivateUse1)
    assert [end for _, end in found] == [kernel.name]


def test_copies_between_devices_are_told_from_kernels(tmp_path: Path) -> None:
    with profile() as prof:
        torch.ones(1 << 10).to("npu").cpu()
    copies = [event for event in events(prof) if event.activity_type == "gpu_memcpy"]
    assert len(copies) == 2
    written = spans(trace_of(prof, tmp_path), "gpu_memcpy")
    assert [span["args"]["bytes"] for span in written] == [1 << 12] * 2


def test_waiting_for_the_device_is_a_runtime_event(tmp_path: Path) -> None:
    ones = torch.ones(64, 64, device="npu")
    with profile() as prof:
        ones @ ones
        torch.npu.synchronize()
    runtime = {"cuda_runtime", "privateuse1_runtime"}
    found = [event for event in events(prof) if event.activity_type in runtime]
    assert any("ynchronize" in event.name for event in found)
    assert any("aunch" in event.name for event in found)
    assert {event["device_type"] for event in found} == {"CPU"}
    assert len(spans(trace_of(prof, tmp_path), *runtime)) == len(found)
