"""What ``record_function`` costs a Python program, with a profiler and without, beside an empty ``with`` block."""

import gc
import platform
import statistics
import time

from mindtorch_v2.profiler import profile, record_function

ROUNDS = 101
COUNT = 20_000


class Empty:
    """A context manager that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def loop(scope):
    """Return nanoseconds for each entering and leaving of ``scope``."""
    counts = range(COUNT)
    start = time.perf_counter_ns()
    for _ in counts:
        with scope:
            pass
    return (time.perf_counter_ns() - start) / COUNT


def empty_loop():
    """Return nanoseconds for each turn of the loop itself."""
    counts = range(COUNT)
    start = time.perf_counter_ns()
    for _ in counts:
        pass
    return (time.perf_counter_ns() - start) / COUNT


def recorded(scope):
    """Return nanoseconds for each entering and leaving of ``scope`` while a profiler is running."""
    with profile():
        return loop(scope)


def main():
    """Run every case once a round, so that all see the same machine, and print the medians."""
    scope, empty = record_function("work"), Empty()
    cases = {
        "the loop itself": empty_loop,
        "with an empty Python object": lambda: loop(empty),
        "with record_function, no profiler": lambda: loop(scope),
        "with record_function, profiler": lambda: recorded(scope),
    }
    samples = {name: [] for name in cases}
    gc.disable()
    for _ in range(ROUNDS):
        for name, case in cases.items():
            samples[name].append(case())
    floor = statistics.median(samples["the loop itself"])
    version = platform.python_version()
    print(f"\nrecord_function in Python {version}, ns less the loop itself, median of {ROUNDS} rounds")
    for name, values in samples.items():
        low, *_, high = statistics.quantiles(values, n=10)
        median = statistics.median(values) - floor
        print(f"  {name:35} {median:8.1f}   ({low - floor:.1f} to {high - floor:.1f})")


if __name__ == "__main__":
    main()
