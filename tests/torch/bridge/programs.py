"""Programs that PyTorch runs under both profilers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable


def mlp() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs, targets = torch.randn(3, 8), torch.tensor([0, 1, 3])

    def run() -> None:
        with torch.profiler.record_function("forward"):
            loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run


def cnn() -> Callable[[], None]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    inputs = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)

    def run() -> None:
        model(inputs).square().mean().backward()

    return run


def transformer() -> Callable[[], None]:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    optimizer = torch.optim.Adam(model.parameters())
    inputs = torch.randn(2, 5, 16)

    def run() -> None:
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()

    return run


def autocast() -> Callable[[], None]:
    model = nn.Linear(8, 8)
    inputs = torch.randn(4, 8)

    def run() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(inputs).float().sum().backward()

    return run


def loader() -> Callable[[], None]:
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2))
    batches = torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)

    def run() -> None:
        for (batch,) in batches:
            batch.sum()

    return run


def jit() -> Callable[[], None]:
    @torch.jit.script
    def scripted(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x @ y).relu() + x.sum()

    one, other = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)

    def run() -> None:
        scripted(one, other).sum().backward()

    return run


class _Double(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


def function() -> Callable[[], None]:
    inputs = torch.randn(3, requires_grad=True)

    def run() -> None:
        _Double.apply(inputs).sum().backward()

    return run


def inputs_of_all_kinds() -> Callable[[], None]:
    sparse = torch.eye(3).to_sparse()

    def run() -> None:
        torch.cat([torch.ones(2, 3), torch.ones(1, 3, dtype=torch.float16)])
        torch.ones(2, dtype=torch.complex64) * 1j
        torch.full((2, 2), 1.5)
        torch.arange(0, 5, 2)
        torch.zeros(2, 0, 3).sum(dim=[0, 2], keepdim=True)
        torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=[2.0, 2.0])
        sparse @ torch.ones(3, 3)
        torch.flip(torch.ones(2, 3), [0, 1])
        torch.ones(40).split([1] * 40)
        torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2))
        torch.clamp(torch.ones(3), min=None, max=0.5)
        torch.quantize_per_tensor(torch.ones(2), 0.1, 10, torch.qint8)

    return run


ALL = [mlp, cnn, transformer, autocast, loader, jit, function, inputs_of_all_kinds]
