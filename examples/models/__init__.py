"""Three small models with data that they can learn, written once for any library that is shaped like PyTorch.

Each function takes that library as its argument ``torch``: MindTorch, or PyTorch to compare with.
"""

from __future__ import annotations

from typing import Any

from models import cnn, gpt, mlp
from models.task import Task, Training

TASKS: dict[str, Task] = {task.name: task for task in (mlp.TASK, cnn.TASK, gpt.TASK)}

__all__ = ["TASKS", "Task", "Training", "train"]


def train(torch: Any, task: Task, steps: int, device: str = "cpu") -> list[float]:
    """Train a new model of the task from the same start every time, and return the loss of each step."""
    training = Training(torch, task, device)
    losses = [training.step(*training.batch(step)) for step in range(steps)]
    # Read at the end, so that a device need not wait for the host after every step.
    return [loss.item() for loss in losses]
