"""``mucutlass audit``: signs of a gamed benchmark in files, without running them or with an evaluation."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kernels.problems.errors import ProblemRunError
from kernels.problems.files import read_problem
from kernels.records import dumps
from kernels.targets import Policy, Target
from mucutlass_web.cli.auditing import Auditor, Beside
from mucutlass_web.cli.batch import INTERRUPTED, interruption
from mucutlass_web.cli.inputs import inspect_problem
from mucutlass_web.cli.judging import Judge
from sol.audit import AuditOutcome, Flag
from sol.audit.form import AuditForm

_CARDS = [target for target in Target if target.is_cuda]


def add_arguments(verb: ArgumentParser) -> None:
    """Everything that ``audit`` takes."""
    verb.add_argument("file", type=Path, nargs="+", help="candidates: .mu, .py, .cu or .cpp")
    verb.add_argument("--problem", type=Path, help="the problem that they are for")
    verb.add_argument("--policy", type=Policy, choices=list(Policy), default=Policy.TF32,
                      help="the lowest precision that was allowed (%(default)s)")  # fmt: skip
    verb.add_argument("--evaluate", action="store_true", help="evaluate each too, in the harness's child")
    verb.add_argument("--device", choices=["host", "cuda"], help="with --evaluate; by default cuda for a .cu file")
    verb.add_argument("--arch", type=Target, choices=_CARDS, default=Target.SM90A, help="with --device cuda")
    verb.add_argument("--size", help="which of the problem's sizes (by default the one for the target)")
    verb.add_argument("--judge", metavar="MODEL", help="a model of MUCUTLASS_MODELS that reads each file too")
    verb.set_defaults(wrong_usage=verb.error)


def audit_command(options: Namespace) -> int:
    """Exit status 0 where every file was audited, whatever was found; 1 where one was refused; 2 for wrong usage."""
    if options.evaluate and options.problem is None:
        options.wrong_usage("--evaluate needs --problem")
    refused = False
    with interruption() as stopped:
        judge = Judge(options.judge, stopped.is_set) if options.judge else None
        auditor = Auditor(_beside(options), evaluating=options.evaluate, cancelled=stopped.is_set, judge=judge)
        for path in options.file:
            form = auditor.form(path)
            if stopped.is_set():
                return INTERRUPTED
            refused = refused or form.outcome is AuditOutcome.REFUSED
            _print(form, as_json=options.json)
    return 1 if refused else 0


def _beside(options: Namespace) -> Beside:
    """The problem, read and looked at once. One that does not run still has a text to compare with."""
    text, signature = None, None
    if options.problem is not None:
        text = read_problem(options.problem).source
        target = options.arch if options.device == "cuda" else Target.HOST
        try:
            signature = inspect_problem(options.problem, options.size, target).signature
        except ProblemRunError as error:
            print(f"{error.slug()}: {error}", file=sys.stderr)
    return Beside(options.problem, text, signature, options.policy, options.device, options.arch, options.size)


def _print(form: AuditForm, *, as_json: bool) -> None:
    if as_json:
        print(dumps(form), flush=True)
        return
    if form.error is not None:
        print(f"{form.file}: {form.error}", file=sys.stderr)
        return
    ended = f"; evaluation: {form.evaluation.value.replace('_', ' ')}" if form.evaluation is not None else ""
    print(f"{form.file}: {form.outcome.value}{ended}")
    for flag in form.gravest_first:
        print(f"  {_line(flag)}")
    for note in form.notes:
        print(f"  note: {note}")


def _line(flag: Flag) -> str:
    where = "".join(f", {place.words}" for place in flag.evidence.places[:3])
    head = f"{flag.severity.value:8}{flag.trick.number:>3} {flag.trick.value} ({flag.confidence:.0%})"
    return f"{head}: {flag.evidence.words}{where} [{flag.detector}]"
