"""Facts counted in a SASS listing: how memory is read, what went to local memory, which products there are.

Counts instructions as they stand in the text, not how often they run. It reads no object and starts nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_.]*)", re.MULTILINE)
_TENSOR = ("HGMMA", "QGMMA", "IGMMA", "BGMMA", "HMMA", "IMMA", "DMMA", "BMMA")


@dataclass(frozen=True, slots=True)
class SassFacts:
    """Instructions by kind. Global loads: ``wide_loads`` of 16 bytes a thread, ``narrow_loads`` of 4 or fewer."""

    instructions: int
    local_loads: int
    local_stores: int
    global_loads: int
    wide_loads: int
    narrow_loads: int
    tensor: int

    def __add__(self, other: SassFacts) -> SassFacts:
        """Both together."""
        return SassFacts(
            self.instructions + other.instructions,
            self.local_loads + other.local_loads,
            self.local_stores + other.local_stores,
            self.global_loads + other.global_loads,
            self.wide_loads + other.wide_loads,
            self.narrow_loads + other.narrow_loads,
            self.tensor + other.tensor,
        )


def sass_facts(text: str) -> SassFacts:
    """The facts of a listing as ``cuobjdump --dump-sass`` prints it; all zero for a text without instructions."""
    names = [found["name"] for found in _INSTRUCTION.finditer(text)]
    loads = [name.split(".") for name in names if name.partition(".")[0] == "LDG"]
    return SassFacts(
        instructions=len(names),
        local_loads=sum(name.partition(".")[0] == "LDL" for name in names),
        local_stores=sum(name.partition(".")[0] == "STL" for name in names),
        global_loads=len(loads),
        wide_loads=sum("128" in parts for parts in loads),
        narrow_loads=sum(not {"64", "128"} & set(parts) for parts in loads),
        tensor=sum(name.partition(".")[0] in _TENSOR for name in names),
    )
