"""A problem's speed of light (what dominates, where the bytes are, both bounds), and the problem's own flaws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.targets import Policy, Target
from sol.audit.problems.record import ProblemAudit, ProblemFlaw
from sol.audit.record import Severity
from sol.bounds import card
from sol.bounds.devices import names
from sol.bounds.record import Device as DeviceRecord
from sol.models import Device
from sol.sheet import sheet

DEFAULT_CARD = "h100-sxm"


@dataclass(frozen=True, slots=True)
class Choice:
    """A device one can choose: ``value`` stands in the address."""

    value: str
    title: str
    device: DeviceRecord


def problem_sol(request: HttpRequest, slug: str) -> HttpResponse:
    """One problem at one size, on a chosen device, under a chosen policy."""
    problem = get_object_or_404(Problem, slug=slug)
    choices = _choices()
    chosen = _chosen(choices, request.GET.get("device", ""))
    wanted = request.GET.get("policy", "")
    policy = Policy(wanted) if wanted in list(Policy) else Policy.TF32
    size = request.GET.get("size", "")
    if size not in problem.sizes:
        size = problem.size_for(Target.SM90A if chosen.device.kind == "cuda" else Target.HOST)
    row = ProblemSize.objects.filter(problem=problem, size=size).first()
    context: dict[str, Any] = {
        "problem": problem,
        "choices": choices,
        "chosen": chosen,
        "policies": list(Policy),
        "policy": policy,
        "size": size,
        "row": row,
        "sheet": None,
    }
    if row is not None and row.record is not None:
        inspection = from_json(row.record, Inspection)
        context |= {"inspection": inspection, "sheet": sheet(inspection, chosen.device, policy)}
    return render(request, "sol/problem.html", context)


def problem_audit(request: HttpRequest, slug: str) -> HttpResponse:
    """What is wrong with one problem at one size, with the evidence."""
    problem = get_object_or_404(Problem, slug=slug)
    size = request.GET.get("size", "")
    if size not in problem.sizes:
        size = problem.size_for(Target.HOST)
    row = ProblemSize.objects.filter(problem=problem, size=size).first()
    audit = from_json(row.audit, ProblemAudit) if row is not None and row.audit is not None else None
    context: dict[str, Any] = {"problem": problem, "size": size, "row": row, "audit": audit}
    if audit is not None:
        severe = sum(flaw.severity is Severity.SEVERE for flaw in audit.flaws)
        alike: dict[str, list[ProblemFlaw]] = {}
        for flaw in audit.flaws:
            alike.setdefault(flaw.flaw, []).append(flaw)
        groups = [(flaws[0], flaws) for flaws in alike.values()]
        context |= {"sample": audit.sample, "severe": severe, "groups": groups}
    return render(request, "sol/audit.html", context)


def _choices() -> list[Choice]:
    """Measured machines first, then the cards of the table."""
    # Archives of one machine may bring it again and again: the last of a name stands for them.
    latest = {(row.name, bool(row.elsewhere)): row for row in Device.objects.order_by("pk")}
    measured = []
    for (_, elsewhere), row in sorted(latest.items()):
        record = from_json(row.record, DeviceRecord)
        if record.source == "measured":
            where = " elsewhere" if elsewhere else ""
            measured.append(Choice(f"measured-{row.pk}", f"{record.name}, measured{where}", record))
    return [*measured, *(Choice(name, card(name).name, card(name)) for name in names())]


def _chosen(choices: list[Choice], wanted: str) -> Choice:
    by_value = {choice.value: choice for choice in choices}
    return by_value.get(wanted) or by_value[DEFAULT_CARD]
