"""Layers and losses, against numbers that were worked out by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2 import Tensor


def close(found: Tensor, expected: Any, tolerance: float = 1e-5) -> bool:
    """Whether a tensor holds the numbers, in the shape of the nested lists."""
    wanted = torch.tensor(expected, dtype=torch.float64)
    if found.shape != wanted.shape:
        return False
    return bool(((found.detach().to(torch.float64) - wanted).abs() <= tolerance * (1 + wanted.abs())).all())


def fill(module: nn.Module, **values: Any) -> Any:
    for name, value in values.items():
        module.get_parameter(name).data.copy_(torch.tensor(value))
    return module


def test_linear() -> None:
    layer = fill(nn.Linear(2, 3), weight=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], bias=[0.5, 0.0, -0.5])
    x = torch.tensor([[1.0, -1.0]], requires_grad=True)
    out = layer(x)
    assert close(out, [[-0.5, -1.0, -1.5]])
    (out * torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    assert x.grad is not None
    assert close(x.grad, [[22.0, 28.0]])
    assert close(layer.weight.grad, [[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    assert close(layer.bias.grad, [1.0, 2.0, 3.0])
    assert nn.Linear(2, 3, bias=False).bias is None
    assert nn.Linear(2, 3, dtype=torch.float64).weight.dtype == torch.float64


def test_convolutions() -> None:
    conv = fill(nn.Conv1d(1, 1, 2), weight=[[[1.0, 2.0]]], bias=[1.0])
    assert close(conv(torch.tensor([[[1.0, 2.0, 3.0]]])), [[[6.0, 9.0]]])
    image = torch.arange(9.0).reshape(1, 1, 3, 3)
    cross = fill(nn.Conv2d(1, 1, 3, padding=1, bias=False), weight=[[[[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]]])
    assert close(cross(image), [[[[4.0, 6.0, 6.0], [10.0, 16.0, 14.0], [10.0, 18.0, 12.0]]]])
    same = fill(nn.Conv2d(1, 1, 3, padding="same", bias=False), weight=cross.weight.tolist())
    assert close(same(image), cross(image).tolist())
    edges = fill(nn.Conv2d(1, 1, 3, padding=1, padding_mode="replicate", bias=False), weight=cross.weight.tolist())
    assert close(edges(image)[0, 0, 0], [4.0, 7.0, 10.0])
    assert nn.Conv2d(4, 6, (3, 5), groups=2).weight.shape == (6, 2, 3, 5)
    assert repr(nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias=False)) == (
        "Conv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), groups=2, bias=False)"
    )


def test_batch_norm() -> None:
    norm: Any = nn.BatchNorm1d(2, eps=1e-12, momentum=0.5)
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    assert close(norm(x), [[-1.0, -1.0], [1.0, 1.0]])
    assert close(norm.running_mean, [1.0, 10.0])
    assert close(norm.running_var, [1.5, 100.5])
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    assert close(norm(x)[:, 1], [0.0, 20 / math.sqrt(100.5)])
    mean: Any = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 2.0, 6.0):
        mean(torch.full((2, 1), value))
    assert close(mean.running_mean, [3.0])
    with pytest.raises(ValueError, match=r"expected 4D input \(got 2D input\)"):
        nn.BatchNorm2d(2)(x)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        norm.train()(x[:1])


def test_norms() -> None:
    x = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    assert close(nn.LayerNorm(2)(x), [[-1.0, 1.0], [0.0, 0.0]], 1e-4)
    assert close(nn.GroupNorm(1, 2)(x), [[-1.0, 1.0], [0.0, 0.0]], 1e-4)
    assert close(nn.RMSNorm(2)(x), [[1 / math.sqrt(5), 3 / math.sqrt(5)], [1.0, 1.0]])
    assert close(functional.normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])
    assert close(functional.cosine_similarity(x, torch.tensor([[3.0, -1.0], [1.0, 1.0]])), [0.0, 1.0])


def test_embedding() -> None:
    table = nn.Embedding(4, 2, padding_idx=0)
    assert table.weight[0].tolist() == [0.0, 0.0]
    indices = torch.tensor([[1, 0], [3, 1]])
    out = table(indices)
    assert out[1].tolist() == [table.weight[3].tolist(), table.weight[1].tolist()]
    out.sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    given = nn.Embedding.from_pretrained(torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), max_norm=1.0)
    assert close(given(torch.tensor([0, 1])), [[0.6, 0.8], [0.3, 0.4]])
    assert close(given.weight, [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])
    assert not given.weight.requires_grad
    with pytest.raises(NotImplementedError, match="sparse"):
        nn.Embedding(2, 2, sparse=True)


POINTS = [-4.0, -1.0, 0.0, 1.0, 4.0]
ACTIVATIONS: dict[str, tuple[nn.Module, Callable[[float], float]]] = {
    "ReLU": (nn.ReLU(), lambda x: max(x, 0)),
    "ReLU6": (nn.ReLU6(), lambda x: min(max(x, 0), 6)),
    "LeakyReLU": (nn.LeakyReLU(0.1), lambda x: x if x > 0 else 0.1 * x),
    "PReLU": (nn.PReLU(), lambda x: x if x > 0 else 0.25 * x),
    "ELU": (nn.ELU(2.0), lambda x: x if x > 0 else 2 * math.expm1(x)),
    "SELU": (nn.SELU(), lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))),
    "GELU": (nn.GELU(), lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "SiLU": (nn.SiLU(), lambda x: x / (1 + math.exp(-x))),
    "Mish": (nn.Mish(), lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    "Sigmoid": (nn.Sigmoid(), lambda x: 1 / (1 + math.exp(-x))),
    "LogSigmoid": (nn.LogSigmoid(), lambda x: -math.log1p(math.exp(-x))),
    "Tanh": (nn.Tanh(), math.tanh),
    "Tanhshrink": (nn.Tanhshrink(), lambda x: x - math.tanh(x)),
    "Softplus": (nn.Softplus(2.0), lambda x: math.log1p(math.exp(2 * x)) / 2),
    "Softsign": (nn.Softsign(), lambda x: x / (1 + abs(x))),
    "Hardtanh": (nn.Hardtanh(), lambda x: min(max(x, -1), 1)),
    "Hardsigmoid": (nn.Hardsigmoid(), lambda x: min(max(x + 3, 0), 6) / 6),
    "Hardswish": (nn.Hardswish(), lambda x: x * min(max(x + 3, 0), 6) / 6),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    layer, function = ACTIVATIONS[name]
    x = torch.tensor(POINTS, requires_grad=True)
    out = layer(x)
    assert close(out, [function(point) for point in POINTS])
    out.sum().backward()
    step = 1e-6
    slopes = [(function(point + step) - function(point - step)) / (2 * step) for point in POINTS]
    assert x.grad is not None
    # Where none of them bends.
    for place in (0, 4):
        assert close(x.grad[place], slopes[place], 1e-4)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_do_not_overflow(name: str) -> None:
    layer, _ = ACTIVATIONS[name]
    x = torch.tensor([-1e4, 1e4], requires_grad=True)
    out = layer(x)
    out.sum().backward()
    assert x.grad is not None
    assert all(map(math.isfinite, [*out.tolist(), *x.grad.tolist()]))


@pytest.mark.parametrize(
    "layer",
    [nn.ReLU(True), nn.ReLU6(True), nn.ELU(inplace=True), nn.SiLU(True), nn.Hardswish(True), nn.LeakyReLU(0.1, True)],
    ids=repr,
)
def test_activations_in_place(layer: Any) -> None:
    x = torch.tensor(POINTS, requires_grad=True)
    y = torch.tensor(POINTS, requires_grad=True)
    doubled = x * 2
    assert layer(doubled) is doubled
    layer.inplace = False
    expected = layer(y * 2)
    layer.inplace = True
    assert doubled.tolist() == expected.tolist()
    doubled.sum().backward()
    expected.sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert x.grad.tolist() == y.grad.tolist()


def test_softmax() -> None:
    x = torch.tensor([[0.0, math.log(3.0)]])
    assert close(nn.Softmax(-1)(x), [[0.25, 0.75]])
    assert close(nn.LogSoftmax(1)(x), [[math.log(0.25), math.log(0.75)]])
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated") as caught:
        assert close(nn.Softmax()(x), [[0.25, 0.75]])
    assert caught[0].filename == __file__


def test_dropout() -> None:
    x = torch.ones(50, 40)
    dropped = nn.Dropout(0.25)(x)
    assert {round(value, 4) for row in dropped.tolist() for value in row} == {0.0, 1.3333}
    assert 0.15 < (dropped == 0).to(torch.float32).mean().item() < 0.35
    assert nn.Dropout(0.25).eval()(x).tolist() == x.tolist()
    assert nn.Dropout(1.0)(x).sum().item() == 0.0
    channels = nn.Dropout1d(0.5)(torch.ones(40, 8))
    assert all(len(set(row)) == 1 for row in channels.tolist())
    with pytest.raises(ValueError, match=r"dropout probability has to be between 0 and 1, but got 1.5"):
        nn.Dropout(1.5)


def test_pooling() -> None:
    image = torch.arange(16.0).reshape(1, 4, 4)
    assert nn.MaxPool2d(2)(image).tolist() == [[[5.0, 7.0], [13.0, 15.0]]]
    assert nn.AvgPool2d(2, stride=1)(image)[0, 0].tolist() == [2.5, 3.5, 4.5]
    assert nn.AdaptiveAvgPool2d(1)(image).tolist() == [[[7.5]]]
    assert nn.AdaptiveAvgPool2d((None, 2))(image)[0, 0].tolist() == [0.5, 2.5]
    values, places = nn.MaxPool2d(2, return_indices=True)(image)
    assert (values.tolist(), places.tolist()) == ([[[5.0, 7.0], [13.0, 15.0]]], [[[5, 7], [13, 15]]])


def test_shapes() -> None:
    x = torch.arange(24).reshape(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(-1, (2, -1))(x).shape == (2, 3, 2, 2)
    assert nn.ZeroPad2d((1, 0, 0, 2))(x).shape == (2, 5, 5)
    assert nn.Identity(1, 2, a=3)(x) is x


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [9, 9, 0, 1, 2, 9]),
        ("reflect", [2, 1, 0, 1, 2, 1]),
        ("replicate", [0, 0, 0, 1, 2, 2]),
        ("circular", [1, 2, 0, 1, 2, 0]),
    ],
)
def test_padding(mode: str, expected: list[int]) -> None:
    x = torch.arange(3.0).reshape(1, 3).requires_grad_()
    padded = functional.pad(x, (2, 1), mode=mode, value=9.0 if mode == "constant" else None)
    assert padded.tolist() == [expected]
    padded.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[expected.count(number) for number in range(3)]]


def losses() -> list[tuple[nn.Module, Any, Any, list[float]]]:
    third, two_thirds = math.log(1 / 3), math.log(2 / 3)
    return [
        (nn.MSELoss(reduction="none"), [1.0, 4.0], [2.0, 1.0], [1.0, 9.0]),
        (nn.L1Loss(reduction="none"), [1.0, 4.0], [2.0, 1.0], [1.0, 3.0]),
        (nn.SmoothL1Loss(reduction="none", beta=2.0), [1.0, 4.0], [2.0, 1.0], [0.25, 2.0]),
        (nn.HuberLoss(reduction="none", delta=2.0), [1.0, 4.0], [2.0, 1.0], [0.5, 4.0]),
        (nn.CrossEntropyLoss(reduction="none"), [[0.0, math.log(2)], [5.0, 5.0]], [0, 1], [-third, math.log(2)]),
        (nn.CrossEntropyLoss(reduction="none", ignore_index=1), [[0.0, 1.0], [0.0, 0.0]], [1, 0], [0.0, math.log(2)]),
        (nn.NLLLoss(torch.tensor([1.0, 2.0]), reduction="none"), [[-0.5, -1.0], [-3.0, -2.0]], [1, 0], [2.0, 3.0]),
        (nn.BCELoss(reduction="none"), [1 / 3, 2 / 3], [1.0, 0.5], [-third, -(third + two_thirds) / 2]),
        (nn.BCELoss(reduction="none"), [0.0, 1.0], [1.0, 1.0], [100.0, 0.0]),
        (nn.BCEWithLogitsLoss(reduction="none"), [0.0, -math.log(2)], [1.0, 1.0], [math.log(2), -third]),
        (nn.KLDivLoss(reduction="none"), [third, two_thirds], [0.0, 1.0], [0.0, -two_thirds]),
        (
            nn.KLDivLoss(reduction="none", log_target=True),
            [third, 0.0],
            [0.0, two_thirds],
            [-third, two_thirds * 2 / 3],
        ),
    ]


@pytest.mark.parametrize("number", range(len(losses())))
def test_losses(number: int) -> None:
    loss: Any
    loss, input, target, expected = losses()[number]
    x = torch.tensor(input, requires_grad=True)
    assert close(loss(x, torch.tensor(target)), expected)
    loss.reduction = "sum"
    total = loss(x, torch.tensor(target))
    assert close(total, sum(expected))
    total.backward()
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())


def test_reductions() -> None:
    x, y = torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0])
    assert functional.mse_loss(x, y).item() == 5.0
    assert functional.mse_loss(x, y, weight=torch.tensor([3.0, 1.0])).item() == 3.0
    assert close(functional.cross_entropy(torch.zeros(3, 2), torch.tensor([0, 1, -100])), math.log(2))
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.L1Loss(size_average=False)(x, y).item() == 4.0
    with pytest.warns(UserWarning, match="different to the input size"):
        functional.l1_loss(x, y[:1])
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        functional.kl_div(x, y)
    with pytest.raises(ValueError, match="average is not a valid value for reduction"):
        functional.l1_loss(x, y, reduction="average")


def test_attention() -> None:
    attention = nn.MultiheadAttention(2, 1, bias=False, batch_first=True)
    identity = [[1.0, 0.0], [0.0, 1.0]]
    fill(attention, in_proj_weight=identity * 3, **{"out_proj.weight": identity})
    query = torch.tensor([[[math.log(3) * math.sqrt(2), 0.0]]])
    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    out, weights = attention(query, keys, keys)
    assert close(out, [[[0.75, 0.25]]])
    assert close(weights, [[[0.75, 0.25]]])
    out, weights = attention(query, keys, keys, need_weights=False)
    assert close(out, [[[0.75, 0.25]]])
    assert weights is None
    for mask in ({"attn_mask": torch.tensor([[True, False]])}, {"key_padding_mask": torch.tensor([[True, False]])}):
        assert close(attention(query, keys, keys, **mask)[0], [[[0.0, 1.0]]])
    assert attention(query, keys, keys, average_attn_weights=False)[1].shape == (1, 1, 1, 2)
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoder(norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4))
    x = torch.randn(2, 3, 4)
    out = encoder(x)
    assert out.shape == (2, 3, 4)
    assert close(out.mean(-1), [[0.0] * 3] * 2, 1e-4)
    causal = torch.ones(3, 3).triu(1) > 0
    changed = x.clone()
    changed[:, 2] += 1.0
    assert close(encoder(changed, mask=causal)[:, :2], encoder(x, mask=causal)[:, :2].tolist())
    padding = torch.tensor([[False, False, True]] * 2)
    found = encoder(changed, src_key_padding_mask=padding)[:, :2]
    assert close(found, encoder(x, src_key_padding_mask=padding)[:, :2].tolist())
    out.sum().backward()
    assert all(param.grad is not None for param in encoder.parameters())
