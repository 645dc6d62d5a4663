"""Modules do what those of torch do: with the same results, errors and representations."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.torch.nn_compare import check_parameters, ours, pair, plain, to_ours
from tests.torch.nn_layers import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable


def model(nn: Any) -> Any:
    return nn.ModuleDict({"a": nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), "b": nn.Linear(3, 1, bias=False)})


def load(lib: Any, change: Callable[[dict[str, Any]], Any], **options: Any) -> str:
    net = model(lib.nn)
    state = {name: lib.zeros(list(value.shape), dtype=value.dtype) for name, value in net.state_dict().items()}
    return str(net.load_state_dict(change(state), **options))


def remove(state: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key not in keys}


# Each gives a value or raises an error, which is to be the same of both libraries.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "load all": lambda lib: load(lib, lambda state: state),
    "load less": lambda lib: load(lib, lambda state: remove(state, "a.0.weight", "b.weight")),
    "load more": lambda lib: load(lib, lambda state: {**state, "c": lib.ones(1), "a.0.more.x": lib.ones(1)}),
    "load less, not strict": lambda lib: load(lib, lambda state: remove(state, "b.weight"), strict=False),
    "load more, not strict": lambda lib: load(lib, lambda state: {**state, "a.2": lib.ones(1)}, strict=False),
    "load another shape": lambda lib: load(lib, lambda state: {**state, "b.weight": lib.ones(2, 3)}, strict=False),
    "load everything wrong": lambda lib: load(
        lib, lambda state: {**remove(state, "a.1.bias"), "x": lib.ones(1), "a.0.bias": lib.ones(4)}
    ),
    "load a number": lambda lib: load(lib, lambda state: {**state, "b.weight": 3}),
    "load a list": lambda lib: load(lib, lambda state: [*state]),
    "load an old norm": lambda lib: load(lib, lambda state: remove(state, "a.1.num_batches_tracked")),
    "attribute": lambda lib: model(lib.nn).weight,
    "set a tensor as a parameter": lambda lib: setattr(lib.nn.Linear(1, 1), "weight", lib.ones(1)),
    "set a list as a parameter": lambda lib: setattr(lib.nn.Linear(1, 1), "weight", [1]),
    "set a number as a module": lambda lib: setattr(lib.nn.Sequential(lib.nn.ReLU()), "0", 5),
    "set a text as a buffer": lambda lib: setattr(lib.nn.BatchNorm1d(1), "running_mean", "x"),
    "register a parameter with a dot": lambda lib: lib.nn.Module().register_parameter("a.b", None),
    "register a parameter without a name": lambda lib: lib.nn.Module().register_parameter("", None),
    "register a number as a parameter": lambda lib: lib.nn.Module().register_parameter("a", 1),
    "register a tensor as a parameter": lambda lib: lib.nn.Module().register_parameter("a", lib.ones(1).int()),
    "register a result as a parameter": lambda lib: lib.nn.Module().register_parameter("train", None),
    "register a number as a name": lambda lib: lib.nn.Module().register_buffer(1, None),
    "register a list as a buffer": lambda lib: lib.nn.Module().register_buffer("a", [1]),
    "register a buffer twice": lambda lib: lib.nn.Linear(1, 1).register_buffer("weight", None),
    "add a number": lambda lib: lib.nn.Module().add_module("a", 1),
    "add with a dot": lambda lib: lib.nn.Module().add_module("a.b", lib.nn.ReLU()),
    "submodule": lambda lib: repr(model(lib.nn).get_submodule("a.1")),
    "submodule of nothing": lambda lib: repr(model(lib.nn).get_submodule("")),
    "no submodule": lambda lib: model(lib.nn).get_submodule("a.5"),
    "a parameter as a submodule": lambda lib: model(lib.nn).get_submodule("b.weight"),
    "a buffer": lambda lib: model(lib.nn).get_buffer("a.1.running_var"),
    "no buffer": lambda lib: model(lib.nn).get_buffer("a.1.weight"),
    "a parameter": lambda lib: tuple(model(lib.nn).get_parameter("b.weight").shape),
    "no parameter": lambda lib: model(lib.nn).get_parameter("a.1.running_var"),
    "forward": lambda lib: lib.nn.Module()(1),
    "an argument too many": lambda lib: lib.nn.ReLU6(False, 2),
    "a module with arguments": lambda lib: lib.nn.Module(1),
    "a module with a keyword": lambda lib: lib.nn.Module(a=1),
    "train with a number": lambda lib: lib.nn.ReLU().train(1),
    "to integers": lambda lib: lib.nn.ReLU().to(lib.int64),
    "index": lambda lib: lib.nn.Sequential(lib.nn.ReLU())[1],
    "repr of a list": lambda lib: repr(
        lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.Linear(1, 2), lib.nn.Linear(1, 2), lib.nn.Sequential(lib.nn.ELU())])
    ),
    "repr of an empty list": lambda lib: repr(lib.nn.ModuleList()),
    "repr of parameters": lambda lib: repr(
        lib.nn.ParameterList([lib.ones(2, 3), lib.nn.Parameter(lib.ones(1, dtype=lib.float64)), "text"])
    ),
    "repr of named parameters": lambda lib: repr(lib.nn.ParameterDict({"b": lib.ones(2, 3), "a": 5})),
    "extend by a number": lambda lib: lib.nn.ModuleList().extend(1),
    "update by a number": lambda lib: lib.nn.ModuleDict().update(1),
    "add a list to a sequence": lambda lib: lib.nn.Sequential() + 1,
    "slice": lambda lib: repr(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.ELU(), lib.nn.SELU())[-2:]),
    "delete": lambda lib: repr(without_second(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.ELU(), lib.nn.SELU()))),
    "multiply": lambda lib: repr(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.ELU()) * 2),
    "insert": lambda lib: repr(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.ELU()).insert(1, lib.nn.SELU())),
    "a wrong dropout": lambda lib: lib.nn.Dropout(1.5),
    "wrong groups": lambda lib: lib.nn.Conv2d(3, 4, 1, groups=2),
    "wrong padding": lambda lib: lib.nn.Conv2d(2, 2, 3, padding="same", stride=2),
    "wrong heads": lambda lib: lib.nn.MultiheadAttention(7, 2),
    "wrong dimensions": lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(2, 3)),
    "one value": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(1, 3)),
    "a wrong reduction": lambda lib: lib.nn.functional.l1_loss(lib.ones(1), lib.ones(1), reduction="avg"),
    "a wrong gain": lambda lib: lib.nn.init.calculate_gain("gelu"),
    "fans of a vector": lambda lib: lib.nn.init.xavier_normal_(lib.empty(3)),
    "limits of a chance": lambda lib: lib.nn.functional.binary_cross_entropy(lib.ones(1) * 2, lib.ones(1)),
}


def without_second(sequence: Any) -> Any:
    del sequence[1]
    return sequence


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    try:
        return plain(program(lib))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    assert outcome(PROGRAMS[name], ours) == outcome(PROGRAMS[name], torch)


def hooked(lib: Any) -> list[Any]:
    """What hooks of all kinds see, in order."""
    seen: list[Any] = []

    class Pair(lib.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any, *, scale: float = 1.0) -> Any:
            return x * y * scale, x + y

    net = Pair()
    net.register_forward_pre_hook(lambda _m, args: seen.append(("pre", plain(args))))
    net.register_forward_pre_hook(lambda _m, args: (args[0] * 2, args[1]), prepend=True)
    net.register_forward_pre_hook(lambda _m, args, _kwargs: (args, {"scale": 3.0}), with_kwargs=True)
    net.register_forward_hook(lambda _m, args, out: seen.append(("forward", plain(args), plain(out))))
    net.register_forward_hook(lambda _m, _args, kwargs, _out: seen.append(kwargs), with_kwargs=True, prepend=True)
    net.register_full_backward_pre_hook(lambda _m, out: seen.append(("backward pre", plain(out))))
    net.register_full_backward_pre_hook(lambda _m, out: tuple(grad * 2 for grad in out))
    net.register_full_backward_hook(lambda _m, ins, out: seen.append(("backward", plain(ins), plain(out))))
    net.register_full_backward_hook(lambda _m, ins, _out: (ins[0] * 10, ins[1]))
    removed = net.register_full_backward_hook(lambda *_: seen.append("removed"))
    removed.remove()
    x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)
    product, total = net(x, y)
    (product.sum() + (total * 2).sum()).backward()
    seen.append((x.grad.tolist(), y.grad.tolist()))
    return seen


def test_hooks() -> None:
    assert hooked(ours) == hooked(torch)


@pytest.mark.parametrize("frozen", [False, True])
def test_hooks_of_a_network(frozen: bool) -> None:
    def run(lib: Any, net: Any) -> list[Any]:
        seen: list[Any] = []
        for name, module in net.named_modules():
            module.register_full_backward_hook(
                lambda _m, ins, out, name=name: seen.append((name, sizes(ins), sizes(out)))
            )
        x = to_ours(ROWS) if lib is ours else ROWS.clone()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Full backward hook is firing")
            net(x.requires_grad_(not frozen)).sum().backward()
        return seen

    mine, theirs = pair(lambda nn: nn.Sequential(nn.Linear(6, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 2))), True)
    assert run(ours, mine) == run(torch, theirs)
    check_parameters(mine, theirs)


def sizes(grads: tuple[Any, ...]) -> list[float | None]:
    return [None if grad is None else round(grad.abs().sum().item(), 3) for grad in grads]


def test_a_hook_that_is_always_called() -> None:
    def program(lib: Any) -> list[Any]:
        seen: list[Any] = []
        net = lib.nn.Linear(2, 2)
        net.register_forward_hook(lambda _m, _args, out: seen.append(("sometimes", out)))
        net.register_forward_hook(lambda _m, _args, out: seen.append(("always", out)), always_call=True)
        with pytest.raises(RuntimeError):
            net(lib.ones(1, 3))
        return seen

    assert program(ours) == program(torch)


def test_copies() -> None:
    mine, _ = pair(model, True)
    for copied in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert plain(dict(copied.state_dict())) == plain(dict(mine.state_dict()))
        assert type(copied["b"].weight) is ours.nn.Parameter
        assert copied["b"].weight is not mine["b"].weight
        assert repr(copied) == repr(mine)
