"""Programs that PyTorch runs under both profilers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.utils.checkpoint
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


def inputs_of_odd_kinds() -> Callable[[], None]:
    rows = torch.eye(3).to_sparse_csr()
    opaque = torch.ones(2, 3).to_mkldnn()
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    indices = torch.tensor([0, 1])

    def run() -> None:
        rows @ torch.ones(3, 3)
        opaque + opaque
        jagged * 2
        torch.ones(2, 3, 4)[:, indices]
        torch.ones(2, 3, 4)[None, ..., None]
        torch.ones(3).conj().neg()
        torch.empty(0, device="meta") + torch.empty(0, device="meta")
        torch._foreach_add([torch.ones(n) for n in range(40)], 1.0)
        torch.ones(2, 3).expand(4, 2, 3).sum((0, 1))
        torch.ones(4).as_strided((2, 2), (0, 1)).contiguous()
        torch.ones(2, dtype=torch.bool) & True
        torch.nan_to_num(torch.ones(2), nan=float("-inf"), posinf=1e300, neginf=-1e-300)
        torch.bucketize(torch.ones(2), torch.arange(3.0), right=True)
        torch.tensor(2**62).add(-(2**62))

    return run


def transformed() -> Callable[[], None]:
    """Functions of functions, gradients of gradients, and what is computed again for the backward pass."""
    model, values = nn.Linear(4, 4), torch.randn(3, 4)

    def run() -> None:
        torch.vmap(torch.dot)(values, values)
        torch.func.grad(lambda x: x.sin().sum())(values)
        torch.utils.checkpoint.checkpoint(model, values, use_reentrant=False).sum().backward()
        point = torch.ones(2, requires_grad=True)
        (slope,) = torch.autograd.grad(point.pow(3).sum(), point, create_graph=True)
        slope.sum().backward()

    return run


ALL = [
    mlp, cnn, transformer, autocast, loader, jit, function, inputs_of_all_kinds, inputs_of_odd_kinds, transformed,
]  # fmt: skip
