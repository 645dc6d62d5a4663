"""Train a small GPT under the profiler, on the host and on the NPU, and see where time and memory went."""

from __future__ import annotations

from pathlib import Path

import memory_plot
from models import TASKS, Training

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

DEVICES = ("cpu", "npu")
STEPS = 8
OUTPUT = Path("demo-output")


def train(training: Training, prof: profile, memory: memory_plot.Samples) -> list[float]:
    """Train for a few steps, with each part of a step under its name, and return the losses."""
    losses = []
    for step in range(STEPS):
        with record_function("load batch"):
            inputs, classes = training.batch(step)
        memory.sample("load batch")
        with record_function("forward"):
            loss = training.loss(inputs, classes)
        memory.sample("forward")
        with record_function("backward"):
            loss.backward()
        memory.sample("backward")
        with record_function("optimizer"):
            training.optimizer.step()
            training.optimizer.zero_grad()
        losses.append(loss.item())
        memory.sample("optimizer")
        prof.step()
    return losses


def main() -> None:
    """Train on each device, print the tables, write the traces and the plot."""
    OUTPUT.mkdir(exist_ok=True)
    written = []
    memories = []
    for device in DEVICES:
        training = Training(torch, TASKS["gpt"], device)
        memory = memory_plot.Samples(device)
        with profile() as prof:
            losses = train(training, prof, memory)
        memories.append(memory)

        print(f"Where the time went on {device}:")
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
        print(f"{len(prof.events())} events in {STEPS} steps; loss from {losses[0]:.4f} to {losses[-1]:.4f}\n")
        written.append(OUTPUT / f"trace-{device}.json")
        prof.export_chrome_trace(written[-1])

    written.append(OUTPUT / "memory.svg")
    written[-1].write_text(memory_plot.svg(memories), encoding="utf-8")
    print("Written:", ", ".join(map(str, written)))
    print("Open the traces at https://ui.perfetto.dev or chrome://tracing, the plot in a browser.")


if __name__ == "__main__":
    main()
