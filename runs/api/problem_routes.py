"""Problems, their bounds, programs to start from, and the language."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from kernels.dsl import reference
from kernels.languages import Language
from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection, TensorSpec
from kernels.records import from_json
from kernels.targets import Policy, Target
from runs.api.auth import ApiRequest
from runs.api.schemas import Plain, ProblemForm, ProblemItem, ProblemPage, ProgramForm, SizeForm, Tensor
from runs.errors import NoDeviceKnown, NoReportYet
from runs.headroom import here
from runs.playground import Setting
from sol.bounds import UnknownCard, bound, card, count
from sol.bounds.devices import names
from sol.bounds.form import bounds_form
from sol.bounds.record import Device as DeviceRecord
from sol.models import Device

router = Router(tags=["problems"])

Limit = Annotated[int, Query(ge=1, le=200)]
_COLUMNS = ("id", "slug", "name", "collection", "level", "number", "sizes", "summary")


@router.get("/problems", response=ProblemPage, summary="List problems")
def list_problems(
    request: ApiRequest, q: str = "", collection: str = "", after: int = 0, limit: Limit = 50
) -> ProblemPage:
    """Problems by id; ``q`` is looked for in slugs and names. One query."""
    found = Problem.objects.filter(pk__gt=after).only(*_COLUMNS).order_by("pk")
    for word in q.replace("\0", "").split():
        found = found.filter(Q(slug__icontains=word) | Q(name__icontains=word))
    if collection:
        found = found.filter(collection=collection.replace("\0", ""))
    rows = list(found[: limit + 1])
    shown = rows[:limit]
    return ProblemPage(
        items=[ProblemItem(**_item(row)) for row in shown], next=shown[-1].pk if len(rows) > limit else None
    )


def _item(row: Problem) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COLUMNS}


@router.get(
    "/problems/{path:slug}/sol",
    summary="The speed of light of a problem",
    response=dict[str, Any],
)
def read_sol(
    request: ApiRequest, slug: Plain, device: str = "host", policy: Policy = Policy.STRICT, size: Plain = ""
) -> dict[str, Any]:
    """The record of ``mucutlass sol --json``: work, bounds, arithmetic. ``device``: host, or a card (h100)."""
    problem = get_object_or_404(Problem, slug=slug)
    record = _device(device)
    wanted = size or problem.size_for(Target.HOST if record.kind == "cpu" else Target.SM90A)
    inspection = _inspection(problem, wanted)
    work = count(inspection)
    bounds = bound(work, inspection, record, policy)
    return bounds_form(
        problem.slug, problem.file_name.removesuffix(".py"), problem.level, problem.number, inspection, work, bounds
    )


def _device(name: str) -> DeviceRecord:
    if name == "host":
        chosen = here()
        if chosen is None:
            raise NoReportYet(problem="the host", size="any", why="its peaks have not been measured yet")
        return from_json(Device.objects.get(pk=chosen.pk).record, DeviceRecord)
    try:
        return card(name)
    except UnknownCard:
        raise NoDeviceKnown(name=name, known=", ".join(("host", *names()))) from None


def _inspection(problem: Problem, size: str) -> Inspection:
    row = ProblemSize.objects.filter(problem=problem, size=size).first()
    if row is None:
        known = ", ".join(problem.sizes)
        why = "a worker looks at it when it is idle" if size in problem.sizes else f"its sizes are {known}"
        raise NoReportYet(problem=problem.slug, size=size, why=why)
    if row.record is None or row.error:
        raise NoReportYet(problem=problem.slug, size=size, why=f"{row.error}: {row.detail}")
    return from_json(row.record, Inspection)


@router.get("/problems/{path:slug}/program", response=ProgramForm, summary="A program to start from")
def read_program(
    request: ApiRequest,
    slug: Plain,
    target: Target = Target.HOST,
    policy: Policy = Policy.STRICT,
    language: Language = Language.MU,
) -> ProgramForm:
    """The translated program (mu), a skeleton by the launch ABI (cu, cpp) or the reference as a module (py)."""
    setting = Setting.of(get_object_or_404(Problem, slug=slug), target, policy)
    text, why_not = setting.template(language)
    if not text:
        raise NoReportYet(problem=slug, size=setting.size, why=why_not)
    return ProgramForm(problem=slug, target=target, size=setting.size, language=language, text=text)


@router.get("/problems/{path:slug}", response=ProblemForm, summary="Read a problem")
def read_problem(request: ApiRequest, slug: Plain) -> ProblemForm:
    """The reference in Python, and each size with its tensors. Two queries."""
    problem = get_object_or_404(Problem, slug=slug)
    seen = {row.size: row for row in ProblemSize.objects.filter(problem=problem)}
    sizes = [_size(size, seen.get(size)) for size in problem.sizes]
    return ProblemForm(**_item(problem), source=problem.source, inspected=sizes)


def _size(size: str, row: ProblemSize | None) -> SizeForm:
    signature = from_json(row.record, Inspection).signature if row is not None and row.record else None
    status = "waiting" if row is None else ("failed" if row.error else "inspected")
    return SizeForm(
        size=size,
        status=status,
        error=(row.error or None) if row else None,
        detail=(row.detail or None) if row else None,
        kind=(row.kind or None) if row else None,
        flops=row.flops if row else None,
        bytes=row.bytes if row else None,
        inputs=_tensors(signature.inputs) if signature else None,
        parameters=_tensors(signature.parameters) if signature else None,
        outputs=_tensors(signature.outputs) if signature else None,
    )


def _tensors(specs: tuple[TensorSpec, ...]) -> list[Tensor]:
    return [Tensor(name=spec.name, dtype=spec.dtype.value, shape=list(spec.shape)) for spec in specs]


@router.get(
    "/language",
    summary="The language reference",
    tags=["language"],
    openapi_extra={"responses": {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}},
)
def read_language(request: ApiRequest, target: Target | None = None) -> HttpResponse:
    """μCUTLASS in Markdown: of one target alone where one is named."""
    return HttpResponse(reference(target), content_type="text/plain; charset=utf-8")
