"""Problem sources live in rows; children read files. This puts one where the other needs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.models import Problem


@contextmanager
def problem_file(problem: Problem) -> Iterator[Path]:
    """The problem's source as a file in a folder of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mucutlass-problem-") as folder:
        path = Path(folder) / problem.file_name
        path.write_text(problem.source, encoding="utf-8")
        yield path
