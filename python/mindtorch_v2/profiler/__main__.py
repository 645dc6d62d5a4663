"""``python -m mindtorch_v2.profiler``: what processes left that recorded to files."""

from __future__ import annotations

import argparse
import os
import sys
import warnings

from mindtorch_v2.profiler import Trace

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2.profiler._trace import RecoveredTrace

DONE, NOTHING = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 if it has done something, and 1 if there was nothing that it could do."""
    parser = argparse.ArgumentParser(prog="python -m mindtorch_v2.profiler", description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    recover = commands.add_parser(
        "recover",
        help="show or export what processes left in a directory that they recorded to",
        description="Show what processes left in a directory that they recorded to, with profile(spool_dir=DIR), and "
        "what is missing of it. Exit status: 0 if something was recovered, 1 if not, 2 for wrong arguments.",
    )
    recover.add_argument("directory", metavar="DIR", help="the spool_dir, or one recording's directory in it")
    recover.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write each recording to a file, in a format by its suffix, such as .json.gz; {pid} and {count} in the "
        "name become the number of the process and of the recording",
    )
    recover.add_argument(
        "--rows", metavar="N", type=int, default=10, help="rows of the tables that are shown; default 10"
    )
    options = parser.parse_args(arguments)
    warnings.showwarning = lambda message, *_args, **_options: print(message, file=sys.stderr)
    try:
        return run(options.directory, options.output, options.rows)
    except BrokenPipeError:
        # Whoever reads this has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return NOTHING


def run(directory: str, output: str | None, rows: int) -> int:
    """Show each recording, and write it if that is asked for."""
    traces = Trace.recover(directory)
    if not traces:
        print(f"there is no recording in {directory!r} that can be read", file=sys.stderr)
        return NOTHING
    if output is not None and len(traces) > 1 and "{pid}" not in output and "{count}" not in output:
        raise ValueError(f"there are {len(traces)} recordings: the name of the file needs {{count}} or {{pid}} in it")
    for count, trace in enumerate(traces, 1):
        show(trace, rows)
        if output is not None:
            name = output.replace("{pid}", str(trace.pid)).replace("{count}", str(count))
            trace.export(name)
            print(f"written to {name}")
    return DONE


def show(trace: RecoveredTrace, rows: int) -> None:
    """Print what there is and what is missing."""
    print(f"{trace.path}: process {trace.pid}, {len(trace.events())} events in {trace.duration_ns / 1e9:.3f} s")
    print(f"missing: {trace.missing or 'nothing'}")
    if rows > 0:
        print(trace.key_averages().table(row_limit=rows))


if __name__ == "__main__":
    sys.exit(main())
