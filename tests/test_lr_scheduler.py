"""Learning rate schedules, against values computed by hand."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, cast

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim
from mindtorch_v2.optim import lr_scheduler as schedules

if TYPE_CHECKING:
    from collections.abc import Callable


def make_optimizer(*rates: Any, name: str = "SGD", **options: Any) -> optim.Optimizer:
    groups = [{"params": torch.zeros(1, requires_grad=True), "lr": rate} for rate in rates]
    optimizer: optim.Optimizer = getattr(optim, name)(groups, **options)
    return optimizer


def run(optimizer: optim.Optimizer, scheduler: Any, steps: int) -> list[float]:
    """Return the first group's learning rate, from before the first step on."""
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


CHAINABLE: list[tuple[Callable[[Any], Any], list[float]]] = [
    (lambda o: schedules.LambdaLR(o, lambda epoch: 1 / (epoch + 1)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    (lambda o: schedules.MultiplicativeLR(o, lambda _: 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: schedules.StepLR(o, 2, 0.1), [1, 1, 0.1, 0.1, 0.01]),
    (lambda o: schedules.MultiStepLR(o, [1, 3, 3], 0.1), [1, 0.1, 0.1, 0.001, 0.001]),
    (lambda o: schedules.ConstantLR(o, 0.25, 3), [0.25, 0.25, 0.25, 1, 1]),
    (lambda o: schedules.LinearLR(o, 0.2, 0.8, 3), [0.2, 0.4, 0.6, 0.8, 0.8]),
    (lambda o: schedules.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: schedules.PolynomialLR(o, 3, 2.0), [1, 4 / 9, 1 / 9, 0, 0]),
    (lambda o: schedules.CosineAnnealingLR(o, 2, 0.2), [1, 0.6, 0.2, 0.6, 1]),
    (lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 1, 0.2), [1, 0.6, 1, 0.6, 1]),
    (lambda o: schedules.CyclicLR(o, 0.2, 1, 2, cycle_momentum=False), [0.2, 0.6, 1, 0.6, 0.2]),
    (
        lambda o: schedules.CyclicLR(o, 0, 1, 1, mode="triangular2", cycle_momentum=False),
        [0, 1, 0, 0.5, 0],
    ),
    (
        lambda o: schedules.OneCycleLR(
            o, 1, 5, pct_start=0.6, anneal_strategy="linear", div_factor=4, final_div_factor=0.5
        ),
        [0.25, 0.625, 1, 0.75, 0.5],
    ),
]


@pytest.mark.parametrize(("make", "expected"), CHAINABLE)
def test_schedules_step_by_step(make: Callable[[Any], Any], expected: list[float]) -> None:
    optimizer = make_optimizer(1.0)
    assert run(optimizer, make(optimizer), 4) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("make", "expected"), CHAINABLE)
def test_schedules_go_on_from_a_state_dict(make: Callable[[Any], Any], expected: list[float]) -> None:
    optimizer = make_optimizer(1.0)
    scheduler = make(optimizer)
    run(optimizer, scheduler, 2)
    other = make_optimizer(1.0)
    resumed = make(other)
    other.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    assert run(other, resumed, 2) == pytest.approx(expected[2:], rel=1e-12, abs=1e-15)
    assert resumed.last_epoch == 4
    assert resumed.get_last_lr() == [other.param_groups[0]["lr"]]


# All but MultiplicativeLR, which multiplies whatever is there.
@pytest.mark.parametrize(("make", "expected"), [CHAINABLE[0], *CHAINABLE[2:]])
def test_an_epoch_asks_for_the_closed_form(make: Callable[[Any], Any], expected: list[float]) -> None:
    optimizer = make_optimizer(1.0)
    scheduler = make(optimizer)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The epoch parameter", UserWarning)
        scheduler.step(3)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(expected[3], rel=1e-12, abs=1e-15)


def test_a_learning_rate_that_is_a_tensor_stays_that_tensor() -> None:
    rate = torch.tensor(1.0)
    optimizer = make_optimizer(rate)
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert scheduler.base_lrs[0].item() == 1.0


def test_each_group_has_its_own_rate() -> None:
    optimizer = make_optimizer(1.0, 10.0)
    scheduler = schedules.LambdaLR(optimizer, [lambda epoch: 0.5**epoch, lambda epoch: 0.1**epoch])
    run(optimizer, scheduler, 1)
    assert scheduler.get_last_lr() == pytest.approx([0.5, 1.0])
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        schedules.LambdaLR(optimizer, [lambda _: 1.0])


def test_momentum_goes_the_other_way() -> None:
    optimizer = make_optimizer(1.0, momentum=0.5)
    scheduler = schedules.CyclicLR(optimizer, 0.1, 1, 2, base_momentum=0.8, max_momentum=0.9)
    momenta = [optimizer.param_groups[0]["momentum"]]
    for _ in range(4):
        run(optimizer, scheduler, 1)
        momenta.append(optimizer.param_groups[0]["momentum"])
    assert momenta == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])


