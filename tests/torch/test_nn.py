"""Layers, losses, initialisers and modules do what those of torch do, with the same weights and inputs."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import mindtorch_v2
import mindtorch_v2.nn.utils

if TYPE_CHECKING:
    from collections.abc import Callable

ours: Any = mindtorch_v2
Build = "Callable[[Any], Any]"


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def integers(limit: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, limit, shape))


def to_ours(tensor: torch.Tensor) -> Any:
    dtype = getattr(ours, str(tensor.dtype).removeprefix("torch."))
    return ours.tensor(tensor.tolist(), dtype=dtype).reshape(list(tensor.shape))


def plain(value: Any) -> Any:
    """Lists and numbers instead of tensors, which are of one library or the other."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def check(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    assert tuple(found.shape) == tuple(expected.shape)
    assert str(found.dtype) == str(expected.dtype)
    np.testing.assert_allclose(
        np.array(plain(found)), np.array(plain(expected)), rtol=tolerance, atol=tolerance, strict=True
    )


def differentiable(tensor: Any) -> Any:
    return tensor.requires_grad_() if tensor.dtype.is_floating_point else tensor


def backward(lib: Any, outputs: Any) -> None:
    """Go back from a sum in which each element has another weight."""
    total = None
    for output in outputs if isinstance(outputs, tuple) else (outputs,):
        if output is not None and output.requires_grad:
            weights = lib.linspace(0.5, 1.5, output.numel()).reshape(output.shape).to(output.dtype)
            part = (output * weights).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()


def check_same(call: Callable[[Any, list[Any]], Any], inputs: list[torch.Tensor], tolerance: float = 2e-5) -> None:
    """Compare what a function of either library makes of inputs, and the gradients of these."""
    mine = [differentiable(to_ours(tensor)) for tensor in inputs]
    theirs = [differentiable(tensor.clone()) for tensor in inputs]
    found, expected = call(ours, mine), call(torch, theirs)
    for one, other in zip(*(out if isinstance(out, tuple) else (out,) for out in (found, expected)), strict=True):
        if other is None:
            assert one is None
        else:
            check(one, other, tolerance)
    backward(ours, found)
    backward(torch, expected)
    for one, other in zip(mine, theirs, strict=True):
        assert (one.grad is None) == (other.grad is None)
        if other.grad is not None:
            check(one.grad, other.grad, tolerance)


