"""The child of ``apart``: ``python -m sol.audit.apart_child FOLDER FIRST COUNT SECONDS``.

Reads ``FOLDER/N.json`` (a Subject) for N from FIRST to COUNT and prints a line of JSON for each, an AuditForm. A text
that takes longer than SECONDS ends the process by its alarm, whatever it is doing then.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from kernels.records import dumps, loads
from sol.audit.form import form_of
from sol.audit.subject import Subject


def main(folder: Path, first: int, count: int, seconds: float) -> None:
    """Audit one text after another."""
    for number in range(first, count):
        subject = loads((folder / f"{number}.json").read_text(encoding="utf-8"), Subject)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        form = form_of("", subject)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(dumps(form), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
