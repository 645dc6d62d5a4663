"""Modules: their members, their state and what becomes of them."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


class Net(nn.Module):
    """Two layers, one of which is there twice, a parameter of its own, and buffers."""

    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.again = self.first
        self.block = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(1), persistent=False)
        self.nothing = None

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.block(self.first(x)) * self.scale
        return result


NAMES = ["scale", "first.weight", "first.bias", "block.1.weight"]


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


def test_members_are_found() -> None:
    net = Net()
    assert names(net.named_parameters()) == NAMES
    assert names(net.named_parameters(recurse=False)) == ["scale"]
    assert names(net.named_parameters("net"))[:2] == ["net.scale", "net.first.weight"]
    assert "again.weight" in names(net.named_parameters(remove_duplicate=False))
    assert [param.numel() for param in net.parameters()] == [1, 6, 3, 3]
    assert names(net.named_buffers()) == ["steps", "cache"]
    assert names(net.named_children()) == ["first", "block"]
    assert names(net.named_modules()) == ["", "first", "block", "block.0", "block.1"]
    assert next(net.modules()) is net
    assert net.get_submodule("block.1") is net.block[1]
    assert net.get_submodule("") is net
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("steps") is net.steps
    assert {"first", "scale", "steps", "forward", "training"} <= set(dir(net))


def test_attributes_are_members_or_are_not() -> None:
    net: Any = Net()
    first = net.first
    net.first = None
    assert names(net.named_children()) == ["again", "block"]
    net.scale = None
    assert names(net.named_parameters())[0] == "again.weight"
    del net.again
    assert names(net.named_parameters()) == ["block.1.weight"]
    net.steps = nn.Parameter(torch.ones(1))
    assert names(net.named_buffers()) == ["cache"]
    net.nothing = first
    assert "nothing" in names(net.named_children())
    assert "nothing" not in vars(net)
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'again'"):
        _ = net.again
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'steps'"):
        net.steps = torch.ones(1)


def test_members_need_a_module_that_has_begun() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value
            super().__init__()

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early(nn.ReLU())
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early(nn.Parameter(torch.ones(1)))
    assert Early(5).value == 5


@pytest.mark.parametrize(
    ("name", "error"),
    [("a.b", 'can\'t contain "."'), ("", "can't be empty string"), ("train", "attribute 'train' already exists")],
)
@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_names(kind: str, name: str, error: str) -> None:
    with pytest.raises(KeyError) as raised:
        getattr(Net(), f"register_{kind}")(name, None)
    assert error in str(raised.value.args[0])


def test_buffers() -> None:
    net = nn.Module()
    net.kept = nn.Buffer(torch.ones(2))
    net.left = nn.Buffer(torch.zeros(1), persistent=False)
    assert names(net.named_buffers()) == ["kept", "left"]
    assert list(net.state_dict()) == ["kept"]
    net.left = torch.ones(3)
    assert list(net.state_dict()) == ["kept"]
    copied = copy.deepcopy(net)
    assert copied.get_buffer("kept").tolist() == [1.0, 1.0]
    assert list(pickle.loads(pickle.dumps(net)).state_dict()) == ["kept"]


def test_state_dict() -> None:
    net = Net()
    state = net.state_dict()
    assert list(state) == [
        "scale",
        "steps",
        "first.weight",
        "first.bias",
        "again.weight",
        "again.bias",
        "block.1.weight",
    ]
    assert not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert list(net.block.state_dict(prefix="x.")) == ["x.1.weight"]
    state["scale"].fill_(7)
    assert net.scale.item() == 7
    assert state._metadata["block"] == {"version": 1}  # type: ignore[attr-defined]


def test_loading() -> None:
    one, other = Net(), Net()
    kept = other.scale
    result = other.load_state_dict(one.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert (result.missing_keys, result.unexpected_keys) == ([], [])
    assert other.scale is kept
    for found, expected in zip(other.parameters(), one.parameters(), strict=True):
        assert found.tolist() == expected.tolist()
        assert found is not expected


def test_loading_by_assignment() -> None:
    net = Net()
    net.scale.requires_grad_(False)
    state = Net().double().state_dict()
    net.load_state_dict(state, assign=True)
    assert isinstance(net.scale, nn.Parameter)
    assert net.scale.dtype == torch.float64
    assert not net.scale.requires_grad
    assert net.first.weight.requires_grad
    state["steps"].fill_(5)
    assert net.steps.tolist() == [5.0, 5.0]


def test_what_cannot_be_loaded() -> None:
    state = {**Net().state_dict(), "first.bias": torch.ones(4), "more": torch.ones(1), "block.9.x": torch.ones(1)}
    del state["scale"]
    with pytest.raises(RuntimeError) as raised:
        Net().load_state_dict(state)
    assert str(raised.value) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "scale". \n'
        '\tUnexpected key(s) in state_dict: "more", "block.9.x". \n'
        "\tsize mismatch for first.bias: copying a param with shape torch.Size([4]) from checkpoint, "
        "the shape in current model is torch.Size([3])."
    )
    del state["first.bias"]
    result = Net().load_state_dict(state, strict=False)
    assert result == (["scale", "first.bias"], ["more", "block.9.x"])
    assert repr(result).startswith("_IncompatibleKeys(missing_keys=['scale', 'first.bias'], unexpected_keys=")


def test_extra_state_and_hooks_of_the_state() -> None:
    seen: list[str] = []

    class Counter(nn.Module):
        count = 3

        def get_extra_state(self) -> int:
            return self.count

        def set_extra_state(self, state: int) -> None:
            self.count = state

    net = Counter()
    net.register_state_dict_pre_hook(lambda *_: seen.append("before"))
    net.register_state_dict_post_hook(lambda _module, state, prefix, _metadata: state.update({prefix + "more": 1}))
    state = net.state_dict()
    assert state == {"_extra_state": 3, "more": 1}
    other = Counter()
    other.register_load_state_dict_pre_hook(lambda _module, state, *_: seen.append(f"load {state.pop('more')}"))
    other.register_load_state_dict_post_hook(lambda _module, keys: seen.append(f"loaded {keys.missing_keys}"))
    other.load_state_dict({**state, "_extra_state": 8})
    assert other.count == 8
    assert seen == ["before", "load 1", "loaded []"]


def test_modes_and_gradients() -> None:
    net = Net()
    assert not any(module.training for module in net.eval().modules())
    assert all(module.training for module in net.train().modules())
    assert not any(param.requires_grad for param in net.requires_grad_(False).parameters())
    net.requires_grad_()
    net(torch.ones(4, 2)).sum().backward()
    grad = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is grad
    assert grad is not None
    assert grad.item() == 0.0
    net.zero_grad()
    assert all(param.grad is None for param in net.parameters())


def test_conversions() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net(torch.ones(3, 2)).sum().backward()
    params = list(net.parameters())
    for convert, dtype in (
        ("double", torch.float64),
        ("half", torch.float16),
        ("bfloat16", torch.bfloat16),
        ("float", torch.float32),
    ):
        assert getattr(net, convert)() is net
        assert all(now is before for now, before in zip(net.parameters(), params, strict=True))
        assert all(param.dtype == dtype and param.grad.dtype == dtype for param in params)  # type: ignore[union-attr]
        assert [buffer.dtype for buffer in net.buffers()] == [dtype, dtype, torch.int64]
    net.to(torch.ones(1, dtype=torch.float64))
    assert params[0].dtype == torch.float64
    net.to("cpu", torch.float32).to(device="cpu", dtype=torch.float16, non_blocking=True)
    assert params[0].dtype == torch.float16
    assert net.type("torch.DoubleTensor")[1].num_batches_tracked.dtype == torch.float64
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(torch.int32)
    with pytest.raises(NotImplementedError, match="memory_format"):
        net.to(memory_format=1)
    with pytest.raises(NotImplementedError, match="share_memory"):
        net.share_memory()


def test_apply() -> None:
    seen: list[str] = []
    net = Net()
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_copies() -> None:
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert names(copied.named_parameters()) == NAMES
        assert copied.first is copied.again
        assert [param.tolist() for param in copied.parameters()] == [param.tolist() for param in net.parameters()]
        copied.scale.data.fill_(9)
        assert net.scale.item() == 1
        assert copied(torch.ones(1, 2)).shape == (1, 1)


def test_representation() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (again): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (block): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        ")"
    )


def test_a_module_without_forward() -> None:
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        nn.Module()(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        nn.Module(size=1)
