"""``Task``: a model and what it is to learn. ``Training``: the learning, on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Task:
    """A model that sorts its inputs into classes, and the promise of how soon it does so."""

    name: str
    model: Callable[[Any], Any]
    """Makes the model, with the library that it is given."""
    batch: Callable[[Any, int], tuple[Any, Any]]
    """Makes inputs and their classes with that library; the same for the same number."""
    rate: float
    """Adam's learning rate."""
    steps: int
    goal: float
    """After so many steps the last ten have a mean loss below this."""

    def reached(self, losses: list[float]) -> bool:
        """Say whether a training with these losses has kept the promise."""
        last = losses[: self.steps][-10:]
        return len(losses) >= self.steps and sum(last) / len(last) < self.goal


class Training:
    """A task's model on a device, with its optimiser."""

    def __init__(self, torch: Any, task: Task, device: str = "cpu") -> None:
        self.torch = torch
        self.task = task
        self.device = device
        # Made on the host, so that every device starts from the same numbers.
        torch.manual_seed(0)
        self.model = task.model(torch).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=task.rate)

    def batch(self, number: int) -> tuple[Any, Any]:
        """Return inputs and their classes, on the device."""
        inputs, classes = self.task.batch(self.torch, number)
        return inputs.to(self.device), classes.to(self.device)

    def loss(self, inputs: Any, classes: Any) -> Any:
        """Return how far the model is from the classes."""
        scores = self.model(inputs)
        return self.torch.nn.functional.cross_entropy(scores.flatten(0, -2), classes.flatten())

    def step(self, inputs: Any, classes: Any) -> Any:
        """Learn from one batch and return its loss."""
        loss = self.loss(inputs, classes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()