def test_the_momentum_of_adam_is_its_first_beta() -> None:
    optimizer = make_optimizer(1.0, name="Adam")
    schedules.OneCycleLR(optimizer, 1.0, total_steps=10)
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        schedules.OneCycleLR(make_optimizer(1.0, name="Adagrad"), 1.0, total_steps=10)


def test_one_cycle_has_an_end() -> None:
    optimizer = make_optimizer(1.0)
    scheduler = schedules.OneCycleLR(optimizer, 1.0, epochs=1, steps_per_epoch=3)
    run(optimizer, scheduler, 3)
    with pytest.raises(ValueError, match=r"Tried to step 4 times\. The specified number of total steps is 3"):
        run(optimizer, scheduler, 1)


def test_a_plateau_lowers_the_rate_after_patience_and_rests() -> None:
    optimizer = make_optimizer(1.0)
    scheduler = schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2, min_lr=0.2)
    rates = []
    for metric in [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]:
        scheduler.step(torch.tensor(metric))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2, 0.2]
    assert scheduler.best == 0.5
    assert scheduler.get_last_lr() == [0.2]


@pytest.mark.parametrize(
    ("mode", "threshold_mode", "better", "worse"),
    [
        ("min", "rel", 89.0, 91.0),
        ("min", "abs", 99.8, 99.95),
        ("max", "rel", 111.0, 109.0),
        ("max", "abs", 100.2, 100.05),
    ],
)
def test_a_plateau_counts_what_is_better_by_the_threshold(
    mode: Any, threshold_mode: Any, better: float, worse: float
) -> None:
    for metric, best in ((better, better), (worse, 100.0)):
        scheduler = schedules.ReduceLROnPlateau(make_optimizer(1.0), mode, threshold=0.1, threshold_mode=threshold_mode)
        scheduler.step(100.0)
        scheduler.step(metric)
        assert scheduler.best == best


def test_schedules_one_after_the_other() -> None:
    optimizer = make_optimizer(1.0)
    warmup = schedules.LinearLR(optimizer, 0.5, total_iters=2)
    decay = schedules.ExponentialLR(optimizer, 0.5)
    scheduler = schedules.SequentialLR(optimizer, [warmup, decay], [2])
    assert run(optimizer, scheduler, 4) == pytest.approx([0.5, 0.75, 1.0, 0.5, 0.25])
    state = scheduler.state_dict()
    assert [inner["last_epoch"] for inner in state["_schedulers"]] == [1, 2]


def test_schedules_at_once() -> None:
    optimizer = make_optimizer(1.0)
    inner = [schedules.ConstantLR(optimizer, 0.1, 2), schedules.ExponentialLR(optimizer, 0.5)]
    scheduler = schedules.ChainedScheduler(inner)
    assert run(optimizer, scheduler, 3) == pytest.approx([0.1, 0.05, 0.25, 0.125])
    assert scheduler.get_last_lr() == pytest.approx([0.125])


