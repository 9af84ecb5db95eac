"""What candidates were compiled to, how exact they are, where their time goes, and which knobs they set."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.dsl import ProgramErrors, parse
from kernels.dsl.errors import DslError
from kernels.dsl.printer import format_link, format_value
from kernels.harness.evaluation import Check
from kernels.languages import Language
from kernels.toolchain.report import BuildReport, Resources
from runs import figures
from runs.comparing import cells
from runs.comparing.cells import Cell, Group, Line
from runs.comparing.sides import Side

_NO_REPORT = "nothing was compiled, or its report was not kept"
_NO_PTXAS = "ptxas reports these of kernels for a card alone"


def building(found: Sequence[Side]) -> Group:
    """What the compiler says: time, size, and what a kernel takes of a card."""
    reports = [s.report for s in found]
    measured = [_resources(s) for s in found]
    notes = ["of its sm_90a build" if crossed else "" for _, crossed in measured]
    why = [_NO_PTXAS if s.report or s.cross_report else _NO_REPORT for s in found]

    def most(name: str, of: str, hint: str) -> Line:
        values = [max((getattr(r, of) or 0 for r in every), default=None) for every, _ in measured]
        text = figures.binary if of.endswith("bytes") else lambda value: f"{value:,.0f}"
        return cells.numbers(name, values, text, cells.AMOUNT, hint=hint, why=why, beside=notes)

    spills = [sum(r.spill_stores + r.spill_loads for r in every) if every else None for every, _ in measured]
    return Group(
        "Build",
        (
            cells.texts("Build", [r.outcome.value.replace("_", " ") if r else None for r in reports], why=_NO_REPORT),
            cells.texts("Compiler", [_compilers(r) for r in reports], why=_NO_REPORT),
            cells.texts("Libraries", [_libraries(r) for r in reports], why="none is named"),
            cells.numbers("Built in", [r.seconds if r else None for r in reports], figures.duration, cells.SPAN,
                          why=_NO_REPORT),
            cells.numbers("Compiled units", [len(r.units) if r else None for r in reports],
                          lambda value: f"{value:.0f}", cells.COUNT, why=_NO_REPORT),
            cells.numbers("Shared objects", [_size(r) for r in reports], figures.binary, cells.AMOUNT,
                          why="not built"),
            most("Registers a thread", "registers", "most of any kernel"),
            most("Static shared memory", "shared_bytes", "most of any kernel, a block"),
            cells.numbers("Spills", spills, lambda value: f"{value:,.0f}{figures.THIN}B", cells.AMOUNT,
                          hint="stored and loaded, a thread", why=why, beside=notes),
            most("Stack", "stack_bytes", "most of any kernel, a thread"),
        ),
    )  # fmt: skip


def validation(found: Sequence[Side]) -> Group:
    """The worst errors over all rounds, and every check by its name."""
    lines = [_worst(found, "relative", "Largest error", "÷ largest magnitude of the output"),
             _worst(found, "normwise", "Error, normwise", "‖error‖ ÷ ‖reference‖")]  # fmt: skip
    checks = [{check.name: check for check in s.evaluation.checks} if s.evaluation else {} for s in found]
    for name in dict.fromkeys(name for one in checks for name in one):
        made = [_checked(one.get(name), s) for one, s in zip(checks, found, strict=True)]
        lines.append(Line(f"Check: {name}", tuple(made)))
    return Group("Validation", tuple(lines))


def stages(found: Sequence[Side]) -> Group:
    """Each stage's time in one instrumented call."""
    shares = [{s.stage: s for s in side.evaluation.stages} if side.evaluation else {} for side in found]
    apart = ["", *(side.apart_from(found[0]) for side in found[1:])]
    against = [note or side.held_note for note, side in zip(apart, found, strict=True)]
    lines = []
    for name in dict.fromkeys(name for one in shares for name in one):
        values = [one[name].seconds if name in one else None for one in shares]
        library = ["torch" if name in one and one[name].library else "" for one in shares]
        why = [f"it has no stage {name}" if one else "its stages were not timed" for one in shares]
        lines.append(cells.numbers(f"Stage {name}", values, figures.milliseconds, cells.TIME, hint="ms", why=why,
                                   apart=against, beside=library))  # fmt: skip
    return Group("Stage times, of one instrumented call", tuple(lines))


def knobs(found: Sequence[Side]) -> Group:
    """Every knob that a μCUTLASS program sets, by stage; other languages have none."""
    programs = [_program(side) for side in found]
    lines = []
    for name in dict.fromkeys(name for one, _ in programs for name in one):
        values = [one.get(name) for one, _ in programs]
        why = [reason or "not set: the default holds" for _, reason in programs]
        lines.append(cells.texts(name, values, why=why))
    return Group("Knobs and stages of the program", tuple(lines))


def _resources(side: Side) -> tuple[list[Resources], bool]:
    """What ptxas says of its kernels, and whether that is of the build beside its run's own."""
    own = [r for unit in side.report.units for r in unit.resources] if side.report else []
    if own or side.cross_report is None:
        return own, False
    return [r for unit in side.cross_report.units for r in unit.resources], True


def _compilers(report: BuildReport | None) -> str | None:
    return ", ".join(dict.fromkeys(unit.compiler for unit in report.units if unit.compiler)) if report else None


def _libraries(report: BuildReport | None) -> str | None:
    return ", ".join(f"{name} {version}" for name, version in report.libraries.items()) if report else None


def _size(report: BuildReport | None) -> float | None:
    known = [unit.artifact_bytes for unit in report.units if unit.artifact_bytes is not None] if report else []
    return sum(known) if known else None


def _worst(found: Sequence[Side], measure: str, name: str, hint: str) -> Line:
    values = []
    for side in found:
        rounds = side.evaluation.rounds if side.evaluation else ()
        values.append(max((getattr(one.errors, measure) for one in rounds if one.errors), default=None))
    why = ["no round of correctness was done" if s.evaluation else "not evaluated" for s in found]
    return cells.numbers(name, values, lambda value: f"{value:.2g}", cells.SIZE, hint=hint, why=why)


def _checked(check: Check | None, side: Side) -> Cell:
    if check is None:
        return Cell(None, "not among its checks" if side.evaluation else "not evaluated")
    if not check.done:
        return Cell(None, f"not done: {check.note}")
    seen = f"{check.seen:.3g}" if check.seen is not None else "seen"
    limit = f" of {check.limit:.3g}" if check.limit is not None else ""
    return Cell(f"{seen}{limit}" if check.passed else f"fails: {seen}{limit}", value=check.seen)


def _program(side: Side) -> tuple[dict[str, str], str]:
    """Knobs, links and operations by name; the reason where the text has none."""
    if side.language is not Language.MU:
        return {}, f"{side.language.label} has no knobs"
    try:
        program = parse(side.attempt.kernel.source)
    except (ProgramErrors, DslError):
        return {}, "its text is no program of the language"
    known: dict[str, str] = {}
    for stage in program.stages:
        known[f"{stage.target}: operation"] = stage.op
        for knob in stage.knobs:
            known[f"{stage.target}: .{knob.name}"] = ", ".join(map(format_value, knob.args)) or "set"
        if stage.chain:
            known[f"{stage.target}: chain"] = " ".join(f">> {format_link(link)}" for link in stage.chain)
    return known, ""
