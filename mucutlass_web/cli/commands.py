"""What each command does. Each prints for people, or JSON (one object, or one a line for folders)."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from kernels.candidates import CLASS_NAME, check_python
from kernels.dsl import reference
from kernels.errors import UserError
from kernels.languages import Language, language_of
from kernels.records import to_json
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome, BuildReport
from kernels.translate import translate
from mucutlass_web.cli.disassembly import write_disassembly
from mucutlass_web.cli.errors import NothingToCheck
from mucutlass_web.cli.inputs import checked_program, emission_of_file, inspect_problem, named_problems, read_source


def _print_json(form: Any) -> None:
    print(json.dumps(form, ensure_ascii=False, separators=(",", ":")))


def cache() -> Cache:
    """The build cache of the command line: ``MUCUTLASS_BUILD_CACHE``, else below the user's cache folder."""
    named = os.environ.get("MUCUTLASS_BUILD_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Cache(Path(named) if named else Path(home) / "mucutlass" / "builds")


def check_command(options: Namespace) -> int:
    """Say that a program is legal, with its cautions; of Python the syntax is checked, of C++ nothing yet."""
    source, language = read_source(options.file), language_of(options.file)
    if language is not Language.MU:
        return _check_other(source.text, language, as_json=options.json)
    checked = checked_program(source, options.problem, options.size, options.arch, options.policy)
    if options.json:
        stages = [{"name": s.name, "op": s.op, "knobs": s.knobs, "once": s.once} for s in checked.stages]
        cautions = [to_json(caution) for caution in checked.warnings]
        _print_json({"program": checked.name, "target": checked.target, "stages": stages, "cautions": cautions})
        return 0
    print(f"{checked.name}: legal for {checked.target.value}, {len(checked.stages)} stages")
    for caution in checked.warnings:
        print(f"{options.file}:{caution.span.line}:{caution.span.column}: {caution.rule}: {caution.message}")
    return 0


def _check_other(text: str, language: Language, *, as_json: bool) -> int:
    if language.is_raw:
        raise NothingToCheck(language=language.value)
    check_python(text)
    if as_json:
        _print_json({"program": CLASS_NAME, "target": None, "stages": [], "cautions": []})
    else:
        print(f"{CLASS_NAME}: Python, with the class; what it does shows when it is evaluated")
    return 0


def emit_command(options: Namespace) -> int:
    """Print the generated code, one unit after another; of a hand-written source the header that it includes."""
    emission = emission_of_file(options)
    if options.json:
        _print_json(to_json(emission))
    else:
        made = ([h.text for h in unit.headers] if unit.hand_written else [unit.source] for unit in emission.units)
        print("\n".join(text for texts in made for text in texts))
    return 0


def build_command(options: Namespace) -> int:
    """Compile, and say what it takes of the machine."""
    emission = emission_of_file(options)
    store = cache()
    report = build(emission, cache=store)
    write_disassembly(emission, report, store, options.ptx, options.sass)
    if options.json:
        _print_json(to_json(report))
    else:
        print_report(report)
    return 0 if report.outcome is BuildOutcome.BUILT else 1


def print_report(report: BuildReport) -> None:
    """Say for people what a build took and what it warned of; logs of failures on standard error."""
    for unit in report.units:
        hit = ", from the cache" if unit.cache_hit else ""
        print(f"{unit.symbol}: {unit.outcome.value} by {unit.compiler} in {unit.seconds:.2f} s{hit}")
        for kernel in unit.resources:
            shared = "" if kernel.shared_bytes is None else f", {kernel.shared_bytes} B shared memory"
            spills = f"{kernel.spill_stores} + {kernel.spill_loads} B spilled"
            print(f"  {kernel.kernel}: {kernel.registers} registers, {spills}{shared}")
        for warning in unit.warnings:
            print(f"  warning: {warning}")
        if unit.outcome is not BuildOutcome.BUILT:
            print(unit.log, file=sys.stderr)


def translate_command(options: Namespace) -> int:
    """Translate one problem or a folder of them."""
    failed = 0
    for name, path in named_problems(options.path):
        form: dict[str, Any] = {"problem": name, "program": None, "own": [], "library": [], "error": None}
        form["dominant_in_own"] = None
        try:
            inspection = inspect_problem(path, options.size, options.arch)
            made = translate(path.stem, inspection, options.arch)
            form |= {"program": made.program, "own": list(made.own), "library": list(made.library)}
            form["dominant_in_own"] = made.dominant_in_own
        except UserError as error:
            failed += 1
            form["error"] = f"{error.slug()}: {error}"
        if options.json:
            _print_json(form)
        else:
            print(form["program"] or f"# {name}: {form['error']}")
    return 1 if failed else 0


def reference_command(options: Namespace) -> int:
    """Print the language reference."""
    text = reference()
    if options.json:
        _print_json({"reference": text})
    else:
        print(text)
    return 0
