"""Writes the operations into the type stubs of the core, between the lines that say so.

``python scripts/stubs.py`` writes them, ``python scripts/stubs.py --check`` fails if they are not what the core has.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mindtorch_v2 import _core

STUBS = Path(__file__).parents[1] / "python" / "mindtorch_v2" / "_core.pyi"
# A member such as `float` or `dtype` would hide the type of its name from those that come after it; and the core has no
# `Number`.
HIDDEN = {
    "Number": "_Number",
    "bool": "_bool",
    "device": "_device",
    "dtype": "_dtype",
    "float": "_float",
    "int": "_int",
}


def section(text: str, name: str, lines: list[str], indent: str) -> str:
    """Return the text with the lines between the two that name the section."""
    body = "".join(f"{indent}{line}\n" for line in ["# fmt: off", *sorted(lines), "# fmt: on"])
    pattern = rf"({indent}# {name}: written by scripts/stubs.py\n).*?({indent}# end of {name}\n)"
    replaced, count = re.subn(pattern, lambda match: match[1] + body + match[2], text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{STUBS}: expected one section {name!r}, found {count}")
    return replaced


def qualified(line: str) -> str:
    """Return a stub whose annotations mean Python's types, whatever else has their names."""
    head, _, rest = line.partition("(")
    if " from:" in rest:
        # torch's name for a parameter is a word of the language's.
        rest = "self, *args: Any, **kwargs: Any) -> Tensor: ..."
    for name, other in HIDDEN.items():
        rest = re.sub(rf"(?<=[:\[|] ){name}(?=[,\])| ]|$)|(?<=\[){name}(?=[\],])", other, rest)
    return f"{head}({rest}"


def main() -> None:
    """Write the stubs, or check them."""
    functions, methods = _core._stubs()
    before = STUBS.read_text()
    after = section(before, "functions", [qualified(line) for line in functions], "")
    after = section(after, "methods", [qualified(line) for line in methods], "    ")
    if "--check" in sys.argv[1:]:
        if after != before:
            raise SystemExit(f"{STUBS} is not what the core has: run python scripts/stubs.py")
    else:
        STUBS.write_text(after)


if __name__ == "__main__":
    main()
