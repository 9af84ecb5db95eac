"""``mucutlass``: the pure part of the project from a shell. No Django, no database.

Exit status 0: done. 1: something was wrong with what was given, one line an error on standard error. 2: wrong usage.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.targets import Policy, Target
from mucutlass_web.cli import audit, commands, evaluate, mcp_server, problem_audit, profile, sol
from mucutlass_web.cli.export import export_command


def build_parser() -> ArgumentParser:
    """The whole command line."""
    parser = ArgumentParser(prog="mucutlass", description="Check, generate, build, measure and bound GPU kernels.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")

    def add(name: str, words: str, run: Callable[[Namespace], int]) -> ArgumentParser:
        verb = verbs.add_parser(name, help=words, description=words)
        verb.set_defaults(run=run)
        verb.add_argument("--json", action="store_true", help="print JSON")
        return verb

    for name, words, run in (
        ("check", "Check a program; errors with line and column.", commands.check_command),
        ("emit", "Print the generated C++.", commands.emit_command),
        ("build", "Compile a program and report on it.", commands.build_command),
    ):
        verb = add(name, words, run)
        verb.add_argument("file", type=Path)
        _add_target(verb)
        verb.add_argument("--problem", type=Path, help="the problem that binds the sizes")
    _add_machine_code(verb)

    evaluate.add_arguments(add("evaluate", "Build, check and time candidates here.", evaluate.evaluate_command))
    profile.add_arguments(add("profile", "Profile one call of a candidate on a card.", profile.profile_command))

    _add_export(add("export", "Write a program as one Python file in KernelBench's form.", export_command))

    verb = add("translate", "A first program for a problem, or for each in a folder.", commands.translate_command)
    verb.add_argument("path", type=Path)
    _add_target(verb)

    verb = add("sol", "The speed of light of problems, or of each in a folder.", sol.sol_command)
    sol.add_arguments(verb)
    _add_policy(verb)
    _add_audits(add)

    sol.add_peaks_arguments(add("peaks", "Measure this machine's peaks, or its card's.", sol.peaks_command))
    mcp_server.add_arguments(add("mcp", "Serve the HTTP API's tools to an agent over MCP.", mcp_server.mcp_command))
    add("reference", "Print the language reference that goes into a prompt.", commands.reference_command)
    return parser


def _add_audits(add: Callable[[str, str, Callable[[Namespace], int]], ArgumentParser]) -> None:
    audit.add_arguments(add("audit", "Look for signs of a gamed benchmark in candidates.", audit.audit_command))
    problem_audit.add_arguments(add("audit-problem", problem_audit.WORDS, problem_audit.audit_problem_command))


def _add_export(verb: ArgumentParser) -> None:
    verb.add_argument("file", type=Path)
    verb.add_argument("--problem", type=Path, required=True)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="the file to write")
    verb.add_argument("--with-binaries", action="store_true", help="build here and embed the shared objects")
    _add_target(verb)


def _add_policy(verb: ArgumentParser) -> None:
    verb.add_argument("--policy", type=Policy, choices=list(Policy), default=Policy.TF32)
    verb.add_argument("--size", help="which of the problem's sizes (by default the one for the target)")


def _add_machine_code(verb: ArgumentParser) -> None:
    for name in ("ptx", "sass"):
        verb.add_argument(f"--{name}", type=Path, metavar="OUT", help=f"write the {name.upper()} of a card's units")


def _add_target(verb: ArgumentParser) -> None:
    verb.add_argument("--arch", type=Target, choices=list(Target), default=Target.HOST)
    _add_policy(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    options = build_parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except ProgramErrors as errors:
        place = getattr(options, "file", "program")
        for error in errors.errors:
            print(f"{place}:{error}", file=sys.stderr)
        return 1
    except UserError as error:
        print(f"{error.slug()}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read us has enough (`| head`); Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