IMAGE, SEQUENCE, ROWS = numbers(2, 4, 6, 7), numbers(2, 4, 9), numbers(5, 6)
LAYERS: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "Identity": (lambda nn: nn.Identity(3, unused=True), [ROWS]),
    "Linear": (lambda nn: nn.Linear(6, 3), [ROWS]),
    "Linear without bias": (lambda nn: nn.Linear(6, 3, bias=False), [numbers(2, 3, 6)]),
    "Linear of a vector": (lambda nn: nn.Linear(6, 3), [numbers(6)]),
    "Linear of float64": (lambda nn: nn.Linear(6, 3, dtype=DTYPE[nn]), [ROWS.double()]),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3), [SEQUENCE]),
    "Conv1d with everything": (lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), [SEQUENCE]),
    "Conv1d circular": (lambda nn: nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"), [SEQUENCE]),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, 3), [IMAGE]),
    "Conv2d without batch": (lambda nn: nn.Conv2d(4, 6, (2, 3), stride=(2, 1)), [numbers(4, 6, 7)]),
    "Conv2d with everything": (lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (1, 2), 2, False), [IMAGE]),
    "Conv2d depthwise": (lambda nn: nn.Conv2d(4, 4, 3, padding=1, groups=4), [IMAGE]),
    "Conv2d same": (lambda nn: nn.Conv2d(4, 6, 3, padding="same", dilation=2), [IMAGE]),
    "Conv2d valid": (lambda nn: nn.Conv2d(4, 6, 3, padding="valid"), [IMAGE]),
    "Conv2d reflect": (lambda nn: nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode="reflect"), [IMAGE]),
    "Conv2d same replicate": (lambda nn: nn.Conv2d(4, 6, (2, 3), padding="same", padding_mode="replicate"), [IMAGE]),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(6), [ROWS]),
    "BatchNorm1d of sequences": (lambda nn: nn.BatchNorm1d(4, eps=1e-3, momentum=0.3), [SEQUENCE]),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), [IMAGE]),
    "BatchNorm2d without bias": (lambda nn: nn.BatchNorm2d(4, bias=False), [IMAGE]),
    "BatchNorm2d of means": (lambda nn: nn.BatchNorm2d(4, momentum=None), [IMAGE]),
    "BatchNorm2d alone": (lambda nn: nn.BatchNorm2d(4, affine=False, track_running_stats=False), [IMAGE]),
    "LayerNorm": (lambda nn: nn.LayerNorm(6), [ROWS]),
    "LayerNorm of two": (lambda nn: nn.LayerNorm((6, 7), eps=1e-3), [IMAGE]),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(6, bias=False), [ROWS]),
    "LayerNorm alone": (lambda nn: nn.LayerNorm([6], elementwise_affine=False), [ROWS]),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), [IMAGE]),
    "GroupNorm without bias": (lambda nn: nn.GroupNorm(4, 4, bias=False), [SEQUENCE]),
    "GroupNorm alone": (lambda nn: nn.GroupNorm(1, 4, affine=False), [SEQUENCE]),
    "RMSNorm": (lambda nn: nn.RMSNorm(6), [ROWS]),
    "RMSNorm with eps": (lambda nn: nn.RMSNorm((6, 7), eps=1e-3), [IMAGE]),
    "RMSNorm alone": (lambda nn: nn.RMSNorm(6, elementwise_affine=False), [ROWS]),
    "Embedding": (lambda nn: nn.Embedding(10, 3), [integers(10, 2, 5)]),
    "Embedding with padding": (lambda nn: nn.Embedding(10, 3, padding_idx=-3), [integers(10, 2, 5)]),
    "Embedding of limited norm": (lambda nn: nn.Embedding(10, 3, max_norm=1.0, norm_type=1.0), [integers(8, 2, 5)]),
    "Embedding by frequency": (lambda nn: nn.Embedding(5, 3, scale_grad_by_freq=True), [integers(5, 2, 9)]),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), [IMAGE]),
    "MaxPool2d with everything": (lambda nn: nn.MaxPool2d((3, 2), (2, 1), 1, 2, ceil_mode=True), [IMAGE]),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), [IMAGE]),
    "AvgPool2d with everything": (lambda nn: nn.AvgPool2d((3, 2), 2, 1, True, False), [IMAGE]),
    "AvgPool2d with a divisor": (lambda nn: nn.AvgPool2d(3, divisor_override=5), [IMAGE]),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d(3), [IMAGE]),
    "AdaptiveAvgPool2d of one size": (lambda nn: nn.AdaptiveAvgPool2d((None, 2)), [IMAGE]),
    "Flatten": (lambda nn: nn.Flatten(), [IMAGE]),
    "Flatten of some": (lambda nn: nn.Flatten(0, -2), [IMAGE]),
    "Unflatten": (lambda nn: nn.Unflatten(-1, (2, -1)), [ROWS]),
    "ZeroPad2d": (lambda nn: nn.ZeroPad2d((1, 2, 0, 1)), [IMAGE]),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Dropout(0.0), nn.Linear(4, 1)), [ROWS]),
    "Sequential by name": (lambda nn: nn.Sequential(OrderedDict(first=nn.Linear(6, 4), then=nn.Tanh())), [ROWS]),
}
DTYPE = {torch.nn: torch.float64, ours.nn: ours.float64}


def pair(build: Any, mode: bool) -> tuple[Any, Any]:
    """The layer of both libraries, with the same weights."""
    mine, theirs = build(ours.nn), build(torch.nn)
    for number, param in enumerate(theirs.parameters()):
        param.data = param.data + 0.1 * numbers(*param.shape, seed=number).to(param.dtype)
    mine.load_state_dict({name: to_ours(value) for name, value in theirs.state_dict().items()})
    return mine.train(mode), theirs.train(mode)


