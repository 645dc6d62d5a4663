"""What ``record_function`` costs a Python program, with a profiler and without, beside what does nothing."""

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


def constructing_loop():
    """Return nanoseconds for each making, entering and leaving of a scope, as most programs write it."""
    counts = range(COUNT)
    start = time.perf_counter_ns()
    for _ in counts:
        with record_function("work"):
            pass
    return (time.perf_counter_ns() - start) / COUNT


def calling_loop(function):
    """Return nanoseconds for each call of ``function``."""
    counts = range(COUNT)
    start = time.perf_counter_ns()
    for _ in counts:
        function()
    return (time.perf_counter_ns() - start) / COUNT


def plain():
    pass


@record_function("work")
def decorated():
    pass


def empty_loop():
    """Return nanoseconds for each turn of the loop itself."""
    counts = range(COUNT)
    start = time.perf_counter_ns()
    for _ in counts:
        pass
    return (time.perf_counter_ns() - start) / COUNT


def recorded(case, *args):
    """Return what ``case`` does while a profiler is running."""
    with profile():
        return case(*args)


def main():
    """Run every case once a round, so that all see the same machine, and print the medians."""
    scope, empty = record_function("work"), Empty()
    cases = {
        "the loop itself": empty_loop,
        "with an empty Python object": lambda: loop(empty),
        "with record_function, no profiler": lambda: loop(scope),
        "with record_function, profiler": lambda: recorded(loop, scope),
        "with record_function(...), no profiler": constructing_loop,
        "with record_function(...), profiler": lambda: recorded(constructing_loop),
        "a call": lambda: calling_loop(plain),
        "a decorated call, no profiler": lambda: calling_loop(decorated),
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
        print(f"  {name:40} {median:8.1f}   ({low - floor:.1f} to {high - floor:.1f})")


if __name__ == "__main__":
    main()
