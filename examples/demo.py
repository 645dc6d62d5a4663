"""Train a small network in plain Python under the profiler, and look at where the time went."""

from __future__ import annotations

import math
import queue
import random
import threading
from pathlib import Path

from mindtorch_v2.profiler import profile, record_function

HIDDEN = 16
BATCH = 64
BATCHES = 120
RATE = 0.5

Point = tuple[float, float, float]


class Network:
    """Two inputs, one hidden layer of tanh units, one output between 0 and 1."""

    def __init__(self, source: random.Random) -> None:
        self.inner = [[source.uniform(-1, 1) for _ in range(3)] for _ in range(HIDDEN)]
        self.outer = [source.uniform(-1, 1) for _ in range(HIDDEN + 1)]

    @record_function("forward")
    def forward(self, x: float, y: float) -> tuple[list[float], float]:
        """Return the hidden units' values and the output."""
        hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.inner]
        total = self.outer[-1] + sum(weight * value for weight, value in zip(self.outer, hidden, strict=False))
        return hidden, 1 / (1 + math.exp(-total))


class Gradients:
    """The sum of the loss's derivatives over a batch."""

    def __init__(self) -> None:
        self.inner = [[0.0] * 3 for _ in range(HIDDEN)]
        self.outer = [0.0] * (HIDDEN + 1)

    @record_function("backward")
    def add(self, network: Network, point: Point, hidden: list[float], output: float) -> None:
        """Add the derivatives for one point."""
        x, y, label = point
        error = output - label
        self.outer[-1] += error
        for unit, value in enumerate(hidden):
            self.outer[unit] += error * value
            slope = error * network.outer[unit] * (1 - value * value)
            row = self.inner[unit]
            row[0] += slope * x
            row[1] += slope * y
            row[2] += slope


@record_function("optimizer")
def descend(network: Network, gradients: Gradients) -> None:
    """Move the weights against the gradients."""
    for row, slopes in zip(network.inner, gradients.inner, strict=True):
        row[:] = [weight - RATE / BATCH * slope for weight, slope in zip(row, slopes, strict=True)]
    network.outer = [w - RATE / BATCH * slope for w, slope in zip(network.outer, gradients.outer, strict=True)]


def load(batches: queue.Queue[list[Point]]) -> None:
    """Make batches of points in a square, labelled by whether they are inside a circle."""
    source = random.Random(1)
    for _ in range(BATCHES):
        with record_function("load batch"):
            batch: list[Point] = []
            for _ in range(BATCH):
                x, y = source.uniform(-1, 1), source.uniform(-1, 1)
                batch.append((x, y, float(x * x + y * y < 0.5)))
        batches.put(batch)


def train(network: Network, batches: queue.Queue[list[Point]], prof: profile) -> float:
    """Train on every batch; return the share of the last one that was classified correctly."""
    correct = 0
    for _ in range(BATCHES):
        with record_function("wait for data"):
            batch = batches.get()
        correct = 0
        gradients = Gradients()
        with record_function("train step"):
            for point in batch:
                hidden, output = network.forward(point[0], point[1])
                gradients.add(network, point, hidden, output)
                correct += (output > 0.5) == (point[2] > 0.5)
            descend(network, gradients)
        prof.step()
    return correct / BATCH


def main() -> None:
    """Train, print the table, write the trace."""
    batches: queue.Queue[list[Point]] = queue.Queue(maxsize=4)
    network = Network(random.Random(0))
    loader = threading.Thread(target=load, args=(batches,), name="data loader")
    with profile() as prof:
        loader.start()
        accuracy = train(network, batches, prof)
        loader.join()

    print(prof.key_averages().table(sort_by="self_cpu_time_total"))
    print(f"{len(prof.events())} events in {prof.step_num} steps; accuracy on the last batch: {accuracy:.0%}")

    path = Path("demo-output") / "trace.json"
    path.parent.mkdir(exist_ok=True)
    prof.export_chrome_trace(path)
    print(f"The trace is in {path}. Open it at https://ui.perfetto.dev or chrome://tracing.")


if __name__ == "__main__":
    main()