def check_parameters(mine: Any, theirs: Any, tolerance: float = 2e-5) -> None:
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for found, expected in zip(mine.state_dict().values(), theirs.state_dict().values(), strict=True):
        check(found, expected, tolerance)
    assert [name for name, _ in mine.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    for found, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert (found.grad is None) == (expected.grad is None)
        if expected.grad is not None:
            check(found.grad, expected.grad, tolerance)


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, mode: bool) -> None:
    build, inputs = LAYERS[name]
    mine, theirs = pair(build, mode)
    assert repr(mine) == repr(theirs)
    for _ in range(2):
        check_same(lambda lib, args: (mine if lib is ours else theirs)(*args), inputs)
    check_parameters(mine, theirs)


BENDS = [-1000, -100, -20.5, -6, -3, -1, -0.5, -1e-6, 0, 1e-6, 0.5, 1, 3, 6, 20.5, 100, 1000]
POINTS = torch.tensor([*BENDS, *numbers(19).tolist()]).reshape(2, 3, 6)
ACTIVATIONS = {
    **{name: (name, {}) for name in ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Sigmoid", "Tanh")},
    **{
        name: (name, {}) for name in ("Softplus", "Hardtanh", "Hardswish", "Hardsigmoid", "Mish", "PReLU", "LogSigmoid")
    },
    **{name: (name, {}) for name in ("Softsign", "Tanhshrink")},
    **{f"{name} in place": (name, {"inplace": True}) for name in ("ReLU", "ReLU6", "ELU", "SELU", "SiLU", "Mish")},
    **{f"{name} in place": (name, {"inplace": True}) for name in ("Hardtanh", "Hardswish", "Hardsigmoid", "LeakyReLU")},
    "LeakyReLU steep": ("LeakyReLU", {"negative_slope": 0.3}),
    "ELU small": ("ELU", {"alpha": 0.7}),
    "GELU tanh": ("GELU", {"approximate": "tanh"}),
    "Softplus sharp": ("Softplus", {"beta": 2.0, "threshold": 5.0}),
    "Hardtanh wide": ("Hardtanh", {"min_val": -3.0, "max_val": 6.0}),
    "PReLU by channel": ("PReLU", {"num_parameters": 3, "init": 0.1}),
    "Softmax": ("Softmax", {"dim": -1}),
    "LogSoftmax": ("LogSoftmax", {"dim": 1}),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    layer, options = ACTIVATIONS[name]
    mine, theirs = pair(lambda nn: getattr(nn, layer)(**options), True)
    assert repr(mine) == repr(theirs)
    # Written over a copy, for what needs a gradient and is no result cannot be overwritten.
    check_same(lambda lib, args: (mine if lib is ours else theirs)(args[0] * 1), [POINTS])
    check_parameters(mine, theirs, 1e-4)


LOGITS, CLASSES = numbers(5, 6), torch.tensor([0, 5, 2, -100, 2])
MAPS, MAP_CLASSES = numbers(2, 6, 3, 4), integers(6, 2, 3, 4)
TARGETS, WEIGHTS = numbers(5, 6, seed=1), numbers(5, 6, seed=2).abs()
CHANCES, YES = torch.sigmoid(LOGITS), (TARGETS > 0).float()
SIX = torch.linspace(0.5, 2, 6)
REDUCTIONS = ("mean", "sum", "none")
LOSSES: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "MSELoss": (lambda nn, r: nn.MSELoss(reduction=r), [LOGITS, TARGETS]),
    "L1Loss": (lambda nn, r: nn.L1Loss(reduction=r), [LOGITS, TARGETS.round()]),
    "SmoothL1Loss": (lambda nn, r: nn.SmoothL1Loss(reduction=r), [LOGITS, TARGETS]),
    "SmoothL1Loss of a half": (lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.5), [LOGITS, TARGETS]),
    "SmoothL1Loss of nothing": (lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.0), [LOGITS, TARGETS]),
    "HuberLoss": (lambda nn, r: nn.HuberLoss(reduction=r, delta=0.7), [LOGITS, TARGETS]),
    "CrossEntropyLoss": (lambda nn, r: nn.CrossEntropyLoss(reduction=r), [LOGITS, CLASSES]),
    "CrossEntropyLoss smoothed": (
        lambda nn, r: nn.CrossEntropyLoss(WEIGHT[nn], reduction=r, label_smoothing=0.1, ignore_index=2),
        [LOGITS, CLASSES.clamp(0)],
    ),
    "CrossEntropyLoss of maps": (lambda nn, r: nn.CrossEntropyLoss(WEIGHT[nn], reduction=r), [MAPS, MAP_CLASSES]),
    "CrossEntropyLoss of chances": (
        lambda nn, r: nn.CrossEntropyLoss(reduction=r, label_smoothing=0.2),
        [LOGITS, torch.softmax(TARGETS, 1)],
    ),
    "CrossEntropyLoss of one": (lambda nn, r: nn.CrossEntropyLoss(reduction=r), [LOGITS[0], CLASSES[1]]),
    "NLLLoss": (lambda nn, r: nn.NLLLoss(reduction=r), [LOGITS, CLASSES]),
    "NLLLoss weighted": (lambda nn, r: nn.NLLLoss(WEIGHT[nn], ignore_index=2, reduction=r), [LOGITS, CLASSES.clamp(0)]),
    "NLLLoss of maps": (lambda nn, r: nn.NLLLoss(WEIGHT[nn], reduction=r), [MAPS, MAP_CLASSES]),
    "BCELoss": (lambda nn, r: nn.BCELoss(reduction=r), [CHANCES, CHANCES.flip(0)]),
    "BCELoss weighted": (lambda nn, r: nn.BCELoss(WEIGHT[nn], reduction=r), [CHANCES, YES]),
    "BCEWithLogitsLoss": (lambda nn, r: nn.BCEWithLogitsLoss(reduction=r), [LOGITS * 50, YES]),
    "BCEWithLogitsLoss weighted": (
        lambda nn, r: nn.BCEWithLogitsLoss(WEIGHT[nn], pos_weight=WEIGHT[nn], reduction=r),
        [LOGITS, YES],
    ),
    "KLDivLoss": (lambda nn, r: nn.KLDivLoss(reduction=r), [torch.log_softmax(LOGITS, 1), torch.softmax(TARGETS, 1)]),
    "KLDivLoss of zeros": (lambda nn, r: nn.KLDivLoss(reduction=r), [torch.log_softmax(LOGITS, 1), YES]),
    "KLDivLoss of logarithms": (
        lambda nn, r: nn.KLDivLoss(reduction=r, log_target=True),
        [torch.log_softmax(LOGITS, 1), torch.log_softmax(TARGETS, 1)],
    ),
}
WEIGHT = {torch.nn: SIX, ours.nn: to_ours(SIX)}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    if reduction == "batchmean" and not name.startswith("KLDivLoss"):
        pytest.skip("one loss has it")
    build, (input, target) = LOSSES[name]
    assert repr(build(ours.nn, reduction)) == repr(build(torch.nn, reduction))

    def loss(lib: Any, args: list[Any]) -> Any:
        # The target is no variable here, and its zeros have no derivative in a divergence.
        return build(lib.nn, reduction)(args[0], target if lib is torch else to_ours(target))

    check_same(loss, [input])


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_losses(name: str, reduction: str) -> None:
    def loss(lib: Any, args: list[Any]) -> Any:
        return getattr(lib.nn.functional, name)(*args[:2], reduction=reduction, weight=args[2])

    check_same(loss, [LOGITS, TARGETS, WEIGHTS])
    if name != "huber_loss":
        check_same(lambda lib, args: getattr(lib.nn.functional, name)(*args), [LOGITS, TARGETS[0]])


