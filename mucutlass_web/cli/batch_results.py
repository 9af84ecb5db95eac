"""The result lines of a batch: their form, and the file that a killed batch can be resumed from.

A line is written in one piece and flushed to the disk, so what a kill can spoil is the last line at most; resuming
cuts that off. It evaluates nothing.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from kernels.errors import UserError
from kernels.evaluation_form import EvaluationForm
from kernels.records import to_json
from mucutlass_web.cli.batch_lines import Id, Line
from mucutlass_web.cli.errors import FileNotReadable, FileNotWritable, ResultsNotEmpty, ResultsNotResults


def result_form(line: Line, form: EvaluationForm | None, error: UserError | None) -> dict[str, Any]:
    """One result line. All keys of an evaluation are there; in an error line they are null."""
    keys = [field.name for field in dataclasses.fields(EvaluationForm)]
    said = None if error is None else {"rule": error.slug(), "message": str(error)}
    values = dict.fromkeys(keys) if form is None else to_json(form)
    return {"id": line.id, "line": line.number, "error": said, **values}


class Results:
    """A file of result lines, appended to; None as path is no file."""

    def __init__(self, path: Path | None, *, resume: bool) -> None:
        """Raises FileNotWritable, FileNotReadable, ResultsNotEmpty and ResultsNotResults."""
        self.path = path
        self.done: set[Id] = set()
        self._descriptor: int | None = None
        if path is None:
            return
        whole = 0
        if path.exists() and path.stat().st_size:
            if not resume:
                raise ResultsNotEmpty(path=path)
            whole = self._read(path)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            os.ftruncate(self._descriptor, whole)
        except OSError as error:
            raise FileNotWritable(path=path, why=error.strerror or str(error)) from None

    def _read(self, path: Path) -> int:
        """Take over the ids that have an outcome; how many bytes of whole lines the file has."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FileNotReadable(path=path, why=error.strerror or str(error)) from None
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                form = json.loads(line)
                name, outcome = form["id"], form["outcome"]
            except (ValueError, KeyError, TypeError):
                raise ResultsNotResults(path=path, line=number) from None
            if outcome is not None:
                self.done.add(name)
        return len(whole)

    def write(self, form: dict[str, Any]) -> None:
        """Append one line and see it onto the disk. Raises FileNotWritable."""
        if self._descriptor is None:
            return
        line = (json.dumps(form, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise FileNotWritable(path=self.path, why=error.strerror or str(error)) from None

    def close(self) -> None:
        """Nothing more is written."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
