"""What files of a recording cost: how fast they are written and read, how large they are, and the memory it takes.

Ours and PyTorch's are of the same program, so many small additions, in one process and in turns. Run it where both are
installed: ``make bench``. ``--quick`` records a tenth.
"""

import argparse
import functools
import gc
import gzip
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import torch

import mindtorch_v2
from mindtorch_v2.profiler import Trace
from mindtorch_v2.profiler import profile as our_profile

ROUNDS = 5


def record(library, profile, events):
    """Return a profiler that has seen so many additions."""
    small = library.ones(4, 4)
    with profile() as prof:
        for _ in range(events):
            small + small
    return prof


def seconds(run, rounds=ROUNDS, writes=None):
    """Return the median of what some runs took.

    What they write is not there before: to replace a file, some file systems first write it to the disk.
    """
    times = []
    for _ in range(rounds):
        gc.collect()
        if writes is not None:
            writes.unlink(missing_ok=True)
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def memory_peak(run):
    """Return how many bytes the process was larger at its largest than before."""
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(key)]
    return int(line.split()[1]) * 1024


class Table:
    def __init__(self, events):
        self.events = events

    def row(self, name, took, size, comparison="", goal=""):
        per_event = took / self.events * 1e9
        rate = size / took / 1e6
        print(f"{name:<34}{per_event:>10.0f} ns{size / self.events:>8.1f} B{rate:>9.0f} MB/s  {comparison:<56}{goal}")


def load_json(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    events = 100_000 if parser.parse_args().quick else 1_000_000
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"PyTorch {torch.__version__}; {events:,} events, medians of {ROUNDS} runs, files in {tempfile.gettempdir()}"
    )
    print(f"{'':<34}{'an event':>13}{'size':>10}{'rate':>14}")
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), events)


def compare(folder, events):
    table = Table(events)
    plain, zipped = folder / "ours.json", folder / "ours.json.gz"
    native, torchs = folder / "ours.pftrace", folder / "torch.json"
    ours = record(mindtorch_v2, our_profile, events)
    ours.export_chrome_trace(plain)  # the recording is made into a trace by the first who asks
    # Before PyTorch's turn, which leaves memory behind that could be used again.
    exports = (
        (ours.export_chrome_trace, plain),
        (ours.export_chrome_trace, zipped),
        (ours.export_perfetto_trace, native),
    )
    peak = max(memory_peak(functools.partial(export, path)) for export, path in exports)
    # PyTorch's exporter works once a recording.
    theirs = []
    for _ in range(3):
        prof = record(torch, torch.profiler.profile, events)
        theirs.append(seconds(functools.partial(prof.export_chrome_trace, str(torchs)), 1, torchs))
    torch_time = statistics.median(theirs)
    torch_size = torchs.stat().st_size
    table.row("torch: Chrome trace", torch_time, torch_size)

    took = seconds(lambda: ours.export_chrome_trace(plain), writes=plain)
    size = plain.stat().st_size
    table.row("Chrome trace", took, size, f"{torch_time / took:.1f} times torch's rate", "goal 7")
    gz_took = seconds(lambda: ours.export_chrome_trace(zipped), writes=zipped)
    table.row(
        "Chrome trace, gzip",
        gz_took,
        size,
        f"{gz_took / took:.1f} times the plain one's time, {zipped.stat().st_size / events:.1f} B",
        "goal 3",
    )
    pf_took = seconds(lambda: ours.export_perfetto_trace(native), writes=native)
    pf_size = native.stat().st_size
    table.row(
        "Perfetto trace",
        pf_took,
        pf_size,
        f"{pf_took / took:.2f} of the plain one's time, {pf_size / size:.2f} of its size",
        "goals 1, 0.2",
    )
    took = seconds(lambda: ours.export_chrome_trace(os.devnull))
    table.row("Chrome trace, to nowhere", took, size)
    print(f"largest growth of the process while it exported: {peak / 2**20:.1f} MB (goal 64)")

    for path in (torchs, plain, zipped):
        text_size = torch_size if path == torchs else size
        load = seconds(lambda path=path: Trace.load(path), 3)
        peer = seconds(lambda path=path: load_json(path), 1)
        goal = "goal 10" if path == torchs else ""
        table.row(f"Trace.load of {path.name}", load, text_size, f"{peer / load:.1f} times json.load's rate", goal)


if __name__ == "__main__":
    main()
