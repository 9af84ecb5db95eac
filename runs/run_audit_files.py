"""A run's audit report in files: everything as one JSON object, and a row of CSV an attempt with a case.

Times are in seconds, ratios plain numbers, what is not known null or empty. ``claimed``: if every held time counted.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

from django.utils import timezone

from runs.board import Row
from runs.csv_files import Writable
from runs.run_audit import Decision, RunAudit, Tried, inflation_of
from sol.audit import DETECTORS, Trick
from sol.audit.version import audit_version
from sol.case_models import GIVEN
from sol.models import Case

_HEAD = (
    "problem", "attempt", "kernel", "language", "outcome", "time_s", "eager_s", "sol_s", "held", "trick",
    "trick_number", "severity", "confidence", "flags", "inflation", "verdict", "settled_by", "settled", "why",
)  # fmt: skip


def report_form(report: RunAudit) -> dict[str, Any]:
    """The whole report as JSON."""
    run, board = report.run, report.board
    return {
        "run": {"id": run.pk, "name": str(run), "title": run.title, "state": run.state, "owner": _name(run.owner)},
        "conditions": conditions(report),
        "candidates": {
            "attempts": board.ended,
            "audited": report.audited,
            "flagged": report.flagged,
            "by_severity": report.by_severity,
            "held": {held.value: count for held, count in report.held},
        },
        "cases": [
            {
                "trick": row.trick.value,
                "number": row.trick.number,
                "severity": row.severity.value,
                "verdicts": {verdict or "open": count for verdict, count in row.by_verdict.items()},
            }
            for row in report.tricks
        ],
        "figures": {
            "speedup": board.speedup,
            "claimed_speedup": report.claimed_speedup,
            "gap": board.gap,
            "claimed_gap": report.claimed_gap,
            "inflation": report.inflation,
            "without_kernel": board.without_kernel,
        },
        "problems": [_problem(row) for row in report.inflated],
        "fast_p": [{"r": one.r, "fast_p": one.honest, "claimed_fast_p": one.claimed} for one in report.fast_p],
        "open": [_case(case, tried) for case, tried in report.open_cases],
        "decisions": [_decision(one) for one in report.decisions],
    }


def conditions(report: RunAudit) -> dict[str, Any]:
    """By which detectors, under which policy, on which device; ``looks`` are the audits that were made."""
    run = report.run
    looks = [
        {"version": version, "detectors": detectors, "evaluations_too": measured, "attempts": attempts}
        for version, detectors, measured, attempts in report.looks
    ]
    return {
        "made": timezone.now().isoformat(timespec="seconds"),
        "policy": run.policy,
        "tolerance": run.tolerance,
        "target": run.target,
        "device": report.board.device or None,
        "version": audit_version(),
        "detectors": [
            {"name": one.name, "looks_at": one.looks_at, "tricks": [trick.number for trick in one.tricks]}
            for one in DETECTORS
        ],
        "looks": looks,
    }


def _name(user: Any) -> str | None:
    return user.get_username() if user is not None else None


def _problem(row: Row) -> dict[str, Any]:
    held = Counter(step.held for step in row.held)
    return {
        "problem": row.trajectory.problem.slug,
        "name": row.trajectory.problem.name,
        "sol_s": row.trajectory.sol_s,
        "floor_s": row.trajectory.floor_s,
        "eager_s": row.trajectory.eager_s,
        "best_s": row.best_s,
        "best_attempt": row.best.number if row.best else None,
        "claimed_s": row.claimed.time_s if row.claimed else None,
        "claimed_attempt": row.claimed.number if row.claimed else None,
        "speedup": row.speedup,
        "claimed_speedup": row.claimed_speedup,
        "gap": row.gap,
        "claimed_gap": row.claimed_gap,
        "inflation": inflation_of(row),
        "held": dict(held),
    }


def _case(case: Case, tried: tuple[Tried, ...]) -> dict[str, Any]:
    return {
        "case": case.pk,
        "kernel": str(case.kernel),
        "problem": case.problem.slug,
        "trick": case.trick,
        "severity": case.severity,
        "confidence": case.confidence,
        "flags": case.flags,
        "inflation": case.inflation,
        "attempts": [one.number for one in tried],
        "opened": case.opened.isoformat(timespec="seconds"),
        "assigned": _name(case.assigned),
    }


def _decision(one: Decision) -> dict[str, Any]:
    entry = one.entry
    return {
        "case": entry.case_id,
        "kernel": one.attempts[0].kernel if one.attempts else None,
        "problem": one.attempts[0].slug if one.attempts else None,
        "attempts": [tried.number for tried in one.attempts],
        "trick": entry.case.trick,
        "what": entry.kind,
        "verdict": entry.verdict or None,
        "before": entry.before or None,
        "by": _name(entry.user),
        "when": entry.created.isoformat(timespec="seconds"),
        "why": entry.words,
    }


def write_cases(report: RunAudit, file: Writable) -> None:
    """A head, and a row for each attempt whose kernel has a case."""
    writer = csv.writer(file)
    writer.writerow(_HEAD)
    cases = {case.pk: case for case in report.every_case}
    entries = [one.entry for one in report.decisions if one.entry.kind in GIVEN]
    why = {(entry.case_id, entry.verdict): entry.words for entry in reversed(entries)}
    for key, tried in report.tried.items():
        case = cases.get(key)
        if case is None:
            continue
        for one in tried:
            writer.writerow(
                [_cell(value) for value in (*_attempt(one), *_settled(case, why.get((key, case.verdict), "")))]
            )


def _attempt(one: Tried) -> tuple[Any, ...]:
    times = (one.time_s, one.eager_s, one.sol_s)
    return one.slug, one.number, one.kernel, one.language, one.outcome, *times, one.held


def _settled(case: Case, why: str) -> tuple[Any, ...]:
    trick = case.trick, Trick(case.trick).number
    settled = case.settled.isoformat(timespec="seconds") if case.settled else ""
    figures = (case.severity, case.confidence, case.flags, case.inflation)
    return *trick, *figures, case.verdict, _name(case.settled_by), settled, why if case.verdict else ""


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is written as a text."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return "" if value is None else value
