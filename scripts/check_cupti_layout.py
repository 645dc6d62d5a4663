"""Compare what the bridge knows of CUPTI's records with the headers of a version of CUPTI.

usage: check_cupti_layout.py INCLUDE [INCLUDE ...]

The first directory has ``cupti.h``; the others what that includes (``cuda.h``, ``crt/host_defines.h``). A C compiler
says where the members of the structs are. Prints what differs, and fails if anything does.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CUDA = Path(__file__).parent.parent / "crates" / "mindtorch-bridge" / "src" / "cuda"

# By module of layout.rs: the struct, of which the header has the latest by some number, and the members.
STRUCTS = {
    "kernel": (
        "CUpti_ActivityKernel",
        {
            "REGISTERS": "registersPerThread",
            "START": "start",
            "END": "end",
            "DEVICE": "deviceId",
            "CONTEXT": "contextId",
            "STREAM": "streamId",
            "GRID": "gridX",
            "BLOCK": "blockX",
            "STATIC_SHARED_MEMORY": "staticSharedMemory",
            "DYNAMIC_SHARED_MEMORY": "dynamicSharedMemory",
            "CORRELATION": "correlationId",
            "NAME": "name",
            "GRAPH_NODE": "graphNodeId",
            "GRAPH": "graphId",
        },
    ),
    "copy": (
        "CUpti_ActivityMemcpy",
        {
            "COPY_KIND": "copyKind",
            "SOURCE_KIND": "srcKind",
            "TARGET_KIND": "dstKind",
            "BYTES": "bytes",
            "START": "start",
            "END": "end",
            "DEVICE": "deviceId",
            "CONTEXT": "contextId",
            "STREAM": "streamId",
            "CORRELATION": "correlationId",
        },
    ),
    "peer_copy": (
        "CUpti_ActivityMemcpyPtoP",
        {"SOURCE_DEVICE": "srcDeviceId", "TARGET_DEVICE": "dstDeviceId", "CORRELATION": "correlationId"},
    ),
    "set": ("CUpti_ActivityMemset", {"MEMORY_KIND": "memoryKind"}),
    "wait": (
        "CUpti_ActivitySynchronization",
        {
            "TYPE": "type",
            "START": "start",
            "END": "end",
            "CORRELATION": "correlationId",
            "CONTEXT": "contextId",
            "STREAM": "streamId",
            "EVENT": "cudaEventId",
        },
    ),
}
# What the records of copies between GPUs and of sets share with those of copies.
SHARED = ("BYTES", "START", "END", "DEVICE", "CONTEXT", "STREAM")

KINDS = {
    "COPY": "MEMCPY",
    "SET": "MEMSET",
    "KERNEL": "CONCURRENT_KERNEL",
    "PEER_COPY": "MEMCPY2",
    "WAIT": "SYNCHRONIZATION",
}

ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": "MAX_THREADS_PER_BLOCK",
    "WARP_SIZE": "WARP_SIZE",
    "MULTIPROCESSORS": "MULTIPROCESSOR_COUNT",
    "MAX_THREADS_PER_MULTIPROCESSOR": "MAX_THREADS_PER_MULTIPROCESSOR",
    "CAPABILITY_MAJOR": "COMPUTE_CAPABILITY_MAJOR",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "MAX_REGISTERS_PER_MULTIPROCESSOR": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "MAX_BLOCKS_PER_MULTIPROCESSOR": "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "RESERVED_SHARED_MEMORY_PER_BLOCK": "RESERVED_SHARED_MEMORY_PER_BLOCK",
}

# Of what CUPTI tells whoever subscribed to calls: the members, in order, by the sizes that `#[repr(C)]` gives them.
CALLBACK = {
    "callbackSite": 0,
    "functionName": 8,
    "functionParams": 16,
    "functionReturnValue": 24,
    "symbolName": 32,
    "context": 40,
    "contextUid": 48,
    "correlationData": 56,
    "correlationId": 64,
}

NUMBERS = {
    "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": 39,
    "CUPTI_API_ENTER": 0,
    "CUPTI_API_EXIT": 1,
    "CUPTI_CB_DOMAIN_DRIVER_API": 1,
    "CUPTI_CB_DOMAIN_RUNTIME_API": 2,
    "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED": 1,
}


def constants(file: str, module: str) -> dict[str, int]:
    """Return the constants of a module of one of the bridge's files."""
    text = (CUDA / file).read_text()
    body = re.search(rf"mod {module} \{{(.*?)\n\}}", text, re.DOTALL)
    if body is None:
        raise SystemExit(f"{file} has no module {module}")
    return {name: int(value) for name, value in re.findall(r"const (\w+): \w+ = (\d+);", body[1])}


def latest(headers: str, struct: str) -> str:
    """Return the struct's name with the highest number that the headers have for it."""
    found: list[str] = re.findall(rf"^\}} {struct}(\d*);", headers, re.MULTILINE)
    return struct + max(found, key=lambda number: int(number or 1))


def expected(headers: str) -> dict[str, int]:
    """Return C expressions, and what the bridge takes them for."""
    known: dict[str, int] = {}
    copies = constants("layout.rs", "copy")
    for module, (struct, members) in STRUCTS.items():
        name = latest(headers, struct)
        here = constants("layout.rs", module)
        if here.keys() != members.keys():
            raise SystemExit(f"this script does not know all of {module}: {sorted(here.keys() ^ members.keys())}")
        known |= {f"offsetof({name}, {member})": here[constant] for constant, member in members.items()}
        if module in {"peer_copy", "set"}:
            of_copies = STRUCTS["copy"][1]
            known |= {f"offsetof({name}, {of_copies[constant]})": copies[constant] for constant in SHARED}
    known[f"offsetof({latest(headers, 'CUpti_ActivityMemset')}, correlationId)"] = copies["CORRELATION"]
    kinds = constants("layout.rs", "kind")
    known |= {f"CUPTI_ACTIVITY_KIND_{name}": kinds[constant] for constant, name in KINDS.items()}
    attributes = constants("driver.rs", "attribute")
    known |= {f"CU_DEVICE_ATTRIBUTE_{name}": attributes[constant] for constant, name in ATTRIBUTES.items()}
    known |= {f"offsetof(CUpti_CallbackData, {member})": at for member, at in CALLBACK.items()}
    return known | NUMBERS


def compiled(expressions: list[str], includes: list[str]) -> list[int]:
    """Return what a C compiler takes the expressions for."""
    lines = "\n".join(f'    printf("%lld\\n", (long long)({expression}));' for expression in expressions)
    program = f"#include <cupti.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{lines}\n}}\n"
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory, "layout.c"), Path(directory, "layout")
        source.write_text(program)
        subprocess.run(["cc", *(f"-I{path}" for path in includes), str(source), "-o", str(binary)], check=True)  # noqa: S603, S607
        done = subprocess.run([str(binary)], check=True, capture_output=True, text=True)  # noqa: S603
    return [int(line) for line in done.stdout.split()]


def main(includes: list[str]) -> int:
    """Compare, and return the status of the program."""
    if not includes:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    headers = Path(includes[0], "cupti_activity.h").read_text()
    known = expected(headers)
    found = compiled([*known, "CUPTI_API_VERSION"], includes)
    wrong = [
        f"{name} is {now}, not {then}\n" for (name, then), now in zip(known.items(), found, strict=False) if then != now
    ]
    sys.stdout.writelines(
        [*wrong, f"CUPTI {found[-1]}: {len(known) - len(wrong)} of {len(known)} are as they should be\n"]
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
