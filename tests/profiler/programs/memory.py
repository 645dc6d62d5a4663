"""Programs whose memory is looked at: each is made with the library that it is given, and then run under a profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[], Any]


def perceptron(torch: Any, device: str = "cpu") -> tuple[Any, Any, Any]:
    """Return a model of 64, 128 and 10 units, and a batch of 16 for it."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10)).to(device)
    return model, torch.ones(16, 64, device=device), torch.zeros(16, 10, device=device)


def adam(torch: Any, device: str = "cpu", *, steps: int = 2) -> Run:
    """Train with Adam."""
    model, batch, target = perceptron(torch, device)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def run() -> None:
        for _ in range(steps):
            (model(batch) - target).pow(2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    return run


def adam_by_hand(torch: Any, device: str = "cpu") -> Run:
    """Train with Adam, one parameter after the other."""
    model, batch, target = perceptron(torch, device)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)

    def run() -> None:
        for _ in range(2):
            (model(batch) - target).pow(2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    return run


def momentum(torch: Any, device: str = "cpu") -> Run:
    """Train with momentum, which begins before the recording; gradients are kept and filled with zeros."""
    model, batch, target = perceptron(torch, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def run() -> None:
        (model(batch) - target).abs().sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    run()
    return run


def convolutions(torch: Any, device: str = "cpu") -> Run:
    """Train an image classifier."""
    nn = torch.nn
    layers = [
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 15 * 15, 10),
    ]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.ones(4, 3, 32, 32, device=device), torch.zeros(4, dtype=torch.int64, device=device)

    def run() -> None:
        for _ in range(2):
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()

    return run


def transformer(torch: Any, device: str = "cpu") -> Run:
    """Train a layer of a transformer."""
    model = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batch = torch.ones(2, 16, 32, device=device)

    def run() -> None:
        for _ in range(2):
            model(batch).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    return run


def inference(torch: Any, device: str = "cpu") -> Run:
    """Ask a model without training it; what it says is kept."""
    model, batch, _ = perceptron(torch, device)

    def run() -> Any:
        with torch.no_grad():
            return model(batch)

    return run


def by_hand(torch: Any, device: str = "cpu") -> Run:
    """Train a matrix that is no module's and no optimiser's."""
    weight = torch.ones(64, 32, device=device, requires_grad=True)
    batch = torch.ones(16, 64, device=device)

    def run() -> None:
        for _ in range(2):
            (batch @ weight).pow(2).sum().backward()
            with torch.no_grad():
                weight.sub_(weight.grad * 0.1)
            weight.grad = None

    return run


def preparation(torch: Any, device: str = "cpu") -> Run:
    """Make each batch of raw numbers, in several steps."""
    model = torch.nn.Linear(64, 8).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run() -> None:
        for _ in range(2):
            raw = torch.ones(16, 64, device=device)
            shifted = raw - torch.ones(64, device=device)
            model(shifted).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    return run


def no_model(torch: Any, device: str = "cpu") -> Run:
    """Compute, without a model."""

    def run() -> Any:
        ones = torch.ones(1000, device=device)
        return ones + ones

    return run


PROGRAMS: dict[str, Callable[..., Run]] = {
    "adam": adam,
    "adam by hand": adam_by_hand,
    "momentum": momentum,
    "convolutions": convolutions,
    "transformer": transformer,
    "inference": inference,
    "by hand": by_hand,
    "preparation": preparation,
    "no model": no_model,
}
