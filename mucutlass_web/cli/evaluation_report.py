"""An evaluation for people on a terminal: what held, how long it took, over which baseline, and what was not measured.

Text from a form and nothing else. A figure that is not in the form is named with its reason, never filled in.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.rendering import advice_words, ranked
from kernels.evaluation_form import EvaluationForm
from kernels.harness.evaluation import Check, Outcome, Timing
from kernels.harness.measures import Conditions
from mucutlass_web.cli.bounding import assessment_of
from mucutlass_web.cli.feedback import findings_in
from sol.gap.record import REMAINDER_TITLE
from sol.gap.words import remainder_words

_WIDTH = 14
_FINDINGS = 3
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def report_lines(form: EvaluationForm) -> list[str]:
    """The whole report, one fact a line."""
    size = f", size {form.problem.size}" if form.problem.size else ""
    head = f"{form.candidate.file} ({form.candidate.language.label}) on {form.problem.file}{size}"
    lines = [f"{_outcome(form)}: {head}"]
    if form.outcome is not Outcome.PASSED and form.detail:
        lines += _block("why", form.detail)
    lines += _row("where", _where(form))
    lines += _block("correct", "\n".join(_correct(form)))
    if form.timing.candidate is not None:
        lines += _row("time", _time(form.timing.candidate))
    lines += _block("speedup", "\n".join(_speedups(form)))
    lines += _block("gap", "\n".join(_gap(form)))
    lines += _block("try", "\n".join(_advice(form)))
    lines += _row("held", _held(form))
    lines += _row("built", _built(form))
    lines += _block("state", "\n".join(_state(form.conditions)))
    lines += _block("flags", "\n".join(str(flag) for flag in form.flags))
    lines += _block("not measured", "\n".join(_missing(form)))
    return lines + _row("took", f"{seconds(form.wall_s)} in all")


def _advice(form: EvaluationForm) -> Iterator[str]:
    """The first way out of each of the gravest findings."""
    for finding in ranked(findings_in(form))[:_FINDINGS]:
        yield f"{finding.tool}: {advice_words(finding.advice[0])}"


def summary(form: EvaluationForm) -> str:
    """One line for a list: outcome, time, and each speedup with its baseline's name."""
    parts = [_outcome(form)]
    if form.timing.candidate is not None:
        parts.append(seconds(form.timing.candidate.median_s))
    parts += [f"{ratio:.2f}× over {name}" for name, ratio in form.speedup.items() if ratio is not None]
    if form.outcome is not Outcome.PASSED and form.detail:
        parts.append(form.detail.strip().splitlines()[0])
    return ", ".join(parts)


def seconds(value: float) -> str:
    """Seconds in the unit that leaves a number from 1 to 1000, as 1.234 ms."""
    scale, unit = next(((s, u) for s, u in _UNITS if value >= s), _UNITS[-1])
    return f"{value / scale:.4g} {unit}"


def _outcome(form: EvaluationForm) -> str:
    words = form.outcome.value.replace("_", " ")
    return words if form.reason is None else f"{words} ({form.reason.words})"


def _row(name: str, text: str) -> list[str]:
    return [f"  {name:{_WIDTH}}{text}"] if text else []


def _block(name: str, text: str) -> list[str]:
    """A fact of several lines, its name before the first."""
    lines = text.strip().splitlines()
    return [f"  {name if number == 0 else '':{_WIDTH}}{line}" for number, line in enumerate(lines)]


def _where(form: EvaluationForm) -> str:
    target = form.device.target.value
    if form.device.machine is None:
        return f"{target}; nothing ran"
    return f"{target}, {form.device.machine.name}"