FUNCTIONS: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "normalize": (lambda f, x: f.normalize(x), [IMAGE]),
    "normalize by another norm": (lambda f, x: f.normalize(x, p=1.0, dim=-1, eps=3.0), [IMAGE]),
    "cosine_similarity": (lambda f, x, y: f.cosine_similarity(x, y), [LOGITS, TARGETS]),
    "cosine_similarity of the last": (lambda f, x, y: f.cosine_similarity(x, y, dim=-1), [IMAGE, IMAGE.flip(-1)]),
    "one_hot": (lambda f, x: f.one_hot(x), [integers(4, 2, 3)]),
    "one_hot of more": (lambda f, x: f.one_hot(x, num_classes=7), [integers(4, 2, 3)]),
    "softmin": (lambda f, x: f.softmin(x, dim=1), [IMAGE]),
    "softmax in float64": (lambda f, x: f.softmax(x, -1, dtype=FLOAT64[f]), [ROWS]),
    "pad": (lambda f, x: f.pad(x, (1, 2)), [IMAGE]),
    "pad with a value": (lambda f, x: f.pad(x, (1, 0, 2, 3, 0, 1), value=2.5), [IMAGE]),
    "pad with less": (lambda f, x: f.pad(x, (-1, 2, -2, -1)), [IMAGE]),
    "layer_norm": (lambda f, x: f.layer_norm(x, (6,)), [ROWS]),
    "rms_norm": (lambda f, x: f.rms_norm(x, (6,)), [ROWS]),
    "group_norm": (lambda f, x: f.group_norm(x, 2), [IMAGE]),
    "batch_norm": (lambda f, x: f.batch_norm(x, None, None, training=True), [IMAGE]),
    "linear": (lambda f, x, y: f.linear(x, y), [LOGITS, TARGETS]),
    "dropout of nothing": (lambda f, x: f.dropout(x, 0.0), [ROWS]),
    "dropout of everything": (lambda f, x: f.dropout(x, 1.0), [ROWS]),
    "dropout out of training": (lambda f, x: f.dropout(x, 0.7, training=False), [ROWS]),
    "attention": (lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v), [IMAGE, IMAGE.flip(0), IMAGE.flip(1)]),
    **{
        f"pad {mode} {amounts}": (
            lambda f, x, mode=mode, amounts=amounts: f.pad(x, amounts, mode=mode),
            [IMAGE if len(amounts) == 4 else SEQUENCE],
        )
        for mode, amounts in itertools.product(
            ("reflect", "replicate", "circular"), ((1, 2), (3, 0), (2, 1, 0, 3), (0, 0, 1, 1))
        )
    },
}
FLOAT64 = {torch.nn.functional: torch.float64, ours.nn.functional: ours.float64}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    check_same(lambda lib, args: function(lib.nn.functional, *args), inputs)


