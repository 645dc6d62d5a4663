"""What the tracer of Python functions asks of Python."""

from __future__ import annotations

import os
import site
import sys


def places() -> tuple[list[str], str]:
    """Return the folders that modules are imported from, longest first, and the folder of this package.

    Traces show the path of a file from the folder that it was imported from. Each folder ends in a separator.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [*sys.path, *site.getsitepackages(), site.getusersitepackages(), os.path.dirname(package)]
    # Paths may be of any type as far as Python cares; the working directory may have been deleted.
    try:
        folders = [os.path.abspath(folder) for folder in folders if isinstance(folder, str)]
    except FileNotFoundError:
        folders = [folder for folder in folders if isinstance(folder, str) and os.path.isabs(folder)]
    # The root is a part of every path, and says nothing.
    roots = {os.path.join(folder, "") for folder in folders} - {os.sep}
    return sorted(roots, key=len, reverse=True), os.path.join(package, "")
