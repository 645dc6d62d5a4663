"""Train a small GPT under the profiler, on the host and on the NPU, and see where time and memory went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models import TASKS, Training

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

if TYPE_CHECKING:
    from mindtorch_v2.autograd.profiler_util import EventList

DEVICES = ("cpu", "npu")
STEPS = 8
ROWS = 15
LONGEST_NAME = 54
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


def table(averages: EventList, device: str) -> str:
    """Return a table that fits a terminal of 120 columns, which ``averages.table()`` with all its columns does not."""
    columns = {"Self CPU": "self_cpu_time_total", "CPU total": "cpu_time_total"}
    if device != "cpu":
        columns = {
            f"Self {device.upper()}": "self_device_time_total",
            f"{device.upper()} total": "device_time_total",
            **columns,
        }
    order = next(iter(columns.values()))
    rows = sorted(averages, key=lambda row: getattr(row, order), reverse=True)[:ROWS]
    lines = [["Name", "# of Calls", *columns]]
    for row in rows:
        name = row.key if len(row.key) <= LONGEST_NAME else f"{row.key[: LONGEST_NAME - 3]}..."
        lines.append([name, f"{row.count:,}", *(getattr(row, f"{column}_str") for column in columns.values())])
    return "\n".join(f"{name:<{LONGEST_NAME}}" + "".join(f"{cell:>13}" for cell in cells) for name, *cells in lines)


def next_steps(files: dict[str, list[Path]]) -> str:
    """Return what to do with the files, what is of most use first."""
    lines = ["What to do next:"]
    for number, (step, paths) in enumerate(files.items(), 1):
        lines += [f"{number}. {step}:", *(f"     {path}" for path in paths)]
    return "\n".join(lines)


def main() -> None:
    """Train on each device, print the tables, write the files."""
    OUTPUT.mkdir(exist_ok=True)
    files: dict[str, list[Path]] = {
        "Open the report in a browser, to see where the time and the memory went": [],
        "Open the trace at https://ui.perfetto.dev or chrome://tracing": [],
        "Open the flame graph and the memory in use over time in a browser": [],
    }
    reports, traces, pictures = files.values()
    for device in DEVICES:
        training = Training(torch, TASKS["gpt"], device)
        with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
            losses = train(training, prof)

        print(f"Where the time went on {device}:")
        averages = prof.key_averages()
        print(table(averages, device))
        print(f"Self CPU time total: {averages.self_cpu_time_total / 1000:.3f}ms")
        print(f"{len(prof.events())} events in {STEPS} steps; loss from {losses[0]:.4f} to {losses[-1]:.4f}\n")
        report, trace, flames, memory = (
            OUTPUT / f"{name}-{device}{suffix}"
            for name, suffix in (("report", ".html"), ("trace", ".json.gz"), ("flames", ".svg"), ("memory", ".html"))
        )
        prof.export_report(report, title=f"A small GPT on {device}")
        prof.export_chrome_trace(trace)
        prof.export_flame_graph(flames)
        prof.export_memory_timeline(memory, device)
        reports.append(report)
        traces.append(trace)
        pictures += [flames, memory]

    print(next_steps(files))


if __name__ == "__main__":
    main()
