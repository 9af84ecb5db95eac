"""``mucutlass export``: a program and its problem as one Python file."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from kernels.candidates import emission_of
from kernels.dsl import parse
from kernels.export import export
from kernels.languages import Language, check_target, language_of
from kernels.toolchain import build
from kernels.toolchain.report import BuildOutcome
from mucutlass_web.cli.commands import cache, print_report
from mucutlass_web.cli.errors import ExportedAlready, FileNotWritable
from mucutlass_web.cli.inputs import inspect_problem, read_source


def export_command(options: Namespace) -> int:
    """Write the file; with ``--with-binaries`` build first, and write nothing where that fails."""
    source, problem, language = read_source(options.file), read_source(options.problem), language_of(options.file)
    if language is Language.PY:
        raise ExportedAlready(path=options.file)
    check_target(language, options.arch)
    inspection = inspect_problem(options.problem, options.size, options.arch)
    emission = emission_of(source.text, language, inspection.signature, options.arch, options.policy)
    binaries = None
    if options.with_binaries:
        store = cache()
        report = build(emission, cache=store)
        if report.outcome is not BuildOutcome.BUILT:
            print_report(report)
            return 1
        binaries = {unit.symbol: store.path(unit.artifact).read_bytes() for unit in report.units if unit.artifact}
    name = parse(source.text).name if language is Language.MU else options.file.stem
    _write(options.output, export(emission, (name, options.problem.stem), problem.text, inspection, binaries))
    if options.json:
        print(json.dumps({"file": str(options.output), "target": emission.target.value, "size": inspection.size}))
    else:
        print(f"{options.output}: ModelNew for {emission.target.value}, size {inspection.size}")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileNotWritable(path=path, why=error.strerror or str(error)) from None
