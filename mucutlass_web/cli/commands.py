"""What each command does. Each prints for people, or JSON (one object, or one a line for folders)."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernels.codegen import emit
from kernels.dsl import reference
from kernels.errors import UserError
from kernels.harness import evaluate
from kernels.harness.evaluation import EvaluationRequest, Outcome
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.files import find_problems
from kernels.records import to_json
from kernels.targets import Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome, BuildReport
from kernels.translate import translate
from mucutlass_web.cli.disassembly import write_disassembly
from mucutlass_web.cli.inputs import checked_program, inspect_problem, read_source
from mucutlass_web.cli.peaks import device_named, measure_and_keep
from sol.bounds import bound, count


def _print_json(form: Any) -> None:
    print(json.dumps(form, ensure_ascii=False, separators=(",", ":")))


def cache() -> Cache:
    """The build cache of the command line: ``MUCUTLASS_BUILD_CACHE``, else below the user's cache folder."""
    named = os.environ.get("MUCUTLASS_BUILD_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Cache(Path(named) if named else Path(home) / "mucutlass" / "builds")


def check_command(options: Namespace) -> int:
    """Say that a program is legal, with its cautions."""
    source = read_source(options.file)
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


def emit_command(options: Namespace) -> int:
    """Print the generated code, one unit after another."""
    source = read_source(options.file)
    emission = emit(checked_program(source, options.problem, options.size, options.arch, options.policy))
    if options.json:
        _print_json(to_json(emission))
    else:
        print("\n".join(unit.source for unit in emission.units))
    return 0


def build_command(options: Namespace) -> int:
    """Compile, and say what it takes of the machine."""
    source = read_source(options.file)
    emission = emit(checked_program(source, options.problem, options.size, options.arch, options.policy))
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


def evaluate_command(options: Namespace) -> int:
    """Build and measure a program against its problem."""
    target = Target.HOST if options.device == "host" else options.arch
    source = read_source(options.file)
    checked = checked_program(source, options.problem, options.size, target, options.policy)
    emission = emit(checked)
    store = cache()
    report = build(emission, cache=store)
    if report.outcome is not BuildOutcome.BUILT:
        print_report(report)
        return 1
    inspection = inspect_problem(options.problem, options.size, target)
    evaluation = evaluate(
        EvaluationRequest(
            problem_path=str(options.problem.resolve()),
            size=inspection.size,
            signature=inspection.signature,
            plan=emission.plan,
            artifacts={unit.symbol: str(store.path(unit.artifact)) for unit in report.units if unit.artifact},
            device=options.device,
            tolerance=tolerance_for(options.tolerance, inspection, options.policy, target),
        )
    )
    speedups = {timing.subject: evaluation.speedup(timing.subject) for timing in evaluation.baselines}
    if options.json:
        _print_json({**to_json(evaluation), "speedup": speedups})
    else:
        print(f"{evaluation.outcome.value}: {evaluation.detail}")
        for timing in (evaluation.candidate, *evaluation.baselines):
            if timing is not None:
                print(f"  {timing.subject}: median {timing.median_s * 1e3:.4g} ms of {timing.count} calls")
        for name, speedup in speedups.items():
            print(f"  over {name}: " + ("–" if speedup is None else f"{speedup:.2f}×"))
    return 0 if evaluation.outcome is Outcome.PASSED else 1


def _problems(path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_dir():
        for found in find_problems(path):
            yield (f"L{found.level}/{found.number}" if found.level is not None else found.name), found.path
    else:
        yield path.stem, path


def translate_command(options: Namespace) -> int:
    """Translate one problem or a folder of them."""
    failed = 0
    for name, path in _problems(options.path):
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


def sol_command(options: Namespace) -> int:
    """Bound one problem or a folder of them."""
    device, failed = device_named(options.device), 0
    target = Target.HOST if options.device == "host" else Target.SM90A
    for name, path in _problems(options.path):
        try:
            inspection = inspect_problem(path, options.size, target)
            bounds = bound(count(inspection), inspection, device, options.policy)
        except UserError as error:
            failed += 1
            print(f"{name}: {error.slug()}: {error}", file=sys.stderr)
            continue
        if options.json:
            _print_json({"problem": name, **to_json(bounds)})
        else:
            times = f"{bounds.steering_s * 1e3:.4g} ms, floor {bounds.floor_s * 1e3:.4g} ms"
            print(f"{name}: {times}, {bounds.bound_class}-bound")
            for line in bounds.arithmetic:
                print(f"  {line}")
    return 1 if failed else 0


def peaks_command(options: Namespace) -> int:
    """Measure this machine and keep the result for ``sol --device host``."""
    device = measure_and_keep()
    if options.json:
        _print_json(to_json(device))
    else:
        rates = ", ".join(f"{name} {rate / 1e9:.1f} GFLOP/s" for name, rate in device.matrix_flops.items())
        print(f"{device.name}: {rates}; copy {device.copy_bytes_s / 1e9:.1f} GB/s")
    return 0


def reference_command(options: Namespace) -> int:
    """Print the language reference."""
    text = reference()
    if options.json:
        _print_json({"reference": text})
    else:
        print(text)
    return 0
