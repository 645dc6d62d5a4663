"""Train a small GPT under the profiler, on the host and on the NPU, and see where time and memory went."""

from __future__ import annotations

from pathlib import Path

from models import TASKS, Training

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

DEVICES = ("cpu", "npu")
STEPS = 8
OUTPUT = Path("demo-output")


def train(training: Training, prof: profile) -> list[float]:
    """Train for a few steps, with each part of a step under its name, and return the losses."""
    losses = []
    for step in range(STEPS):
        with record_function("load batch"):
            inputs, classes = training.batch(step)
        with record_function("forward"):
            loss = training.loss(inputs, classes)
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            training.optimizer.step()
            training.optimizer.zero_grad()
        losses.append(loss.item())
        prof.step()
    return losses


def main() -> None:
    """Train on each device, print the tables, write the files."""
    OUTPUT.mkdir(exist_ok=True)
    written = []
    for device in DEVICES:
        training = Training(torch, TASKS["gpt"], device)
        with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
            losses = train(training, prof)

        print(f"Where the time went on {device}:")
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
        print(f"{len(prof.events())} events in {STEPS} steps; loss from {losses[0]:.4f} to {losses[-1]:.4f}\n")
        report, trace, flames, memory = (
            OUTPUT / f"{name}-{device}{suffix}"
            for name, suffix in (("report", ".html"), ("trace", ".json.gz"), ("flames", ".svg"), ("memory", ".html"))
        )
        prof.export_report(report, title=f"A small GPT on {device}")
        prof.export_chrome_trace(trace)
        prof.export_flame_graph(flames)
        prof.export_memory_timeline(memory, device)
        written += [report, trace, flames, memory]

    print("Written:", ", ".join(map(str, written)))
    print("Open the reports in a browser, and the rest too; the traces at https://ui.perfetto.dev or chrome://tracing.")


if __name__ == "__main__":
    main()
