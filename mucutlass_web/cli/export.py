"""``mucutlass export``: a program and its problem as one Python file."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from kernels.codegen import emit
from kernels.export import export
from kernels.toolchain import build
from kernels.toolchain.report import BuildOutcome
from mucutlass_web.cli.commands import cache, print_report
from mucutlass_web.cli.errors import FileNotWritable
from mucutlass_web.cli.inputs import checked_program, inspect_problem, read_source


def export_command(options: Namespace) -> int:
    """Write the file; with ``--with-binaries`` build first, and write nothing where that fails."""
    source, problem = read_source(options.file), read_source(options.problem)
    checked = checked_program(source, options.problem, options.size, options.arch, options.policy)
    emission, binaries = emit(checked), None
    if options.with_binaries:
        store = cache()
        report = build(emission, cache=store)
        if report.outcome is not BuildOutcome.BUILT:
            print_report(report)
            return 1
        binaries = {unit.symbol: store.path(unit.artifact).read_bytes() for unit in report.units if unit.artifact}
    inspection = inspect_problem(options.problem, options.size, options.arch)
    text = export(emission, (checked.name, options.problem.stem), problem.text, inspection, binaries)
    _write(options.output, text)
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
