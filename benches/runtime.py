"""How long tensor programs take with MindTorch, as a share of what they take with PyTorch in the same process."""

import argparse
import json
import os
import platform
import re
import sys
import timeit
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from _cases import cases
from _timing import Effort, compare

try:
    import torch

    import mindtorch_v2
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} is missing from {sys.executable}. This needs PyTorch and MindTorch in one environment:\n"
        "  make .venv-torch/.installed && .venv-torch/bin/python benches/runtime.py"
    )

FULL = Effort(rounds=31, least_rounds=9, turn=0.003, limit=2.0)
QUICK = Effort(rounds=9, least_rounds=5, turn=0.001, limit=0.3)
# PyTorch's threads look out for more work, at full speed, for some 15 ms after each piece: that is nobody else's cost.
# A thread that wakes later may share its caller's processor for some milliseconds, until the system moves it.
REST = 0.03
WARMUP = 0.02
BUSY = 0.5

WIDTH = 42


def main():
    options = arguments()
    chosen = [case for case in cases() if re.search(options.only, case.name)]
    if not chosen:
        sys.exit(f"no case is called {options.only!r}")
    about = machine()
    print("\n".join(f"{name:10} {value}" for name, value in about.items()))
    if os.getloadavg()[0] > BUSY:
        print("Other programs are running. With all threads, the figures will say little.")
    results = []
    for threads in options.threads:
        torch.set_num_threads(threads)
        mindtorch_v2.set_num_threads(threads)
        print(f"\nthreads: {threads}; medians of up to {options.effort.rounds} rounds")
        print(f"{'case':{WIDTH}} {'torch':>10} {'ours':>10} {'ratio':>6}   {'quartiles':14} {'goal':>4}")
        effort = options.effort if threads == 1 else replace(options.effort, pause=REST, warmup=WARMUP)
        for case in chosen:
            results.append(measured(case, threads, effort))
            print(line(results[-1]), flush=True)
    print(f"\n{sum(result.get('ok', False) for result in results)} of {len(results)} within their goals")
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "results": results}, indent=1) + "\n", encoding="utf-8")
    sys.exit(any("error" in result for result in results))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", dest="effort", action="store_const", const=QUICK, default=FULL, help="a rough look")
    parser.add_argument("--only", metavar="PATTERN", default="", help="cases whose names this regular expression finds")
    parser.add_argument("--threads", metavar="N", type=int, nargs="+", help="default: 1, and all cores")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results there too")
    options = parser.parse_args()
    options.threads = options.threads or sorted({1, cores()})
    return options


def cores():
    return len(os.sched_getaffinity(0))


def machine():
    """Return what the figures depend on."""
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return {
        "processor": f"{model[1] if model else platform.machine()}, {cores()} cores, load {os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "torch": f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}",
        "ours": f"mindtorch-v2 {metadata.version('mindtorch-v2')}",
    }


def measured(case, threads, effort):
    """Return the figures of a case; if it cannot be run, why."""
    result = {"case": case.name, "threads": threads, "goal": case.goal}
    try:
        theirs, ours = (timeit.Timer(case.statement, globals=case.names(of)) for of in (torch, mindtorch_v2))
        comparison = compare(theirs, ours, effort)
    except Exception as error:
        return {**result, "error": f"{type(error).__name__}: {error}"}
    return {
        **result,
        "torch_seconds": comparison.first,
        "ours_seconds": comparison.second,
        "ratio": comparison.ratio,
        "quartiles": comparison.quartiles,
        # Rounded as it is printed, so that a printed ratio that equals its goal is ok.
        "ok": round(comparison.ratio, 2) <= case.goal,
    }


def line(result):
    if "error" in result:
        return f"{result['case']:{WIDTH}} {result['error']}"
    low, high = result["quartiles"]
    times = f"{duration(result['torch_seconds']):>10} {duration(result['ours_seconds']):>10}"
    ratios = f"{result['ratio']:6.2f}   {low:.2f} to {high:<6.2f} {result['goal']:4}"
    return f"{result['case']:{WIDTH}} {times} {ratios} {'ok' if result['ok'] else 'over'}"


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


if __name__ == "__main__":
    main()
