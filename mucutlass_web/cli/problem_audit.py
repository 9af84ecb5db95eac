"""``mucutlass audit-problem``: what is wrong with problems themselves, from their graphs and a few runs of each."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kernels.errors import UserError
from kernels.records import to_json
from kernels.targets import Target
from mucutlass_web.cli.inputs import named_problems, size_of
from sol.audit.problems.looking import Audited, audit_many
from sol.audit.problems.record import ProblemAudit

WORDS = "What is wrong with problems themselves, or with each in a folder."


def add_arguments(verb: ArgumentParser) -> None:
    """What ``audit-problem`` takes."""
    verb.add_argument("path", type=Path, nargs="+", help="problem files and folders of them")
    verb.add_argument("--size", help="which of a problem's sizes (by default the one for this machine)")
    verb.add_argument("--no-run", action="store_true", help="the traced graphs alone; nothing is measured")
    verb.add_argument("--workers", type=int, default=1, help="problems looked at at a time (%(default)s)")


def audit_problem_command(options: Namespace) -> int:
    """Audit problems or folders of them; with ``--json`` one line a problem, failed ones too, as they are done.

    The status is 1 where a problem could not be looked at; flaws are findings and no failure.
    """
    names: list[str] = []
    paths: list[Path] = []
    sizes: list[str] = []
    failed = 0
    for given in options.path:
        for name, path in named_problems(given):
            try:
                sizes.append(size_of(path, options.size, Target.HOST))
            except UserError as error:
                failed += 1
                _show(name, path, error, as_json=options.json)
                continue
            names.append(name)
            paths.append(path)

    def seen(place: int, answer: Audited) -> None:
        nonlocal failed
        failed += isinstance(answer, UserError)
        _show(names[place], paths[place], answer, as_json=options.json)

    workers = max(1, min(options.workers, len(paths)))
    audit_many(paths, sizes, run=not options.no_run, seen=seen, workers=workers)
    return 1 if failed else 0


def _show(name: str, path: Path, answer: Audited, *, as_json: bool) -> None:
    if isinstance(answer, UserError):
        if as_json:
            _line({"problem": name, "file": str(path), "error": f"{answer.slug()}: {answer}"})
        print(f"{name}: {answer.slug()}: {answer}", file=sys.stderr)
        return
    if as_json:
        _line(audit_form(name, path, answer))
        return
    print(
        f"{name} ({answer.size}): {len(answer.flaws)} flaws" if answer.flaws else f"{name} ({answer.size}): clean"
    )
    for flaw in answer.flaws:
        print(f"  {flaw.severity} {flaw.flaw}, {flaw.confidence:.2f}: {flaw.evidence}")
    if answer.not_traced:
        print(f"  no graph: {answer.not_traced}")
    if answer.not_run:
        print(f"  not run: {answer.not_run}")
    sys.stdout.flush()


def _line(form: dict[str, Any]) -> None:
    print(json.dumps(form, ensure_ascii=False, separators=(",", ":")), flush=True)


def audit_form(name: str, path: Path, audit: ProblemAudit) -> dict[str, Any]:
    """One problem as a line of JSON."""
    return {
        "problem": name,
        "file": str(path),
        "size": audit.size,
        "gravest": audit.gravest,
        "flaws": [{**to_json(flaw), "words": flaw.words, "allowed": flaw.allowed} for flaw in audit.flaws],
        "sample": to_json(audit.sample) if audit.sample is not None else None,
        "not_run": audit.not_run or None,
        "not_traced": audit.not_traced or None,
    }
