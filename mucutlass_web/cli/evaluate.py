"""``mucutlass evaluate``: build, check and time one candidate on this machine, or a batch of them."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kernels.evaluation_form import EvaluationForm
from kernels.harness.baselines import BaselineKind, default_baselines, parse_baselines
from kernels.harness.evaluation import FLUSHES, Outcome
from kernels.harness.tolerance import PROFILES
from kernels.records import to_json
from kernels.targets import Policy, Target
from mucutlass_web.cli.batch import INTERRUPTED, batch_command, interruption
from mucutlass_web.cli.batch_lines import device_for
from mucutlass_web.cli.commands import cache
from mucutlass_web.cli.evaluating import Preparation, Wanted, measure
from mucutlass_web.cli.evaluation_report import report_lines

_CARDS = [target for target in Target if target.is_cuda]
_OF_ONE = ("problem", "device", "arch", "tolerance", "flush", "policy", "size", "baseline", "profile")
"""Options that a batch's lines carry themselves."""


def add_arguments(verb: ArgumentParser) -> None:
    """Everything that ``evaluate`` takes."""
    names = ", ".join(BaselineKind)
    verb.add_argument("file", type=Path, nargs="?", help="a candidate: .mu, .py, .cu or .cpp")
    verb.add_argument("--problem", type=Path, help="the problem it is evaluated against")
    verb.add_argument("--device", choices=["host", "cuda"], help="by default cuda for a .cu candidate, else host")
    verb.add_argument("--arch", type=Target, choices=_CARDS, help="with --device cuda (sm_90a)")
    verb.add_argument("--tolerance", choices=PROFILES, help=f"({PROFILES[0]})")
    flush = "how a card's L2 is emptied before a call: by read (the default), or by write, as other benchmarks do"
    verb.add_argument("--flush", choices=FLUSHES, help=flush)
    verb.add_argument("--policy", type=Policy, choices=list(Policy), help="(tf32)")
    verb.add_argument("--size", help="which of the problem's sizes (by default the one for the target)")
    verb.add_argument(
        "--baseline", action="append", metavar="NAME", help=f"some of {names}, or none; may be repeated"
    )
    verb.add_argument("--profile", action="store_true", help="profile it too, where it passes on a card")
    verb.add_argument("--batch", type=Path, metavar="FILE", help="one request a line instead, as JSON")
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="append a batch's results to this file")
    verb.add_argument("--resume", action="store_true", help="skip the ids that have a result in the output")
    verb.add_argument("--jobs-build", type=int, default=max(1, (os.cpu_count() or 2) // 2), metavar="N",
                      help="builds of a batch at a time (%(default)s here)")  # fmt: skip
    verb.set_defaults(wrong_usage=verb.error)


def evaluate_command(options: Namespace) -> int:
    """Exit status 0 where it passed, 1 where it did not, 2 for wrong usage."""
    _check_usage(options)
    if options.batch is not None:
        return batch_command(options, cache())
    device = options.device or device_for(options.file)
    baselines = default_baselines(device) if options.baseline is None else parse_baselines(options.baseline)
    wanted = Wanted(
        file=options.file,
        problem=options.problem,
        device=device,
        arch=options.arch or Target.SM90A,
        size=options.size,
        tolerance=options.tolerance or PROFILES[0],
        policy=options.policy or Policy.TF32,
        baselines=baselines,
        profile=options.profile,
        flush=options.flush or FLUSHES[0],
    )
    with interruption() as stopped:
        form = measure(Preparation(cache(), stopped.is_set).prepare(wanted), stopped.is_set)
        if stopped.is_set():
            return INTERRUPTED
    _print(form, as_json=options.json)
    return 0 if form.outcome is Outcome.PASSED else 1


def _check_usage(options: Namespace) -> None:
    """Exit with status 2 where options do not go together."""
    if options.batch is None:
        if options.file is None or options.problem is None:
            options.wrong_usage("a candidate and --problem are needed, or --batch")
        if options.output is not None or options.resume:
            options.wrong_usage("-o and --resume go with --batch")
        return
    if options.file is not None:
        options.wrong_usage("--batch takes its candidates from its lines, so no file")
    given = [name for name in _OF_ONE if getattr(options, name)]
    if given:
        options.wrong_usage(f"--{given[0]} goes into the lines of a batch")
    if options.resume and options.output is None:
        options.wrong_usage("--resume needs -o FILE")
    if options.jobs_build < 1:
        options.wrong_usage("--jobs-build must be 1 or more")


def _print(form: EvaluationForm, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(to_json(form), ensure_ascii=False, separators=(",", ":")))
    elif form.outcome is Outcome.REFUSED:
        # As every command says what is wrong with a program: a line an error, with its place.
        for line in form.detail.splitlines():
            print(f"{form.candidate.file}:{line}", file=sys.stderr)
    else:
        print("\n".join(report_lines(form)))
