"""Optimisers and schedules: the same parameters, gradients and options give the same weights, states and rates."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import mindtorch_v2 as ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = 20
SHAPES = [(3, 4), (4,), (), (2, 0)]
TOLERANCE = {"float64": 1e-12, "float32": 3e-6}
GRID: dict[str, dict[str, list[Any]]] = {
    "SGD": {
        "momentum": [0, 0.9],
        "dampening": [0, 0.3],
        "weight_decay": [0, 0.1],
        "nesterov": [False, True],
        "maximize": [False, True],
        "fused": [None, False],
    },
    "Adam": {
        "betas": [(0.9, 0.999), (0.5, 0.8)],
        "weight_decay": [0, 0.1],
        "amsgrad": [False, True],
        "maximize": [False, True],
        "decoupled_weight_decay": [False, True],
        "fused": [None, False],
    },
    "AdamW": {"weight_decay": [0, 0.1], "amsgrad": [False, True], "maximize": [False, True], "fused": [None, False]},
    "Adagrad": {
        "lr_decay": [0, 0.1],
        "weight_decay": [0, 0.1],
        "initial_accumulator_value": [0, 0.2],
        "maximize": [False, True],
    },
    "RMSprop": {
        "alpha": [0.99, 0.5],
        "weight_decay": [0, 0.1],
        "momentum": [0, 0.9],
        "centered": [False, True],
        "maximize": [False, True],
    },
    "Adadelta": {"rho": [0.9, 0.5], "weight_decay": [0, 0.1], "maximize": [False, True]},
    "Adamax": {"betas": [(0.9, 0.999), (0.5, 0.6)], "weight_decay": [0, 0.1], "maximize": [False, True]},
    "NAdam": {
        "weight_decay": [0, 0.1],
        "momentum_decay": [4e-3, 0.1],
        "decoupled_weight_decay": [False, True],
        "maximize": [False, True],
    },
    "RAdam": {
        "betas": [(0.9, 0.999), (0.5, 0.6)],
        "weight_decay": [0, 0.1],
        "decoupled_weight_decay": [False, True],
        "maximize": [False, True],
    },
    "ASGD": {"lambd": [1e-4, 0.1], "t0": [1e6, 5], "weight_decay": [0, 0.1], "maximize": [False, True]},
    "Rprop": {"etas": [(0.5, 1.2), (0.3, 1.5)], "step_sizes": [(1e-6, 50), (0.01, 0.02)], "maximize": [False, True]},
}


def combinations(name: str) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*GRID[name].values()):
        options = dict(zip(GRID[name], values, strict=True))
        if not options.get("nesterov") or (options["momentum"] and not options["dampening"]):
            yield options


def train(library: Any, name: str, options: dict[str, Any], dtype: str) -> tuple[list[Any], Any]:
    """Return the weights after some steps, in which one parameter has no gradient now and then, and the state."""
    random = np.random.default_rng(0)
    params = [library.from_numpy(np.asarray(random.normal(size=shape), dtype)) for shape in SHAPES]
    for param in params:
        param.requires_grad_()
    optimizer = getattr(library.optim, name)([{"params": params[:2]}, {"params": params[2:], "lr": 0.05}], **options)
    for step in range(STEPS):
        for index, (param, shape) in enumerate(zip(params, SHAPES, strict=True)):
            gradient = np.asarray(random.normal(size=shape) * (0.1 + step % 3), dtype)
            param.grad = None if index == 1 and step in (0, 5) else library.from_numpy(gradient)
        optimizer.step()
    return [param.tolist() for param in params], optimizer.state_dict()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", GRID)
def test_twenty_steps_agree(name: str, dtype: str) -> None:
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype] / 10}
    for options in combinations(name):
        weights, state = train(ours, name, options, dtype)
        # Of torch's implementations the plain loop, whose order of operations is the reference.
        expected, expected_state = train(torch, name, {**options, "foreach": False}, dtype)
        for values, expected_values in zip(weights, expected, strict=True):
            np.testing.assert_allclose(values, expected_values, **close, err_msg=str(options))
        assert state["state"].keys() == expected_state["state"].keys()
        for number, entries in expected_state["state"].items():
            assert state["state"][number].keys() == entries.keys()
            for key, value in entries.items():
                np.testing.assert_allclose(
                    state["state"][number][key].tolist(), value.tolist(), **close, err_msg=f"{key} {options}"
                )


@pytest.mark.parametrize("name", GRID)
def test_groups_and_repr_agree(name: str) -> None:
    texts = []
    for library in (ours, torch):
        params = [library.zeros(2, requires_grad=True) for _ in range(2)]
        texts.append(repr(getattr(library.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}])))
    assert texts[0] == texts[1]


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda m, o: m.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda m, o: m.MultiplicativeLR(o, lambda _: 0.95),
    "StepLR": lambda m, o: m.StepLR(o, 7, 0.3),
    "MultiStepLR": lambda m, o: m.MultiStepLR(o, [3, 8, 8, 20], 0.3),
    "ConstantLR": lambda m, o: m.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda m, o: m.LinearLR(o, 0.1, 0.9, 9),
    "ExponentialLR": lambda m, o: m.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda m, o: m.PolynomialLR(o, 13, 2.0),
    "CosineAnnealingLR": lambda m, o: m.CosineAnnealingLR(o, 8, 0.01),
    "CosineAnnealingWarmRestarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "CyclicLR": lambda m, o: m.CyclicLR(o, 0.01, [0.1, 0.2], 4, 7),
    "CyclicLR triangular2": lambda m, o: m.CyclicLR(o, [0.01, 0.02], 0.3, 4, mode="triangular2"),
    "CyclicLR exp_range": lambda m, o: m.CyclicLR(o, 0.01, 0.1, 4, mode="exp_range", gamma=0.97),
    "OneCycleLR": lambda m, o: m.OneCycleLR(o, [0.3, 0.4], total_steps=41),
    "OneCycleLR in three": lambda m, o: m.OneCycleLR(
        o, 0.3, epochs=6, steps_per_epoch=7, three_phase=True, anneal_strategy="linear", pct_start=0.25
    ),
    "SequentialLR": lambda m, o: m.SequentialLR(
        o, [m.LinearLR(o, 0.1), m.CosineAnnealingLR(o, 10), m.ExponentialLR(o, 0.9)], [5, 20]
    ),
    "ChainedScheduler": lambda m, o: m.ChainedScheduler([m.LinearLR(o, 0.1), m.ExponentialLR(o, 0.9), m.StepLR(o, 6)]),
}


def rates(library: Any, optimizer_name: str, make: Callable[[Any, Any], Any], epochs: dict[int, int]) -> list[Any]:
    """Return learning rate and momentum of both groups, step by step; ``epochs`` says where a step goes to an epoch."""
    groups = [{"params": library.zeros(1, requires_grad=True), "lr": rate} for rate in (0.5, 0.2)]
    optimizer = getattr(library.optim, optimizer_name)(groups)
    scheduler = make(library.optim.lr_scheduler, optimizer)
    trace = []
    for step in range(40):
        optimizer.step()
        scheduler.step(*([epochs[step]] if step in epochs else []))
        for group, rate in zip(optimizer.param_groups, scheduler.get_last_lr(), strict=True):
            trace.append([group["lr"], rate, group.get("momentum", 0), *group.get("betas", ())])
    return trace


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_forty_rates_agree(name: str, optimizer: str) -> None:
    traces = [rates(library, optimizer, SCHEDULES[name], {}) for library in (ours, torch)]
    np.testing.assert_allclose(traces[0], traces[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name not in ("SequentialLR", "ChainedScheduler")])
def test_rates_of_an_epoch_agree(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The epoch parameter", UserWarning)
        traces = [rates(library, "SGD", SCHEDULES[name], {10: 3, 20: 17, 30: 2}) for library in (ours, torch)]
    np.testing.assert_allclose(traces[0], traces[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_rates_on_a_plateau_agree(mode: str, threshold_mode: str) -> None:
    traces = []
    for library in (ours, torch):
        optimizer = library.optim.SGD([library.zeros(1, requires_grad=True)], lr=1.0)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, 2, 0.05, threshold_mode, cooldown=1
        )
        trace = []
        for metric in np.random.default_rng(1).random(60).tolist():
            scheduler.step(metric)
            trace.append((optimizer.param_groups[0]["lr"], scheduler.best, scheduler.num_bad_epochs))
        traces.append(trace)
    assert traces[0] == traces[1]