@pytest.mark.parametrize("ndim", range(5))
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_without_a_dimension(name: str, ndim: int) -> None:
    def function(lib: Any, args: list[Any]) -> Any:
        with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name} has been deprecated") as caught:
            result = getattr(lib.nn.functional, name)(*args)
        assert caught[0].filename == __file__ or lib is torch
        return result

    check_same(function, [numbers(*[2] * ndim)])


ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "without bias": {"bias": False},
    "batch first": {"batch_first": True},
    "other widths": {"kdim": 5, "vdim": 3},
    "other widths without bias": {"kdim": 5, "bias": False},
    "bias of keys and values": {"add_bias_kv": True},
    "zeros": {"add_zero_attn": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
}
CAUSAL = torch.ones(4, 4).triu(1).bool()
CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without weights": {"need_weights": False},
    "each head's weights": {"average_attn_weights": False},
    "mask": {"attn_mask": CAUSAL},
    "mask without weights": {"attn_mask": CAUSAL, "need_weights": False},
    "causal": {"attn_mask": CAUSAL, "need_weights": False, "is_causal": True},
    "causal with weights": {"attn_mask": CAUSAL, "is_causal": True},
    "mask of numbers": {"attn_mask": numbers(4, 4)},
    "mask of heads": {"attn_mask": numbers(6, 4, 4)},
    "mask of heads without weights": {"attn_mask": numbers(6, 4, 4), "need_weights": False},
    "padding": {"key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3)},
    "padding without weights": {"key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3), "need_weights": False},
    "both": {"attn_mask": CAUSAL, "key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3)},
}


def call_attention(module: Any, lib: Any, args: list[Any], call: dict[str, Any]) -> Any:
    masks = {k: to_ours(v) if lib is ours and isinstance(v, torch.Tensor) else v for k, v in call.items()}
    return module(*args, **masks)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", ATTENTION)
def test_attention(options: str, call: str) -> None:
    made = ATTENTION[options]
    if call == "causal" and ("add_bias_kv" in made or "add_zero_attn" in made):
        pytest.skip("torch masks the added keys too, which nothing asks for")
    mine, theirs = pair(lambda nn: nn.MultiheadAttention(8, 2, **made), True)
    assert repr(mine) == repr(theirs)
    shapes = [(4, 3, width) for width in (8, made.get("kdim", 8), made.get("vdim", 8))]
    if made.get("batch_first"):
        shapes = [(3, 4, width) for _, _, width in shapes]
    inputs = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]

    def attend(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, args, CALLS[call])

    check_same(attend, inputs)
    check_parameters(mine, theirs)
    if "kdim" not in made:
        # The same tensor thrice is projected at once.
        check_same(lambda lib, args: attend(lib, args * 3), inputs[:1])


def test_attention_without_batches() -> None:
    mine, theirs = pair(lambda nn: nn.MultiheadAttention(8, 2, batch_first=True), False)
    masks = {"key_padding_mask": torch.tensor([False, True, False]), "attn_mask": CAUSAL[:, :3]}

    def attend(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, [args[0], args[1], args[1]], masks)

    check_same(attend, [numbers(4, 8), numbers(3, 8, seed=1)])


ENCODER: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "without bias": {"bias": False, "activation": torch.tanh, "layer_norm_eps": 1e-3},
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("mask", ["nothing", "causal", "causal said", "padding", "both"])
@pytest.mark.parametrize("options", ENCODER)
def test_transformer_encoder(options: str, mask: str) -> None:
    made = {"dropout": 0.0, "dim_feedforward": 16, **ENCODER[options]}

    def build(nn: Any) -> Any:
        own = dict(made)
        if nn is ours.nn and own.get("activation") is torch.tanh:
            own["activation"] = ours.tanh
        layer = nn.TransformerEncoderLayer(8, 2, **own)
        return nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8))

    mine, theirs = pair(build, True)
    assert repr(mine) == repr(theirs)
    batch, length = (3, 4) if made.get("batch_first") else (4, 3)
    if not made.get("batch_first"):
        batch, length = 3, 4
    given: dict[str, Any] = {}
    if mask.startswith(("causal", "both")):
        given["mask"] = CAUSAL
    if mask == "causal said":
        given["is_causal"] = True
    if mask in ("padding", "both"):
        given["src_key_padding_mask"] = torch.tensor([[False] * 3 + [True]] * 3)
    shape = (batch, length, 8) if made.get("batch_first") else (length, batch, 8)

    def encode(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, args, given)

    check_same(encode, [numbers(*shape)], 1e-4)
    check_parameters(mine, theirs, 1e-4)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d"])
