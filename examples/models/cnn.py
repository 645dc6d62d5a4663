"""A convolutional network that reads digits."""

from __future__ import annotations

import random
from typing import Any

from models.task import Task

BATCH = 32
SIZE = 16

# Three by five points each, row after row.
DIGITS = (
    "###" "#.#" "#.#" "#.#" "###",
    ".#." "##." ".#." ".#." "###",
    "###" "..#" "###" "#.." "###",
    "###" "..#" "###" "..#" "###",
    "#.#" "#.#" "###" "..#" "..#",
    "###" "#.." "###" "..#" "###",
    "###" "#.." "###" "#.#" "###",
    "###" "..#" ".#." ".#." ".#.",
    "###" "#.#" "###" "#.#" "###",
    "###" "#.#" "###" "..#" "###",
)  # fmt: skip


def model(torch: Any) -> Any:
    """Return two convolutions, each followed by pooling, and a layer from what they find to the digits' scores."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (SIZE // 4) ** 2, len(DIGITS)),
    )


def batch(torch: Any, number: int) -> tuple[Any, Any]:
    """Return pictures of one channel and the digits that they show."""
    source = random.Random(number)
    digits = [source.randrange(len(DIGITS)) for _ in range(BATCH)]
    return torch.tensor([[picture(source, digit)] for digit in digits]), torch.tensor(digits)


def picture(source: random.Random, digit: int) -> list[list[float]]:
    """Draw a digit, with points of two by two, near the middle of a grey noise."""
    rows = [[source.uniform(-0.25, 0.25) for _ in range(SIZE)] for _ in range(SIZE)]
    left, top = source.randint(2, 8), source.randint(0, 6)
    for at, mark in enumerate(DIGITS[digit]):
        if mark == "#":
            y, x = top + 2 * (at // 3), left + 2 * (at % 3)
            for row in rows[y : y + 2]:
                row[x : x + 2] = [1.0, 1.0]
    return rows


TASK = Task("cnn", model, batch, rate=0.01, steps=100, goal=0.5)
