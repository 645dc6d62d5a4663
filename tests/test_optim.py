"""Optimisers: their arithmetic, groups, state dicts and hooks."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim
from mindtorch_v2.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from mindtorch_v2.profiler import profile


def parameter(values: list[float], dtype: Any = torch.float64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def make(name: str, param: Any, **options: Any) -> optim.Optimizer:
    optimizer: optim.Optimizer = getattr(optim, name)([param], **options)
    return optimizer


def descend(optimizer: optim.Optimizer, param: torch.Tensor, steps: range = range(5)) -> None:
    for step in steps:
        gradient = [math.sin(3 * step + position) for position in range(param.numel())]
        param.grad = torch.tensor(gradient, dtype=param.dtype)
        optimizer.step()


# Three weights from [1, -2, 3], five steps along the gradients above: computed by PyTorch 2.15.
EXPECTED: list[tuple[str, dict[str, Any], list[float]]] = [
    ("SGD", {}, [1.0262749922897736, -2.0617801014156028, 2.906965145206991]),
    ("SGD", {"momentum": 0.9}, [1.0025452088442304, -2.2010224657187605, 2.7802289876374786]),
    (
        "SGD",
        {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        [0.916431095028397, -2.096841625998801, 2.455236989852243],
    ),
    ("SGD", {"momentum": 0.9, "nesterov": True}, [1.028565680249581, -2.242700320562488, 2.7091712340807215]),
    ("SGD", {"maximize": True}, [0.9737250077102262, -1.938219898584397, 3.093034854793009]),
    ("Adam", {}, [0.9469734885697862, -2.1512166055111397, 2.8613715264197936]),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}, [0.7267309475052046, -2.0393883690800876, 2.7538856388989417]),
    ("Adam", {"maximize": True}, [1.0530265114302138, -1.8487833944888605, 3.1386284735802064]),
    ("AdamW", {"weight_decay": 0.1}, [0.8998635103663345, -2.0485966620300426, 2.7186443984691167]),
    (
        "Adagrad",
        {"lr_decay": 0.1, "initial_accumulator_value": 0.5},
        [1.013441648260437, -2.0537033063667325, 2.9397268663368585],
    ),
    ("RMSprop", {}, [0.8177095907011761, -2.7349749118847364, 2.1859967755325145]),
    ("RMSprop", {"centered": True, "momentum": 0.9}, [-0.8282195192969706, -4.732322818642498, 0.28122552021769]),
    ("Adadelta", {}, [1.0001617893924162, -2.000245611261386, 2.999670438865022]),
    ("Adamax", {}, [0.9612534319806281, -2.1440668575814987, 2.862729676601498]),
    ("NAdam", {}, [0.9908347925222262, -2.0922092727086454, 2.89840534197703]),
    ("RAdam", {"betas": (0.9, 0.8)}, [0.997261472307108, -2.121129945796589, 2.871844949645732]),
    ("ASGD", {"t0": 1, "lambd": 0.1}, [0.9772729724571103, -1.9629215764457617, 2.7651604615897702]),
    ("Rprop", {}, [0.85, -2.175, 2.825]),
]
NAMES = sorted({name for name, _, _ in EXPECTED})
FUSED = ["Adam", "AdamW", "SGD"]


@pytest.mark.parametrize(("name", "options", "expected"), EXPECTED)
def test_five_steps_give_known_weights(name: str, options: dict[str, Any], expected: list[float]) -> None:
    param = parameter([1.0, -2.0, 3.0])
    descend(make(name, param, lr=0.1, **options), param)
    assert param.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("name", "options", "expected"), [row for row in EXPECTED if row[0] in FUSED])
@pytest.mark.parametrize("fused", [False, True])
def test_the_loop_and_the_fused_operation_agree(
    name: str, options: dict[str, Any], expected: list[float], fused: bool
) -> None:
    param = parameter([1.0, -2.0, 3.0])
    descend(make(name, param, lr=0.1, fused=fused, **options), param)
    assert param.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_learning_rate_may_be_a_tensor(name: str) -> None:
    with_number, with_tensor = parameter([1.0, 2.0]), parameter([1.0, 2.0])
    descend(make(name, with_number, lr=0.5), with_number)
    descend(make(name, with_tensor, lr=torch.tensor(0.5)), with_tensor)
    assert with_tensor.tolist() == pytest.approx(with_number.tolist(), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_without_gradient_stay_and_scalars_move(name: str) -> None:
    still, moving = parameter([1.0]), torch.tensor(1.0, requires_grad=True)
    optimizer: optim.Optimizer = getattr(optim, name)([still, moving])
    moving.grad = torch.tensor(2.0)
    optimizer.step()
    assert still.tolist() == [1.0]
    assert moving.item() < 1.0


def test_momentum_of_a_parameter_begins_with_its_first_gradient() -> None:
    early, late = parameter([1.0]), parameter([1.0])
    optimizer = optim.SGD([early, late], lr=0.1, momentum=0.9)
    early.grad = torch.tensor([1.0], dtype=torch.float64)
    optimizer.step()
    late.grad = torch.tensor([1.0], dtype=torch.float64)
    optimizer.step()
    assert early.tolist() == pytest.approx([1 - 0.1 - 0.19])
    assert late.tolist() == pytest.approx([0.9])


def test_groups_of_mixed_dtypes_step_together() -> None:
    single, double = parameter([1.0], torch.float32), parameter([1.0], torch.float64)
    optimizer = optim.Adam([single, double], lr=0.1)
    single.grad, double.grad = torch.ones_like(single), torch.ones_like(double)
    optimizer.step()
    assert single.item() == pytest.approx(0.9, rel=1e-6)
    assert double.item() == pytest.approx(0.9, rel=1e-6)


def test_a_step_leaves_no_graph_and_a_closure_makes_one() -> None:
    param = parameter([2.0])
    optimizer = optim.SGD([param], lr=0.25)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 4.0
    assert param.tolist() == [1.0]
    assert param.is_leaf
    assert param.requires_grad


def test_zero_grad_lets_go_or_fills() -> None:
    param = parameter([1.0])
    optimizer = optim.SGD([param])
    param.grad = torch.ones_like(param)
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is not None
    assert param.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_each_group_has_its_options_or_the_defaults() -> None:
    first, second = parameter([1.0]), parameter([1.0])
    groups: list[dict[str, Any]] = [{"params": first}, {"params": [second], "lr": 0.5}]
    optimizer = optim.SGD(groups, lr=0.1)
    first.grad = second.grad = torch.tensor([1.0], dtype=torch.float64)
    optimizer.step()
    assert first.tolist() == pytest.approx([0.9])
    assert second.tolist() == pytest.approx([0.5])
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0]


def test_repr_is_that_of_torch() -> None:
    groups: list[dict[str, Any]] = [{"params": parameter([1.0])}, {"params": parameter([1.0]), "lr": 0.5}]
    optimizer = optim.SGD(groups)
    assert repr(optimizer) == (
        "SGD (\n"
        "Parameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.001\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n"
        "\n"
        "Parameter Group 1\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.5\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n"
        ")"
    )


def test_named_parameters_keep_their_names() -> None:
    optimizer = optim.SGD([("weight", parameter([1.0])), ("bias", parameter([2.0]))])
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="all optimizer param groups should be with/without names"):
        optimizer.add_param_group({"params": parameter([1.0])})


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        (parameter([1.0]), TypeError, "should be an iterable of Tensors or dicts"),
        ([], ValueError, "optimizer got an empty parameter list"),
        ([3], TypeError, "can only optimize Tensors, but one of the params is int"),
        ([parameter([1.0]) * 2], ValueError, "can't optimize a non-leaf Tensor"),
        ([("a", parameter([1.0])), parameter([1.0])], ValueError, "Some param names are missing"),
        ([{"params": {parameter([1.0])}}], TypeError, "organized in ordered collections"),
        ([{"params": [parameter([1.0])]}, [parameter([1.0])]], TypeError, "param_group must be a dict"),
    ],
)
def test_parameters_that_cannot_be_optimised_are_refused(params: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        optim.SGD(params)


def test_a_parameter_belongs_to_one_group_once() -> None:
    param = parameter([1.0])
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [param]}, {"params": [param]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([param, param])


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("SGD", {"lr": -1.0}, "Invalid learning rate: -1.0"),
        ("SGD", {"lr": torch.ones(2)}, "Tensor lr must be 1-element"),
        ("SGD", {"momentum": -0.1}, "Invalid momentum value: -0.1"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ("Adam", {"betas": (0.9, -0.5)}, "Invalid beta parameter at index 1: -0.5"),
        ("Adam", {"betas": (0, 0.5)}, "betas must be either both floats or both Tensors"),
        ("Adam", {"lr": torch.tensor(0.1), "foreach": True}, "lr as a Tensor is not supported"),
        ("AdamW", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
        ("Adagrad", {"lr_decay": -1.0}, "Invalid lr_decay value: -1.0"),
        ("Adagrad", {"fused": True}, "fused=True is not supported by Adagrad"),
        ("RMSprop", {"alpha": -1.0}, "Invalid alpha value: -1.0"),
        ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
        ("NAdam", {"momentum_decay": -1.0}, "Invalid momentum_decay value: -1.0"),
        ("ASGD", {"lambd": -1.0}, "Invalid lambd value: -1.0"),
        ("Rprop", {"etas": (1.5, 2.0)}, "Invalid eta values: 1.5, 2.0"),
        ("Adam", {"capturable": True}, "capturable=True is not supported"),
        ("SGD", {"differentiable": True}, "differentiable=True is not supported"),
    ],
)
def test_options_are_checked(name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(name, parameter([1.0]), **options)


def test_fused_and_foreach_exclude_each_other() -> None:
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        make("Adam", parameter([1.0]), fused=True, foreach=True)


def test_options_of_a_group_are_checked_too() -> None:
    with pytest.raises(ValueError, match="capturable=True is not supported"):
        optim.Adam([{"params": parameter([1.0]), "capturable": True}])


@pytest.mark.parametrize(("name", "options", "expected"), EXPECTED)
def test_a_state_dict_takes_a_training_further(name: str, options: dict[str, Any], expected: list[float]) -> None:
    first = parameter([1.0, -2.0, 3.0])
    optimizer = make(name, first, lr=0.1, **options)
    descend(optimizer, first, range(2))
    second = parameter(first.tolist())
    other = make(name, second, lr=7.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    descend(other, second, range(2, 5))
    # Not closer, since numbers that a state keeps in float32 are loaded in the dtype of the weights.
    assert second.tolist() == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("name", "options", "expected"), EXPECTED)
def test_a_pickle_takes_a_training_further(name: str, options: dict[str, Any], expected: list[float]) -> None:
    param = parameter([1.0, -2.0, 3.0])
    optimizer = make(name, param, lr=0.1, **options)
    descend(optimizer, param, range(2))
    again = pickle.loads(pickle.dumps(optimizer))
    (param,) = again.param_groups[0]["params"]
    descend(again, param, range(2, 5))
    assert param.tolist() == pytest.approx(expected, rel=1e-12)


def test_a_state_dict_numbers_the_parameters() -> None:
    params = [parameter([1.0]), parameter([2.0]), parameter([3.0])]
    optimizer = optim.Adam([{"params": params[:1]}, {"params": params[1:]}])
    for param in params[1:]:
        param.grad = torch.ones_like(param)
    optimizer.step()
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0], [1, 2]]
    assert sorted(state["state"]) == [1, 2]
    assert sorted(state["state"][1]) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["state"][1]["step"].item() == 1


def test_loaded_state_has_the_dtype_of_the_parameter() -> None:
    double, single = parameter([1.0]), parameter([1.0], torch.float32)
    optimizer = optim.Adam([double])
    descend(optimizer, double)
    other = optim.Adam([single])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[single]["exp_avg"].dtype == torch.float32
    assert other.state[single]["step"].dtype == torch.float32
    assert other.state[single]["step"].item() == 5


def test_state_dicts_of_another_shape_are_refused() -> None:
    state = optim.SGD([parameter([1.0])]).state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([{"params": parameter([1.0])}, {"params": parameter([1.0])}]).load_state_dict(state)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([parameter([1.0]), parameter([1.0])]).load_state_dict(state)


def test_options_that_a_state_dict_lacks_are_the_defaults() -> None:
    optimizer = optim.SGD([parameter([1.0])], maximize=True)
    state = optimizer.state_dict()
    del state["param_groups"][0]["maximize"]
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["maximize"] is True


def test_adamw_stays_adamw_with_the_state_of_adam() -> None:
    optimizer = optim.AdamW([parameter([1.0])])
    optimizer.load_state_dict(optim.Adam([parameter([1.0])]).state_dict())
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


def test_state_dict_hooks_see_and_change_it() -> None:
    optimizer = optim.SGD([parameter([1.0])])
    calls: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda _: calls.append("before"))
    optimizer.register_state_dict_post_hook(lambda _, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda _, __: calls.append("before load"))
    optimizer.register_load_state_dict_post_hook(lambda _: calls.append("second after load"))
    optimizer.register_load_state_dict_post_hook(lambda _: calls.append("first after load"), prepend=True)
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert calls == ["before", "before load", "first after load", "second after load"]


def test_step_hooks_run_around_a_step_once() -> None:
    calls: list[str] = []

    class Twice(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            super().step()
            return super().step(closure)

    param = parameter([1.0])
    optimizer = Twice([param], lr=0.1)
    param.grad = torch.ones_like(param)
    handle = optimizer.register_step_pre_hook(lambda *_: calls.append("own before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("own after"))
    with (
        register_optimizer_step_pre_hook(lambda *_: calls.append("before")),
        register_optimizer_step_post_hook(lambda *_: calls.append("after")),
    ):
        optimizer.step()
    assert calls == ["before", "own before", "own after", "after"]
    assert param.tolist() == pytest.approx([0.8])
    handle.remove()
    optimizer.step()
    assert calls[4:] == ["own after"]


def test_a_step_hook_may_change_the_arguments() -> None:
    optimizer = optim.SGD([parameter([1.0])])
    optimizer.register_step_pre_hook(lambda self, _args, _kwargs: ((self, lambda: 42), {}))
    assert optimizer.step() == 42
    optimizer.register_step_pre_hook(lambda *_: "neither")
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
        optimizer.step()


def test_steps_are_profiled_under_the_names_of_torch() -> None:
    param = parameter([1.0])
    optimizer = optim.SGD([param])
    param.grad = torch.ones_like(param)
    with profile() as prof:
        optimizer.step()
        optimizer.zero_grad()
    names = [event.name for event in prof.events() if event.is_user_annotation]
    assert names == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]


def test_an_optimiser_of_ones_own() -> None:
    class Halve(optim.Optimizer):
        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for param in group["params"]:
                    param.mul_(group["by"])
            return closure

    param = parameter([4.0])
    optimizer = Halve([param], {"by": 0.5})
    with profile() as prof:
        optimizer.step()
    assert param.tolist() == [2.0]
    assert "Optimizer.step#Halve.step" in [event.name for event in prof.events()]
