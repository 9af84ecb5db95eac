"""What ptxas says of a build: registers, spills, stack and shared memory of each kernel, and every warning.

Reads the text that ``nvcc -Xptxas -v`` prints. It starts nothing and judges nothing.
"""

from __future__ import annotations

import re

from kernels.toolchain.report import Resources

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
_PROPERTIES = re.compile(r"Function properties for (?P<name>\S+)")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_REGISTERS = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_WARNING = re.compile(r"\bwarning\b\s*[#:]", re.IGNORECASE)
_PERFORMANCE = re.compile(r"ptxas\s+info\s*:\s*\((C\d+)\)")


def parse_resources(log: str) -> tuple[Resources, ...]:
    """One record a kernel, in the order compiled; kernels whose register line is missing are left out.

    ``shared_bytes`` is None where ptxas names none: dynamic shared memory is asked for at launch, unseen by ptxas.
    """
    found: list[Resources] = []
    kernel: str | None = None
    stack, stores, loads = 0, 0, 0
    of_kernel = False
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            kernel, stack, stores, loads, of_kernel = entry["name"], 0, 0, 0, False
        elif properties := _PROPERTIES.search(line):
            # Device functions that were not inlined have properties of their own.
            of_kernel = properties["name"] == kernel
        elif of_kernel and (frame := _STACK.search(line)):
            stack, stores, loads = int(frame["stack"]), int(frame["stores"]), int(frame["loads"])
        elif kernel is not None and (used := _REGISTERS.search(line)):
            shared = _SHARED.search(line)
            found.append(
                Resources(
                    kernel=short_name(kernel),
                    registers=int(used["registers"]),
                    spill_stores=stores,
                    spill_loads=loads,
                    stack_bytes=stack,
                    shared_bytes=int(shared[1]) if shared else None,
                )
            )
            kernel = None
    return tuple(found)


def parse_warnings(log: str) -> tuple[str, ...]:
    """Every warning of ptxas and nvcc, each once, and ptxas's performance notes (C7510, C7511 and their like)."""
    found: dict[str, None] = {}
    for line in log.splitlines():
        text = line.strip()
        if _WARNING.search(text) or _PERFORMANCE.search(text):
            found.setdefault(shorten_names(text))
    return tuple(found)


def shorten_names(text: str) -> str:
    """The text with each mangled name cut down to the function's own: CUTLASS's run to thousands of characters."""
    return re.sub(r"_Z[A-Za-z0-9_$]+", lambda match: short_name(match[0]), text)


def short_name(mangled: str) -> str:
    """The function's own name without namespaces, template arguments and parameters.

    Itanium C++ names are ``_Z``, then ``N…E`` around length-prefixed parts, or one part; what is no such name is
    given back as it is.
    """
    rest = mangled.removeprefix("_Z")
    if rest == mangled:
        return mangled
    nested = rest.startswith("N")
    rest = rest[1:] if nested else rest
    name = None
    while part := re.match(r"L?(\d+)", rest):
        begin = part.end()
        end = begin + int(part[1])
        name = rest[begin:end]
        rest = rest[end:]
        if not nested:
            break
    return name or mangled
