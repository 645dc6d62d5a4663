"""What merging and summing up the traces of many ranks takes: megabytes a second, and memory beside one rank's.

    python benches/ranks.py MTPROF [--ranks 16] [--events 200000]

``MTPROF`` is a release build of the command. The traces are in the form that PyTorch writes, with operators, calls of
the runtime, kernels, arrows and collectives, in a temporary directory. They are read from the system's cache: what is
measured is the work, which has to be quicker than the disk. The clock of every rank is off by some milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASE_NS = 1_790_857_026_000_000_000
STEP_US = 20_000.0
OPERATORS = (
    "aten::linear",
    "aten::addmm",
    "aten::relu",
    "aten::layer_norm",
    "aten::add_",
    "aten::mul",
    "aten::softmax",
)
KERNELS = (
    "ampere_sgemm_128x64_tn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >",
)
OPERATOR = """  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 4711, "tid": 4711,
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id},"Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["float", "float"],
      "Input Strides": [[{size}, 1], [{size}, 1]], "Input Dims": [[64, {size}], [{size}, {size}]], "Ev Idx": {id}
    }}
  }},
"""
LAUNCH = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711,
    "ts": {ts:.3f}, "dur": 4.250,
    "args": {{
      "External id": {id}, "cbid": 211, "correlation": {id}
    }}
  }},
  {{
    "ph": "s", "id": {id}, "pid": 4711, "tid": 4711, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g"
  }},
"""
KERNEL = """  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7,
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {id},
      "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.5, "warps per SM": 6, "grid": [{size}, 1, 1],
      "block": [128, 1, 1], "est. achieved occupancy %": 9
    }}
  }},
  {{
    "ph": "f", "id": {id}, "pid": 0, "tid": 7, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
"""
SPAN = """  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "Ev Idx": {id}
    }}
  }},
"""
COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
END = """  {
    "name": "process_labels", "ph": "M", "ts": 0, "pid": 4711, "tid": 0,
    "args": {
      "labels": "CPU"
    }
  }
  ],
  "traceName": "trace.json"
}
"""


def body(events: int) -> bytes:
    """Return the events of a rank: half of them operators, the others launches and kernels, with arrows between."""
    parts: list[str] = []
    per_step = 1_000
    number = 0
    for step in range(events // per_step):
        start = 1_000_000.0 + step * STEP_US
        number += 1
        parts.append(
            SPAN.format(
                category="user_annotation",
                name=f"ProfilerStep#{step}",
                pid=4711,
                tid=4711,
                ts=start,
                dur=STEP_US - 50,
                id=number,
            )
        )
        for place in range((per_step - 2) // 4):
            at = start + 10 + place * 70
            number += 2
            name, size = OPERATORS[place % len(OPERATORS)], 64 << place % 5
            parts += (
                OPERATOR.format(name=name, ts=at, dur=60.5, id=number - 1, size=size),
                OPERATOR.format(
                    name=OPERATORS[(place + 1) % len(OPERATORS)], ts=at + 1, dur=40.25, id=number, size=size
                ),
                LAUNCH.format(ts=at + 5, id=number),
                KERNEL.format(name=KERNELS[place % len(KERNELS)], ts=at + 30, dur=35.125, id=number, size=size),
            )
        parts.append(
            SPAN.format(category="kernel", name=COLLECTIVE, pid=0, tid=9, ts=start + 18_000, dur=900, id=number + 1)
        )
    return "".join(parts).encode()


def write_ranks(directory: Path, ranks: int, events: int) -> None:
    """Write the traces."""
    text = body(events)
    for rank in range(ranks):
        told = {"backend": "nccl", "rank": rank, "world_size": ranks}
        base = BASE_NS + rank * 1_234_567
        head = f'{{\n  "schemaVersion": 1,\n  "deviceProperties": [],\n  "distributedInfo": {json.dumps(told)},\n'
        head += f'  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": {base},\n  "traceEvents": [\n'
        with (directory / f"rank{rank}.json").open("wb") as file:
            file.writelines((head.encode(), text, END.encode()))


def measured(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return the seconds that it took, those of processors, and the most memory that it had."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - begin
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {status}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mtprof", type=Path)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--events", type=int, default=200_000, help="of each rank")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_ranks(options.write, options.ranks, options.events)
        return
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "ranks"
        directory.mkdir()
        # In a process of its own: what is started from here counts the memory of this one as its own at first.
        writing = [sys.executable, __file__, "", "--write", str(directory)]
        subprocess.run([*writing, "--ranks", str(options.ranks), "--events", str(options.events)], check=True)
        size = (directory / "rank0.json").stat().st_size
        total = size * options.ranks
        load = os.getloadavg()[0]
        print(f"{options.ranks} ranks of {options.events:,} events, {size / 1e6:.0f} MB each; the load is {load:.1f}")
        mtprof, output = str(options.mtprof), Path(name) / "merged.json"
        commands = {
            "summary of one": (size, [mtprof, "summary", str(directory / "rank0.json")]),
            "merge": (total, [mtprof, "merge", str(directory), "-o", str(output)]),
            "summary": (total, [mtprof, "summary", str(directory)]),
        }
        for what, (read, command) in commands.items():
            rounds = [measured(command) for _ in range(options.rounds)]
            seconds, processors = (statistics.median(round_[place] for round_ in rounds) for place in (0, 1))
            peak = max(memory for _, _, memory in rounds)
            speed = f"{read / seconds / 1e6:6.0f} MB/s"
            print(
                f"{what:16} {seconds:6.2f} s  {speed}  {processors:6.2f} s of processors  peak {peak / 2**20:6.0f} MiB"
            )
            sys.stdout.flush()
            output.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