def test_dropout(name: str) -> None:
    layer = getattr(ours.nn, name)(0.25)
    assert repr(layer) == repr(getattr(torch.nn, name)(0.25))
    values = ours.ones(40, 30, 4, 4) if name == "Dropout2d" else ours.ones(40, 30, 16)
    dropped = np.array(layer(values).tolist()).reshape(1200, 16)
    assert set(np.unique(dropped.round(4))) == {0.0, round(1 / 0.75, 4)}
    assert 0.2 < (dropped == 0).mean() < 0.3
    if name != "Dropout":
        assert (dropped == dropped[:, :1]).all()
    assert layer.eval()(values) is values or layer(values).tolist() == values.tolist()


INITIALISERS: dict[str, Any] = {
    "uniform_": lambda init, x: init.uniform_(x, -2.0, 3.0),
    "normal_": lambda init, x: init.normal_(x, 1.0, 0.5),
    "constant_": lambda init, x: init.constant_(x, 3.5),
    "ones_": lambda init, x: init.ones_(x),
    "zeros_": lambda init, x: init.zeros_(x),
    "eye_": lambda init, x: init.eye_(x),
    "xavier_uniform_": lambda init, x: init.xavier_uniform_(x, gain=1.5),
    "xavier_normal_": lambda init, x: init.xavier_normal_(x),
    "kaiming_uniform_": lambda init, x: init.kaiming_uniform_(x, a=0.2),
    "kaiming_normal_": lambda init, x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
    "trunc_normal_": lambda init, x: init.trunc_normal_(x),
    "trunc_normal_ narrow": lambda init, x: init.trunc_normal_(x, mean=0.5, std=1.0, a=0.4, b=0.8),
    "trunc_normal_ at the side": lambda init, x: init.trunc_normal_(x, mean=0.0, std=1.0, a=1.0, b=2.0),
    "orthogonal_": lambda init, x: init.orthogonal_(x, gain=2.0),
    "sparse_": lambda init, x: init.sparse_(x, 0.3),
}


