"""What is measured: a statement, the names in it, and how long it may take as a share of PyTorch's time."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "examples"))
from models import TASKS, Training

SMALL, LARGE, MATMUL, CONV, ADAM, FUSED_ADAM = 0.25, 1.1, 1.0, 1.3, 0.8, 1.1
TRAINING = {"mlp": 0.6, "cnn": 1.2, "gpt": 1.0}


@dataclass(frozen=True)
class Case:
    name: str
    goal: float
    statement: str
    names: Callable[[Any], dict[str, Any]]
    """Makes, with the library that it is given, what the statement's names stand for."""


def tensors(*shape, **others):
    """Names: ``a`` and ``b`` of this shape, and others that are made by functions of the library."""

    def names(torch):
        torch.manual_seed(0)
        made = {name: make(torch) for name, make in others.items()}
        return {"torch": torch, "F": torch.nn.functional, "a": torch.randn(*shape), "b": torch.randn(*shape), **made}

    return names


def small():
    for name, statement in {"add": "a + b", "mul": "a * b", "sum": "a.sum()", "matmul": "a @ b"}.items():
        yield Case(f"{name} 2x2", SMALL, statement, tensors(2, 2))


def pointwise():
    statements = {
        "add": "a + b",
        "mul": "a * b",
        "exp": "a.exp()",
        "tanh": "a.tanh()",
        "gelu": "F.gelu(a)",
        "relu": "a.relu()",
        "sigmoid": "a.sigmoid()",
    }
    for name, statement in statements.items():
        yield Case(f"{name} 1M", LARGE, statement, tensors(1000, 1000))


def reductions():
    for name in ("sum", "max", "mean", "var"):
        for label, dim in {"dim 0": "0", "dim 1": "1", "all": ""}.items():
            yield Case(f"{name} 1000x1000 {label}", LARGE, f"a.{name}({dim})", tensors(1000, 1000))


def layers():
    for shape in ((64, 1000), (8, 4, 128, 128)):
        yield Case(f"softmax {'x'.join(map(str, shape))}", LARGE, "a.softmax(-1)", tensors(*shape))
    yield Case("layer_norm 64x1000", LARGE, "F.layer_norm(a, (1000,))", tensors(64, 1000))
    classes = tensors(1024, 256, classes=lambda torch: torch.randint(0, 256, (1024,)))
    yield Case("cross_entropy 1024x256", LARGE, "F.cross_entropy(a, classes)", classes)
    words = tensors(10_000, 128, words=lambda torch: torch.randint(0, 10_000, (8, 128)))
    yield Case("embedding 8x128 of 10000x128", LARGE, "F.embedding(words, a)", words)
    index = tensors(1000, 1000, index=lambda torch: torch.randint(0, 1000, (1000, 1000)))
    yield Case("gather 1000x1000 dim 1", LARGE, "a.gather(1, index)", index)


def matrices():
    for size in (64, 128, 256, 512, 1024):
        yield Case(f"matmul {size}", MATMUL, "a @ b", tensors(size, size))


def convolution(batch, inputs, outputs, size):
    def names(torch):
        torch.manual_seed(0)
        x = torch.randn(batch, inputs, size, size, requires_grad=True)
        layer = torch.nn.Conv2d(inputs, outputs, 3, padding=1)
        y = layer(x)
        # The backward pass of a graph that stays: gradients add up, which is the same work for both.
        return {"torch": torch, "layer": layer, "x": x, "y": y, "slope": torch.randn(*y.shape)}

    shape = f"{inputs}->{outputs} on {batch}x{inputs}x{size}x{size}"
    yield Case(f"conv2d {shape} forward", CONV, "layer(x)", names)
    yield Case(f"conv2d {shape} backward", CONV, "y.backward(slope, retain_graph=True)", names)


def adam(**options):
    def names(torch):
        torch.manual_seed(0)
        parameters = [torch.randn(250, 1000, requires_grad=True) for _ in range(4)]
        for parameter in parameters:
            parameter.grad = torch.randn(250, 1000)
        return {"optimizer": torch.optim.Adam(parameters, **options)}

    return names


def training(name):
    def names(torch):
        # A rate of 0 keeps the gradients as they are. In a model that has learnt its batch they and Adam's moments
        # become denormal numbers, whose arithmetic is slow.
        run = Training(torch, replace(TASKS[name], rate=0.0))
        inputs, classes = run.batch(0)
        return {"run": run, "inputs": inputs, "classes": classes}

    return names


def cases():
    """Yield every case, the smallest first."""
    yield from small()
    yield from pointwise()
    yield from reductions()
    yield from layers()
    yield from matrices()
    yield from convolution(8, 3, 16, 64)
    yield from convolution(8, 16, 32, 32)
    yield Case("Adam step 1M", ADAM, "optimizer.step()", adam())
    yield Case("Adam step 1M fused", FUSED_ADAM, "optimizer.step()", adam(fused=True))
    for name, goal in TRAINING.items():
        yield Case(f"{name.upper()} training step", goal, "run.step(inputs, classes)", training(name))
