"""How many instructions an event takes in Python, counted by valgrind.

Two runs that differ in the number of events differ in instructions by what the events take. Starting up takes some
hundred more or fewer every time, of half a billion, which leaves an error of less than a tenth of an instruction. The
interpreter's own are in it, so that no number is stored: compare two builds with one interpreter.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

BEFORE = 1_000
COUNT = 10_000


def sums() -> Callable[[int], None]:
    a, b = torch.ones(4, 4), torch.ones(4, 4)

    def repeat(count: int) -> None:
        for _ in range(count):
            a + b

    return repeat


def scopes() -> Callable[[int], None]:
    scope = record_function("work")

    def repeat(count: int) -> None:
        for _ in range(count):
            with scope:
                pass

    return repeat


def new_scopes() -> Callable[[int], None]:
    def repeat(count: int) -> None:
        for _ in range(count):
            with record_function("work"):
                pass

    return repeat


EVENTS = {"a + b": sums, "with scope": scopes, 'with record_function("work")': new_scopes}
LOOKING_ON = {
    "no profiler": None,
    "profile()": {},
    "record_shapes": {"record_shapes": True},
    "with_flops": {"with_flops": True},
    "with_stack": {"with_stack": True},
    "profile_memory": {"profile_memory": True},
}


def run(event: str, looking_on: str, count: int) -> None:
    """Be the program that is counted."""
    options = LOOKING_ON[looking_on]
    with nullcontext() if options is None else profile(**options):
        repeat = EVENTS[event]()
        repeat(BEFORE)
        repeat(count)


def instructions(event: str, looking_on: str, count: int) -> int:
    """Return how many instructions such a program takes."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, __file__, event, looking_on, str(count)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    log = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", log)[1])


def main() -> None:
    # Shapes, flops and memory are operations' affair.
    of_scopes = ["no profiler", "profile()", "with_stack"]
    cases = [(event, by) for event, make in EVENTS.items() for by in (LOOKING_ON if make is sums else of_scopes)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        totals = {case: [pool.submit(instructions, *case, count) for count in (0, COUNT)] for case in cases}
        print(f"{'':50} {'instructions':>12} {'over no profiler':>16}")
        for (event, looking_on), (less, more) in totals.items():
            count = (more.result() - less.result()) / COUNT
            if LOOKING_ON[looking_on] is None:
                off = count
            print(f"{event + ': ' + looking_on:50} {count:12.1f} {count - off:16.1f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