def _correct(form: EvaluationForm) -> Iterator[str]:
    found = form.correctness
    done = [check for check in found.checks if check.done]
    if not done:
        return
    failed = [check for check in done if check.failed]
    rounds = sum(round_.errors is not None for round_ in found.rounds)
    tolerance = "" if found.tolerance is None else f" under tolerance {found.tolerance.name}"
    compared = f", {rounds} rounds compared{tolerance}" if rounds else ""
    yield f"{len(done) - len(failed)} of {len(done)} checks hold{compared}"
    wanted = ("max relative error", "max absolute error")
    yield from (_check(check) for check in done if check.name in wanted or check.failed)
    if found.worst_tile is not None:
        yield f"worst tile: {found.worst_tile.words}, error {found.worst_tile.error:.3g} of what is right there"


def _check(check: Check) -> str:
    limit = "" if check.limit is None else f" (limit {check.limit:.3g})"
    seen = "" if check.seen is None else f" {check.seen:.3g}{limit}"
    return f"{check.name}{seen}" + (" FAILED" if check.failed else "")


def _time(timing: Timing) -> str:
    quartiles = f"quartiles {seconds(timing.q1_s)} and {seconds(timing.q3_s)}, minimum {seconds(timing.minimum_s)}"
    return f"{seconds(timing.median_s)}, the median of {timing.count} calls; {quartiles}"


def _speedups(form: EvaluationForm) -> Iterator[str]:
    for name, ratio in form.speedup.items():
        baseline = form.timing.baselines.get(name)
        if ratio is not None and baseline is not None:
            yield f"{ratio:.2f}× over {name} ({seconds(baseline.median_s)})"


def _gap(form: EvaluationForm) -> Iterator[str]:
    found = assessment_of(form)
    if found is None:
        return
    bound = f"the bound is {seconds(found.sol_s)}, the floor {seconds(found.floor_s)}"
    if found.words:
        yield f"{found.words}; {bound}"
    if found.breakdown is None:
        return
    yield f"{found.breakdown.gap:.3g}× the bound; {bound}"
    yield found.score_withheld or f"SOL score {found.score:.3g}: 0.5 at torch eager, 1 at the bound"
    yield from (f"{factor.title}: {factor.value:.3g}× ({factor.words})" for factor in found.breakdown.known)
    yield f"{REMAINDER_TITLE}: {found.breakdown.remainder:.3g}× ({remainder_words(found.breakdown)})"


def _held(form: EvaluationForm) -> str:
    held = form.isolation
    if held is None:
        return ""
    network = "with the network in reach" if held.network else "without network"
    memory = "" if held.memory_limit_bytes is None else f", {held.memory_limit_bytes / 2**30:.0f} GiB of memory"
    return f"by {held.method}, {network}{memory}" + (f"; {held.note}" if held.note else "")


def _built(form: EvaluationForm) -> str:
    build = form.build
    if build is None:
        return ""
    compiler = f" by {build.compiler}" if build.compiler else ""
    return f"in {seconds(build.seconds)}{compiler}" + (", from the cache" if build.cached else "")


def _state(conditions: Conditions | None) -> Iterator[str]:
    if conditions is None:
        return
    ranges = (
        ("SM clock", conditions.sm_clock, "MHz"),
        ("CPU clock", conditions.cpu_clock, "MHz"),
        ("temperature", conditions.temperature, "°C"),
        ("power", conditions.power, "W"),
    )
    known = [f"{name} {r.low:.0f} to {r.high:.0f} {unit}" for name, r, unit in ranges if r is not None]
    if known:
        yield ", ".join(known)
    if conditions.throttle:
        yield f"clock lowered: {', '.join(conditions.throttle)}"
    yield from conditions.cautions


def _missing(form: EvaluationForm) -> Iterator[str]:
    timing = form.timing
    for name, measured in timing.baselines.items():
        if measured is None and timing.candidate is not None:
            yield f"{name}: {timing.absent.get(name) or form.detail or 'no reason was given'}"
    if timing.candidate is not None:
        for name, reason in timing.candidate.missing.items():
            yield f"{name}: {reason}"
    for check in form.correctness.checks:
        if not check.done:
            yield f"{check.name}: {check.note}"
    if form.profile is not None and form.profile.reason is not None:
        yield f"profile: {form.profile.detail}"
