"""A unit on disk for a compiler, and how a compiler is held that reads a hand-written one.

Generated code includes what we generated; a text that somebody else wrote may include any file it can name, and a
compiler's error quotes the line. So its compiler runs as a candidate's child does: without network, home folder,
checkout and other temporary folders, where the machine allows that (``kernels.harness.isolation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernels.codegen.emission import Unit
from kernels.harness import isolation


def write_unit(unit: Unit, folder: Path, ending: str) -> Path:
    """Write the source as ``<symbol><ending>`` and its headers beside it; gives the source's path."""
    for header in unit.headers:
        (folder / header.name).write_text(header.text, encoding="utf-8")
    source = folder / f"{unit.symbol}{ending}"
    source.write_text(unit.source, encoding="utf-8")
    return source


def held(argv: Sequence[str], unit: Unit, folder: Path, readable: Sequence[Path] = ()) -> list[str]:
    """The command that compiles a unit in ``folder``; ``readable`` are files and folders that it needs beside it."""
    if not unit.hand_written:
        return list(argv)
    return isolation.wrap(
        argv, method=isolation.probe(), readable=readable, hidden=(), device="host", workshop=folder
    )
