"""``Worker``: a process that has one of the two libraries and measures when it is asked.

Questions go to its standard input and answers come from its standard output, a line of JSON each. What the library
prints goes to standard error.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from benches.costs.library import MODULES, Library
from benches.costs.machine import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

# PyTorch's profiler and allocator write lines while they are measured, unless they are told not to.
QUIET = {"KINETO_LOG_LEVEL": "6", "TORCH_CPP_LOG_LEVEL": "ERROR"}


class Worker:
    """The process, seen from outside: ``subject`` is the class whose methods it calls."""

    def __init__(self, side: str, subject: type, **arguments: Any) -> None:
        place = f"{subject.__module__}:{subject.__qualname__}"
        command = [sys.executable, "-W", "ignore", "-m", __name__, place, side, json.dumps(arguments)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **QUIET},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if kind is not None:
            self.process.kill()
        self.process.communicate()

    def ask(self, method: str, **arguments: Any) -> Any:
        """Have the method called and return what it returns."""
        send, receive = cast("Any", self.process.stdin), cast("Any", self.process.stdout)
        send.write(json.dumps([method, arguments]) + "\n")
        send.flush()
        answer = receive.readline()
        if not answer:
            raise RuntimeError(f"a process ended with {self.process.wait()}: {self.process.args!r}")
        return json.loads(answer)


def once(side: str, subject: type, method: str, **arguments: Any) -> Any:
    """Ask a new process one question."""
    with Worker(side, subject) as worker:
        return worker.ask(method, **arguments)


@contextmanager
def workers(subject: type, sides: Sequence[str] = tuple(MODULES), **arguments: Any) -> Iterator[dict[str, Worker]]:
    """Have a process for each library, for as long as the context lasts."""
    with ExitStack() as stack:
        yield {side: stack.enter_context(Worker(side, subject, **arguments)) for side in sides}


def order(number: int, sides: Sequence[str] = tuple(MODULES)) -> Sequence[str]:
    """Return whose turn it is in a round: one first, and in the next the other."""
    return sides if number % 2 == 0 else sides[::-1]


def serve() -> None:
    """Answer questions until there are no more."""
    place, side, arguments = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    gc.disable()
    module, _, name = place.partition(":")
    subject = getattr(import_module(module), name)(Library(side), **json.loads(arguments))
    # What is there by now will stay: without it, collecting what a turn leaves behind takes no time worth mentioning
    # and drives little from the caches, whichever library it is.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        method, options = json.loads(line)
        answers.write(json.dumps(getattr(subject, method)(**options)) + "\n")
        answers.flush()
    # Nothing is left to do, and some libraries have much to say when the interpreter comes to its end.
    os._exit(0)


if __name__ == "__main__":
    serve()
