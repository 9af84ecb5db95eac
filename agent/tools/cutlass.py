"""Three tools for the installed CUTLASS tree: list a folder, search for a text, read some lines of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.tools.tool import Tool, WrongArguments
from agent.tools.tree import SourceTree

MOST_CHARACTERS = 6_000
"""Of one call's answer, the note of what was cut included."""
MOST_HITS = 40
MOST_LINES = 200
_LINE, _FIND, _NOTE = 200, 120, 160


def cutlass_tools(root: Path) -> tuple[Tool, ...]:
    """The tools for the tree at ``root``, the folder that holds CUTLASS's ``include``."""
    tree = SourceTree(root)
    path = {"type": "string", "description": "below the tree, as include/cute/atom; empty: its root"}
    return (
        Tool(
            "cutlass_list",
            "List a folder of the installed CUTLASS and CuTe tree.",
            _parameters(path=path),
            lambda given: listing(tree, _text(given, "path", "cutlass_list")),
        ),
        Tool(
            "cutlass_search",
            "Find lines that contain a text, not a pattern, in sources below a folder; upper and lower case are equal.",
            _parameters(text={"type": "string", "description": "3 to 120 characters"}, path=path),
            lambda given: search(
                tree, _text(given, "text", "cutlass_search"), _text(given, "path", "cutlass_search")
            ),
        ),
        Tool(
            "cutlass_read",
            f"Read lines of one file of the tree, at most {MOST_LINES} a call.",
            _parameters(
                path={"type": "string", "description": "a file, as include/cute/layout.hpp"},
                first_line={"type": "integer", "description": "counted from 1"},
                lines={"type": "integer", "description": f"1 to {MOST_LINES}"},
            ),
            lambda given: reading(
                tree,
                _text(given, "path", "cutlass_read"),
                _count(given, "first_line", 1),
                _count(given, "lines", 80),
            ),
        ),
    )


def listing(tree: SourceTree, path: str) -> str:
    """Folders, with a slash behind, and files with their sizes."""
    entries = sorted(tree.folder(path).iterdir(), key=lambda entry: (not entry.is_dir(), entry.name))
    lines = [f"{entry.name}/" if entry.is_dir() else f"{entry.name} {_bytes(entry)} B" for entry in entries]
    return _cut(lines, "entries")


def search(tree: SourceTree, text: str, path: str) -> str:
    """``path:line: text`` for each line, the first MOST_HITS of them."""
    wanted = text.strip().lower()
    if not 3 <= len(wanted) <= _FIND or "\n" in wanted:
        raise WrongArguments(
            name="cutlass_search", found=f"a text of {len(wanted)} characters", right="one of 3 to 120 on one line"
        )
    hits: list[str] = []
    found = 0
    for name, content in tree.texts(path or "include"):
        if wanted not in content.lower():
            continue
        for number, line in enumerate(content.splitlines(), 1):
            if wanted in line.lower():
                found += 1
                if len(hits) < MOST_HITS:
                    hits.append(f"{name}:{number}: {line.strip()[:_LINE]}")
    if not hits:
        return f"{text.strip()!r} is nowhere below {path or 'include'}"
    return _cut(hits, "lines found", found)


def reading(tree: SourceTree, path: str, first: int, count: int) -> str:
    """Lines ``first`` to ``first + count - 1``, each with its number."""
    lines = tree.text(path).splitlines()
    if not lines:
        return f"{path} is empty"
    first = min(max(1, first), len(lines))
    wanted = lines[first - 1 : first - 1 + min(max(1, count), MOST_LINES)]
    shown, room = [], MOST_CHARACTERS - _NOTE
    for number, line in enumerate(wanted, first):
        text = f"{number}: {line if len(line) <= 2 * _LINE else line[: 2 * _LINE] + '…'}"
        room -= len(text) + 1
        if room < 0:
            break
        shown.append(text)
    last = first + len(shown) - 1
    more = f"; first_line={last + 1} goes on" if last < len(lines) else ""
    return "\n".join([*shown, f"[lines {first} to {last} of {len(lines)}{more}]"])


def _cut(lines: list[str], what: str, found: int | None = None) -> str:
    """As many lines as fit, and how many there are in all."""
    total = len(lines) if found is None else found
    shown, room = [], MOST_CHARACTERS - _NOTE
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = (
        f", {total - len(shown)} left out: ask for a smaller folder or a longer text" if total > len(shown) else ""
    )
    return "\n".join([*shown, f"[{len(shown)} of {total} {what}{left}]"])


def _parameters(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(given: Mapping[str, Any], name: str, tool: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise WrongArguments(name=tool, found=f"{name} is no text", right="a text")
    return value


def _count(given: Mapping[str, Any], name: str, usual: int) -> int:
    value = given.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongArguments(name="cutlass_read", found=f"{name} is no whole number", right="a whole number")
    return value


def _bytes(entry: Path) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0
