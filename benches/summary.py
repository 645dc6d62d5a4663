"""What ``mtprof summary`` takes beside json.load with pandas, and beside HolisticTraceAnalysis: time and peak memory.

Each answers in a process of its own how long the device was idle, and what each kernel and operator took, of the same
file: torch's trace of a training on a GPU, repeated to a million events, or as many as ``--events`` says.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent / "tests" / "data" / "readers" / "cuda" / "steps.json.gz"

PANDAS = """
import json, sys
import pandas as pd
with open(sys.argv[1], "rb") as file:
    events = json.load(file)["traceEvents"]
frame = pd.DataFrame([event for event in events if event["ph"] == "X"])
operators = frame[frame["cat"] == "cpu_op"].groupby("name")["dur"].agg(["count", "sum"])
work = frame[frame["cat"].isin(("kernel", "gpu_memcpy", "gpu_memset"))].sort_values("ts")
kernels = work.groupby("name")["dur"].agg(["count", "sum"])
begins, ends = work["ts"].to_numpy(), (work["ts"] + work["dur"]).cummax().to_numpy()
gaps = (begins[1:] - ends[:-1]).clip(min=0)
print(gaps.sum())
"""

HOLISTIC = """
import logging, sys, warnings
logging.disable()
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
breakdown = analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.t.decode_symbol_ids(use_shorten_name=False)
spans = analysis.t.get_trace(0)
spans[spans["s_cat"] == "cpu_op"].groupby("s_name")["dur"].agg(["count", "sum"])
print(breakdown["idle_time(us)"][0])
"""


def repeated(events: int, path: Path) -> int:
    """Write the source as often as makes so many events with a length; return how many there are."""
    trace = json.loads(gzip.decompress(SOURCE.read_bytes()))
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and is_taken(event)]
    others = [event for event in trace["traceEvents"] if event["ph"] in {"s", "f"}]
    about = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    start = min(event["ts"] for event in spans)
    length = max(event["ts"] + event["dur"] for event in spans) - start
    times = -(-events // len(spans))
    with path.open("w", encoding="utf-8") as file:
        head = {key: value for key, value in trace.items() if key != "traceEvents"}
        file.write(json.dumps({**head, "distributedInfo": {"rank": 0}})[:-1] + ', "traceEvents": [\n')
        file.writelines(json.dumps(event) + ",\n" for event in about)
        for time_of in range(times):
            moved = [json.dumps(shifted(event, time_of, time_of * (length + 1000))) for event in spans + others]
            file.write(",\n".join(moved) + ("\n" if time_of == times - 1 else ",\n"))
        file.write("]}\n")
    return times * len(spans)


def is_taken(event: dict) -> bool:
    """Leave out the recording's own frame, and steps, for each of which HolisticTraceAnalysis looks at all events."""
    return event.get("cat") != "Trace" and not event["name"].startswith("ProfilerStep#")


def shifted(event: dict, time_of: int, by_us: float) -> dict:
    """Return an event of a later repetition, with numbers of its own."""
    args = dict(event.get("args", {}))
    for key in ("correlation", "External id", "Sequence number"):
        if key in args:
            args[key] += time_of * 1_000_000
    found = {**event, "ts": round(event["ts"] + by_us, 3), **({"args": args} if args else {})}
    if "id" in event:
        found["id"] += time_of * 1_000_000
    return found


def measured(command: list[str]) -> tuple[float, float, float, str]:
    """Run a command; return its seconds, those of processors, the most memory in MB, and what it printed."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{command[:3]} failed with {status}")
        out.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--mtprof", default="target/release/mtprof", help="the command")
    options = parser.parse_args()
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "trace.json")
        count = repeated(options.events, path)
        print(f"{count} events with a length, {path.stat().st_size / 1e6:.0f} MB; medians of {options.times}")
        commands = {
            "mtprof summary": [options.mtprof, "summary", str(path), "--json"],
            "json.load + pandas": [sys.executable, "-c", PANDAS, str(path)],
            "HolisticTraceAnalysis": [sys.executable, "-c", HOLISTIC, str(path)],
        }
        for name, command in commands.items():
            runs = [measured(command) for _ in range(options.times)]
            seconds, busy, memory = (statistics.median(run[place] for run in runs) for place in range(3))
            idle = f"device idle for {idle_us(runs[0][3]):.3f} us"
            print(f"{name:22} {seconds:8.2f} s {busy:8.2f} s of processors {memory:8.0f} MB   {idle}", flush=True)


def idle_us(answer: str) -> float:
    if answer.startswith("["):
        return json.loads(answer)[0]["devices"][0]["idle_ns"] / 1e3
    return float(answer.rsplit(maxsplit=1)[-1])


if __name__ == "__main__":
    main()