def same_generator() -> bool:
    def draw(lib: Any) -> list[float]:
        lib.manual_seed(7)
        return sum((x.tolist() for x in (lib.rand(5), lib.randn(20), lib.randn(3), lib.randperm(9))), [])

    return np.allclose(draw(torch), draw(ours), atol=1e-5)


def seeded(lib: Any, make: Callable[[], Any]) -> Any:
    lib.manual_seed(3)
    return make()


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (5, 5)])
@pytest.mark.parametrize("name", INITIALISERS)
def test_initialisers_draw_the_same(name: str, shape: tuple[int, int]) -> None:
    if not same_generator():
        pytest.skip("the generators draw other numbers")
    expected = seeded(torch, lambda: INITIALISERS[name](torch.nn.init, torch.empty(shape)))
    found = seeded(ours, lambda: INITIALISERS[name](ours.nn.init, ours.empty(shape)))
    check(found, expected)


@pytest.mark.parametrize("name", [*LAYERS, *ACTIVATIONS, "attention", "encoder"])
def test_layers_draw_the_same(name: str) -> None:
    if not same_generator():
        pytest.skip("the generators draw other numbers")
    more = {
        "attention": lambda nn: nn.MultiheadAttention(8, 2, kdim=3, add_bias_kv=True),
        "encoder": lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        **{name: lambda nn, v=value: getattr(nn, v[0])(**v[1]) for name, value in ACTIVATIONS.items()},
    }
    build = more[name] if name in more else LAYERS[name][0]
    mine = seeded(ours, lambda: build(ours.nn))
    theirs = seeded(torch, lambda: build(torch.nn))
    check_parameters(mine, theirs, 1e-6)


@pytest.mark.parametrize("nonlinearity", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gains(nonlinearity: str) -> None:
    assert ours.nn.init.calculate_gain(nonlinearity) == torch.nn.init.calculate_gain(nonlinearity)
    assert ours.nn.init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 2, 3), (4, 4, 3, 5), (2, 6, 1, 2, 3)])
def test_dirac(shape: tuple[int, ...], groups: int) -> None:
    check(ours.nn.init.dirac_(ours.empty(shape), groups), torch.nn.init.dirac_(torch.empty(shape), groups))


@pytest.mark.parametrize("norm_type", [2.0, 1, 3.0, float("inf")])
def test_clipping(norm_type: float) -> None:
    for limit in (0.5, 100.0):
        mine, theirs = pair(lambda nn: nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 2)), True)
        check_same(lambda lib, args, m=mine, t=theirs: (m if lib is ours else t)(*args), [ROWS])
        check(
            ours.nn.utils.clip_grad_norm_(mine.parameters(), limit, norm_type),
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit, norm_type),
        )
        check_parameters(mine, theirs)
        ours.nn.utils.clip_grad_value_(mine.parameters(), 0.01)
        torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.01)
        check_parameters(mine, theirs)
        vector = ours.nn.utils.parameters_to_vector(mine.parameters())
        check(vector, torch.nn.utils.parameters_to_vector(theirs.parameters()))
        ours.nn.utils.vector_to_parameters(vector * 2, mine.parameters())
        torch.nn.utils.vector_to_parameters(to_torch(vector) * 2, theirs.parameters())
        check_parameters(mine, theirs)


def to_torch(tensor: Any) -> torch.Tensor:
    return torch.tensor(tensor.tolist())


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
