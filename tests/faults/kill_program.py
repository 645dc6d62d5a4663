"""A program that records to files and is killed, and that keeps a log of its own of what it has recorded.

Run as a program, it is a server: it has imported everything, and forks a child for each line of its standard input,
which names the directory to record to, the file of the log and the number of scopes. It answers with the child's
number, waits for another line, and then for the child, which never ends by itself.
"""

from __future__ import annotations

import enum
import mmap
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfilerAction, profile, record_function

ROUNDS = 3
"""Recordings of a run, one after another."""
THREADS = 4
"""Of a recording: the first is the one that records, the others are started while it does."""
STEPS = 4
ONES = torch.ones(2, 3)


class Phase(enum.IntEnum):
    """How far a recording has come."""

    ABSENT = 0
    STARTING = 1
    RECORDING = 2
    STOPPING = 3
    STOPPED = 4
    DROPPING = 5
    DROPPED = 6


class Log:
    """What a program has done, in memory that outlives it. One store notes one thing."""

    WORDS = 2 + THREADS
    FAILED, LEFT = ROUNDS * WORDS, ROUNDS * WORDS + 1
    BYTES = 8 * (LEFT + 1)

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.words = memoryview(mmap.mmap(file.fileno(), self.BYTES)).cast("Q")

    @classmethod
    def create(cls, path: Path) -> Log:
        path.write_bytes(bytes(cls.BYTES))
        return cls(path)

    def reach(self, number: int, phase: Phase) -> None:
        self.words[number * self.WORDS] = phase

    def phase(self, number: int) -> Phase:
        return Phase(self.words[number * self.WORDS])

    def step(self, number: int, steps: int) -> None:
        self.words[number * self.WORDS + 1] = steps

    def steps(self, number: int) -> int:
        return self.words[number * self.WORDS + 1]

    def place(self, number: int, thread: int) -> int:
        """Return the index of the word with the number of scopes that a thread has finished."""
        return number * self.WORDS + 2 + thread

    def finished(self, number: int) -> list[int]:
        return [self.words[self.place(number, thread)] for thread in range(THREADS)]


def work(log: Log, place: int, thread: int, scopes: range) -> None:
    """Record scopes with names of their own, each with a scope and an operator in it."""
    inner = record_function("inner")
    for number in scopes:
        with record_function(f"{thread}.{number}"), inner:
            ONES + ONES
        log.words[place] = number + 1


def record(log: Log, number: int, directory: Path, scopes: int) -> None:
    log.reach(number, Phase.STARTING)
    # One that always records: each step then has a span.
    prof = profile(
        schedule=lambda _step: ProfilerAction.RECORD, record_shapes=True, profile_memory=True, spool_dir=directory
    )
    prof.start()
    log.reach(number, Phase.RECORDING)
    others = [
        threading.Thread(target=work, args=(log, log.place(number, thread), thread, range(scopes)))
        for thread in range(1, THREADS)
    ]
    for step in range(STEPS):
        if step < len(others):
            others[step].start()
        work(log, log.place(number, 0), 0, range(scopes * step // STEPS, scopes * (step + 1) // STEPS))
        prof.step()
        log.step(number, step + 1)
    for other in others:
        other.join()
    log.reach(number, Phase.STOPPING)
    prof.stop()
    log.reach(number, Phase.STOPPED)
    ONES + ONES  # nobody records it
    log.reach(number, Phase.DROPPING)
    del prof
    log.reach(number, Phase.DROPPED)


def run(directory: Path, log: Log, scopes: int) -> None:
    """Record again and again, then wait to be killed."""
    sys.setswitchinterval(1e-4)
    for number in range(ROUNDS):
        record(log, number, directory, scopes)
    log.words[log.LEFT] = 1
    signal.pause()


def answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def serve() -> None:
    for request in sys.stdin:
        directory, path, scopes = request.split()
        child = os.fork()
        if child == 0:
            log = Log(Path(path))
            try:
                run(Path(directory), log, int(scopes))
            except BaseException:
                log.words[log.FAILED] = 1
                traceback.print_exc()
            os._exit(1)
        answer(child)
        sys.stdin.readline()
        answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    serve()
