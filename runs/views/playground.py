"""The playground's page, what it asks for while somebody types, and evaluating."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kernels.languages import Language
from kernels.models import Kernel, Problem, ProblemSize
from kernels.targets import Policy, Target
from runs import forms
from runs import playground as bench
from runs.access import SignedInRequest
from runs.fleet import device_queue, queue_states
from runs.playground import PlaygroundForm, Setting
from runs.roles import Right, require
from runs.views.problems import policy_of


def _context(source: str, setting: Setting, language: Language, wanted: str = "") -> dict[str, Any]:
    looked = bench.look(source, setting, language, wanted)
    why_not = setting.why_not
    if looked.errors:
        count = len(looked.errors)
        what = "program" if language is Language.MU else "source"
        why_not = f"the {what} has {count} error{'' if count == 1 else 's'}"
    queue = device_queue(setting.target)
    return {
        "setting": setting,
        "source": source,
        "language": language,
        "limit": bench.limit_words(language),
        "looked": looked,
        "why_not": why_not,
        "queue": queue_states((queue,))[queue],
    }


def _page(request: SignedInRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    shared = {
        "problems": Problem.objects.values_list("slug", "name"),
        "targets": forms.TARGETS,
        "policies": forms.POLICIES,
        "languages": forms.LANGUAGES,
        "limit": bench.limit_words(),
    }
    return render(request, "playground/playground.html", {**shared, **context}, status=status)


def _asked_for(request: SignedInRequest) -> Setting | None:
    """The setting in the address; the first inspected problem where it names none, None where there is none."""
    slug, target = request.GET.get("problem", ""), request.GET.get("target", "")
    known = Problem.objects.defer("source")
    problem = get_object_or_404(known, slug=slug) if slug else None
    if problem is None:
        first = ProblemSize.objects.filter(error="").order_by("problem__id").values("problem_id")[:1]
        problem = known.filter(pk__in=first).first() or known.first()
    chosen = Target(target) if target in [value for value, _, _ in forms.TARGETS] else Target.HOST
    return Setting.of(problem, chosen, Policy(policy_of(request))) if problem is not None else None


def _kernel_of(request: SignedInRequest) -> Kernel | None:
    """The kernel in the address; 404 where the address names one that is not there."""
    key = request.GET.get("kernel", "")
    if not key:
        return None
    if not (key.isascii() and key.isdigit() and len(key) < 19):
        raise Http404("This is no kernel's number.")
    return get_object_or_404(Kernel, pk=int(key))


def _language_of(request: SignedInRequest) -> Language:
    """The language in the address; μCUTLASS where it names none."""
    asked = request.GET.get("language", "")
    return Language(asked) if asked in list(Language) else Language.MU


@require_http_methods(["GET", "POST"])
def playground(request: SignedInRequest) -> HttpResponse:
    """Edit a program: is it right, what C++ becomes of it, how fast is it?"""
    if request.method == "POST":
        return _answered(request)
    setting = _asked_for(request)
    if setting is None:
        return render(request, "playground/empty.html")
    kernel = _kernel_of(request)
    language = Language(kernel.language) if kernel is not None else _language_of(request)
    source, without = (kernel.source, "") if kernel is not None else setting.template(language)
    return _page(request, {**_context(source, setting, language), "kernel": kernel, "without": without})


def _answered(request: SignedInRequest) -> HttpResponse:
    form = PlaygroundForm(request.POST)
    if not form.is_valid():
        return _page(request, _unreadable(form, request), status=422)
    data = form.cleaned_data
    setting, language = bench.setting_of(data), Language(data["language"])
    if "fresh" in request.POST:
        source, without = setting.template(language)
        return _page(request, {**_context(source, setting, language), "without": without})
    context = _context(data["source"], setting, language, request.POST.get("unit", ""))
    if "evaluate" not in request.POST:
        return _page(request, context)
    require(request.user, Right.LAUNCH)
    if context["why_not"]:
        return _page(request, {**context, "refused": True}, status=422)
    run = bench.evaluate(request.user, data["source"], setting, language)
    return redirect("run", run.pk)


def _unreadable(form: PlaygroundForm, request: SignedInRequest) -> dict[str, Any]:
    """The page of an answer that fits no list: what was typed, and what is wrong with the choice."""
    wrong = [f"{form.fields[name].label}: {errors[0]}" for name, errors in form.errors.items()]
    return {"source": request.POST.get("source", ""), "wrong": wrong, "why_not": "nothing could be checked"}


@require_POST
def playground_check(request: SignedInRequest) -> HttpResponse:
    """The right-hand side alone, for the text as it stands."""
    form = PlaygroundForm(request.POST)
    if not form.is_valid():
        return render(request, "playground/result.html", {**_unreadable(form, request), "live": True})
    data = form.cleaned_data
    language = Language(data["language"])
    context = _context(data["source"], bench.setting_of(data), language, request.POST.get("unit", ""))
    return render(request, "playground/result.html", {**context, "live": True})