def test_schedulers_that_do_not_fit_together_are_refused() -> None:
    optimizer, other = make_optimizer(1.0), make_optimizer(1.0)
    step, foreign = schedules.StepLR(optimizer, 1), schedules.StepLR(other, 1)
    with pytest.raises(ValueError, match="expects all schedulers to belong to the same optimizer"):
        schedules.ChainedScheduler([step, foreign])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`"):
        schedules.SequentialLR(optimizer, [step, schedules.ReduceLROnPlateau(optimizer)], [1])
    with pytest.raises(ValueError, match="one more than the number of milestone points"):
        schedules.SequentialLR(optimizer, [step], [1])
    with pytest.raises(ValueError, match="expects at least one scheduler"):
        schedules.ChainedScheduler([])


def test_a_step_before_that_of_the_optimiser_is_warned_of() -> None:
    optimizer = make_optimizer(1.0)
    optimizer.step()
    scheduler = schedules.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    scheduler.step()


def test_an_overridden_step_is_warned_of() -> None:
    optimizer = make_optimizer(1.0)
    scheduler = schedules.StepLR(optimizer, 1)
    optimizer.step = lambda *_: None  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()


def test_asking_for_the_next_rate_is_warned_of() -> None:
    scheduler = schedules.StepLR(make_optimizer(1.0), 1)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()


def test_going_on_needs_the_initial_rates() -> None:
    optimizer = make_optimizer(0.25)
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        schedules.StepLR(optimizer, 2, 0.5, last_epoch=4)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    scheduler = schedules.StepLR(optimizer, 2, 0.5, last_epoch=4)
    assert scheduler.base_lrs == [1.0]
    assert run(optimizer, scheduler, 1) == [0.25, 0.125]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: schedules.ConstantLR(o, 2.0), "expected to be between 0 and 1"),
        (lambda o: schedules.LinearLR(o, 0.0), "greater than 0 and less or equal to 1"),
        (lambda o: schedules.LinearLR(o, 0.5, 2.0), "expected to be between 0 and 1"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 0), "Expected positive integer T_0"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 1, 0), "Expected integer T_mult >= 1"),
        (lambda o: schedules.CyclicLR(o, 0.1, 1, mode=cast("Any", "square")), "mode is invalid and scale_fn is None"),
        (lambda o: schedules.CyclicLR(o, [0.1, 0.2], 1), "base_lr must have the same length"),
        (lambda o: schedules.OneCycleLR(o, 1), "You must define either total_steps OR"),
        (lambda o: schedules.OneCycleLR(o, 1, 0), "Expected positive integer total_steps"),
        (lambda o: schedules.OneCycleLR(o, 1, 5, pct_start=2.0), "between 0 and 1 pct_start"),
        (lambda o: schedules.ReduceLROnPlateau(o, factor=1.0), "Factor should be < 1.0"),
        (lambda o: schedules.ReduceLROnPlateau(o, cast("Any", "best")), "mode best is unknown"),
        (lambda o: schedules.ReduceLROnPlateau(o, min_lr=[0, 0]), "expected 1 min_lrs, got 2"),
    ],
)
def test_arguments_are_checked(make: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(make_optimizer(1.0))


def test_only_optimisers_have_schedules() -> None:
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        schedules.StepLR(3, 1)  # type: ignore[arg-type]


def test_the_state_of_callable_objects_is_kept() -> None:
    class Decay:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, epoch: int) -> float:
            return self.by**epoch

    state = schedules.LambdaLR(make_optimizer(1.0), Decay(0.5)).state_dict()
    assert state["lr_lambdas"] == [{"by": 0.5}]
    assert "optimizer" not in state
    decay = Decay(1.0)
    schedules.LambdaLR(make_optimizer(1.0), decay).load_state_dict(state)
    assert decay.by == 0.5
    assert math.isclose(decay(2), 0.25)
