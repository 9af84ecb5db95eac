"""How long a large run takes to go out and come in, and how much memory: 250 problems × 40 attempts.

``python -m tests.bench.archive [PROBLEMS ATTEMPTS]`` works on a database of its own and prints a Markdown table.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def _setup(state: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")
    os.environ["MUCUTLASS_STATE"] = str(state)
    os.environ["MUCUTLASS_LOG_LEVEL"] = "ERROR"
    import django

    django.setup()


def fill(problems: int, attempts: int) -> None:
    """One run of that size with real records, in bulk."""
    from django.core.management import call_command

    from tests.bench.archive_rows import large_run

    call_command("migrate", verbosity=0)
    large_run(problems, attempts)


def export(path: Path) -> None:
    """Write the only run."""
    from runs.archive.writing import write
    from runs.models import Run

    write(Run.objects.get(), path)


def take(path: Path) -> None:
    """Read it into an empty database."""
    from django.contrib.auth.models import User

    from runs.archive.restoring import import_archive

    import_archive(path, User.objects.create_user("bob"))


def delete(path: Path) -> None:
    """Delete it again."""
    del path
    from runs.deleting import delete_run
    from runs.models import Run

    delete_run(Run.objects.get())


STEPS: dict[str, Callable[[Path], None]] = {"export": export, "import": take, "delete": delete}


def step(name: str, state: Path, path: Path) -> None:
    """One step in a process of its own: its seconds and the memory it took beyond what it starts with, in MiB."""
    _setup(state)
    from django.core.management import call_command

    from runs import contenders  # noqa: F401  loaded before the measurement begins
    from runs.archive import restoring, writing  # noqa: F401

    if name == "import":
        call_command("migrate", verbosity=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    STEPS[name](path)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sys.stdout.write(f"| {name} | {seconds:.1f} | {grown:.0f} |\n")


def main() -> None:
    """All steps, each in a process of its own."""
    if len(sys.argv) > 3:
        step(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
        return
    problems, attempts = map(int, sys.argv[1:3]) if len(sys.argv) == 3 else (250, 40)
    with tempfile.TemporaryDirectory() as folder:
        origin, there, path = Path(folder, "origin"), Path(folder, "there"), Path(folder, "run.zip")
        origin.mkdir()
        there.mkdir()
        _setup(origin)
        fill(problems, attempts)
        sys.stdout.write(
            f"{problems} problems × {attempts} attempts\n\n| step | seconds | MiB beyond the start |\n"
        )
        sys.stdout.write("| --- | --- | --- |\n")
        sys.stdout.flush()
        for name, state in (("export", origin), ("import", there), ("delete", there)):
            subprocess.run([sys.executable, "-m", "tests.bench.archive", name, str(state), str(path)], check=True)
        sys.stdout.write(f"\nThe archive has {path.stat().st_size / 2**20:.1f} MiB.\n")


if __name__ == "__main__":
    main()
