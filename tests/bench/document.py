"""Parts of a document of measurements that are made by different tools: each is replaced alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def with_part(text: str, heading: str, lines: Iterable[str]) -> str:
    """A document with one part new: from its heading (``# …``, ``## …``) to the next; at the end where it is not there.

    A ``# …`` heading is the document's beginning.
    """
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith(("# ", "## ")):
            parts.append([])
        parts[-1].append(line)
    made = [heading, "", *lines, ""]
    kept = [part for part in parts if part and any(part)]
    place = next((at for at, part in enumerate(kept) if part[0].split(":")[0] == heading.split(":")[0]), None)
    if place is not None:
        kept[place] = made
    elif heading.startswith("# "):
        kept.insert(0, made)
    else:
        kept.append(made)
    return "\n\n".join("\n".join(part).strip("\n") for part in kept) + "\n"


def write_part(path: Path, heading: str, lines: Iterable[str]) -> None:
    """Replace a part of a file, which may not be there yet."""
    text = path.read_text("utf-8") if path.exists() else ""
    path.write_text(with_part(text, heading, lines), encoding="utf-8")
