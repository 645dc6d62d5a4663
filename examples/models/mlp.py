"""A perceptron that tells the arms of a spiral apart."""

from __future__ import annotations

import math
import random
from typing import Any

from models.task import Task

ARMS = 3
BATCH = 64
HIDDEN = 64


def model(torch: Any) -> Any:
    """Return a network of two hidden layers from a point in the plane to the arms' scores."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(2, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, ARMS),
    )


def batch(torch: Any, number: int) -> tuple[Any, Any]:
    """Return points on a spiral, a little beside it, and the arms that they belong to."""
    source = random.Random(number)
    arms = [source.randrange(ARMS) for _ in range(BATCH)]
    return torch.tensor([point(source, arm) for arm in arms]), torch.tensor(arms)


def point(source: random.Random, arm: int) -> tuple[float, float]:
    """Return a point of an arm: half a turn from the centre to the edge."""
    radius = source.random()
    angle = math.pi * radius + 2 * math.pi * arm / ARMS + source.gauss(0, 0.1)
    return 2 * radius * math.cos(angle), 2 * radius * math.sin(angle)


TASK = Task("mlp", model, batch, rate=0.01, steps=100, goal=0.1)
