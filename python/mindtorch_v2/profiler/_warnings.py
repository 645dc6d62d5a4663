"""Warnings that point at the user's line."""

from __future__ import annotations

import sys

_PACKAGE = __name__.partition(".")[0] + "."

_shown: set[str] = set()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is not the package's own."""
    import warnings  # noqa: PLC0415 (few need it, and the package is to be imported quickly)

    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_once(message: str) -> None:
    """Warn the first time only."""
    if message not in _shown:
        _shown.add(message)
        warn_user(message)
