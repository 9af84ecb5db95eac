"""A folder of sources that may be looked into and never left: paths, files that hold text, lines with a word in them.

Links are followed only where they stay below the folder. Nothing is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.tools.tool import NotInTheTree, NotText, OutsideTheTree

TEXT = frozenset({".h", ".hpp", ".cuh", ".hxx", ".inl", ".cu", ".cpp", ".cc", ".c", ".md", ".txt", ".py", ".cmake"})
"""Endings of files that a search looks into."""
MOST_READ = 4 * 2**20
"""Bytes of one file that are read."""
MOST_SEARCHED = 96 * 2**20
"""Bytes that one search reads, over all files."""
_PROBE = 8192


@dataclass(frozen=True, slots=True)
class SourceTree:
    """``root`` must be there. Paths within it are written with slashes."""

    root: Path

    def inside(self, path: str) -> Path:
        """The place of a path; OutsideTheTree where it, or what it links to, is not below the root."""
        parts = PurePosixPath(path.strip() or ".")
        if "\0" in path or "\\" in path or parts.is_absolute() or ".." in parts.parts:
            raise OutsideTheTree(path=repr(path[:200]))
        try:
            place = (self.root / parts).resolve()
        except (OSError, RuntimeError):
            raise OutsideTheTree(path=repr(path[:200])) from None
        if not place.is_relative_to(self.root.resolve()):
            raise OutsideTheTree(path=repr(path[:200]))
        return place

    def folder(self, path: str) -> Path:
        """A folder's place; raises OutsideTheTree and NotInTheTree."""
        place = self.inside(path)
        # Unlike Path.is_dir this says no to a name that is too long for the system.
        if not os.path.isdir(place):  # noqa: PTH112
            raise NotInTheTree(path=repr(path[:200]), kind="folder", right="cutlass_list shows what is there")
        return place

    def text(self, path: str) -> str:
        """A file's text, of a longer one the beginning; raises OutsideTheTree, NotInTheTree and NotText."""
        place = self.inside(path)
        text = _text(place)
        if text is None:
            if _is_regular(place):
                raise NotText(path=repr(path[:200]))
            raise NotInTheTree(path=repr(path[:200]), kind="file", right="cutlass_search finds files by their text")
        return text

    def named(self, place: Path) -> str:
        """A place as a path within the tree."""
        return place.relative_to(self.root.resolve()).as_posix()

    def texts(self, path: str) -> Iterator[tuple[str, str]]:
        """Every text file below a folder with its path, in order, until MOST_SEARCHED bytes were read."""
        left = MOST_SEARCHED
        for folder, folders, files in os.walk(self.folder(path), followlinks=False):
            folders.sort()
            for file in sorted(files):
                place = Path(folder, file)
                if place.suffix.lower() not in TEXT or place.is_symlink():
                    continue
                text = _text(place)
                if text is None:
                    continue
                left -= len(text)
                if left < 0:
                    return
                yield self.named(place), text


def _is_regular(place: Path) -> bool:
    try:
        return stat.S_ISREG(place.stat().st_mode)
    except OSError:
        return False


def _text(place: Path) -> str | None:
    """None for what is no regular file or holds no UTF-8 text: a pipe would never end."""
    if not _is_regular(place):
        return None
    try:
        with place.open("rb") as file:
            raw = file.read(MOST_READ)
    except OSError:
        return None
    if b"\0" in raw[:_PROBE]:
        return None
    try:
        # The last character may have been cut in two.
        return raw.decode("utf-8", "strict" if len(raw) < MOST_READ else "ignore")
    except UnicodeDecodeError:
        return None
