"""A process that is killed at any moment leaves what it had recorded until then: its own log says what that is."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults import kill_program
from tests.faults.kill_program import Log
from tests.faults.recovered import check, last_round

from mindtorch_v2.profiler import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindtorch_v2.profiler._trace import RecoveredTrace

KILLS = int(os.environ.get("MINDTORCH_KILLS", "20"))
SEED = int(os.environ.get("MINDTORCH_SEED", "1"))
SCOPES = 4, 300, 3000
"""What a thread records in a run: the fewer, the more likely is a start or a stop."""


class Victims:
    """Processes that record until they are killed, of a server that has imported everything."""

    def __init__(self, directory: Path) -> None:
        program = [sys.executable, str(Path(kill_program.__file__))]
        self.server = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.spools, self.log = directory / "spools", directory / "log"

    def ask(self, line: str) -> int:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def kill_one(self, scopes: int, wait: Callable[[Log], None]) -> Log:
        """Start one, kill it after the wait, and return its log."""
        shutil.rmtree(self.spools, ignore_errors=True)
        self.spools.mkdir()
        log = Log.create(self.log)
        child = self.ask(f"{self.spools} {self.log} {scopes}")
        wait(log)
        # The server has not waited for it, so that its number is no other's.
        os.kill(child, signal.SIGKILL)
        assert self.ask("") == -signal.SIGKILL
        assert not log.words[log.FAILED]
        return log


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[Victims]:
    victims = Victims(tmp_path)
    yield victims
    victims.server.kill()
    victims.server.communicate()


def wait_until_done(log: Log) -> None:
    while not (log.words[log.LEFT] or log.words[log.FAILED]):
        time.sleep(0.001)


def wait_for(seconds: float) -> Callable[[Log], None]:
    return lambda _log: time.sleep(seconds)


def recover(directory: Path) -> tuple[list[RecoveredTrace], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traces = Trace.recover(directory)
    return traces, [str(warning.message) for warning in caught]


def test_whatever_the_moment_what_was_recorded_is_there(victims: Victims) -> None:
    lengths = {}
    # The first waits for the server too, so that it says nothing.
    for scopes in SCOPES[:1] + SCOPES:
        began = time.perf_counter()
        victims.kill_one(scopes, wait_until_done)
        lengths[scopes] = time.perf_counter() - began
    chance = random.Random(SEED)
    phases: Counter[str] = Counter()
    events = 0
    for kill in range(KILLS):
        scopes = chance.choice(SCOPES)
        log = victims.kill_one(scopes, wait_for(chance.uniform(0, lengths[scopes])))
        traces, unreadable = recover(victims.spools)
        number, phase = last_round(log)
        where = f"kill {kill} of seed {SEED}: {scopes} scopes, recording {number} was {phase.name}"
        said = f"missing: {[trace.missing for trace in traces]}, unreadable: {unreadable}"
        try:
            check(log, traces, unreadable)
        except AssertionError as error:
            pytest.fail(f"{where}, {log.finished(number)} logged, {said}: {error}\n{traceback.format_exc()}")
        phases[phase.name.lower()] += 1
        events += sum(len(trace.events()) for trace in traces)
    sys.stdout.write(f"{KILLS} kills, {events} events recovered; recordings were {dict(phases.most_common())}\n")
