"""The launch form: what a person may choose, and in words what is wrong with a choice."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from kernels.harness.baselines import BaselineKind, parse_baselines, quick_baselines
from kernels.languages import EDITOR_BYTES, Language
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs import model_fields
from runs.headroom import ProblemRow, title_of
from runs.launching import LaunchOrder
from runs.model_fields import Configured
from runs.models import Run
from runs.states import Order

TARGETS = (
    (Target.HOST.value, "host", "C++ on this machine's CPU"),
    (Target.SM90A.value, "sm_90a", "CUTLASS 3.x on an H100 or H200"),
    (Target.SM80.value, "sm_80", "CUTLASS 2.x on an A100, A10 or newer"),
)
POLICIES = (
    (Policy.STRICT.value, "strict", "FP32 error: no lower precision"),
    (Policy.TF32.value, "tf32", "FP32 data on TF32 tensor cores"),
    (Policy.HALF.value, "half", "half inputs, FP32 accumulation"),
)
LANGUAGES = (
    (Language.MU.value, Language.MU.label, "checked as you type"),
    (Language.PY.value, Language.PY.label, "run as it is, host or card"),
    (Language.CU.value, Language.CU.label, "for a card, by the launch ABI"),
    (Language.CPP.value, Language.CPP.label, "for the host, by the launch ABI"),
)
ORDERS = (
    (Order.HEADROOM.value, "most headroom first", "where most can be won"),
    (Order.LISTED.value, "as listed", "collection and number"),
)
TOLERANCES = (
    ("strict", "strict", "from element type and length of sums"),
    ("kernelbench", "kernelbench", "1e-4 for f32, 1e-2 for halves"),
)
BASELINES = tuple(
    (kind.value, kind.full_name, kind.words) for kind in BaselineKind if kind is not BaselineKind.EAGER
)
"""What may be timed beside the candidate and torch eager, which a search always needs."""
DEFAULTS: dict[str, Any] = {
    "target": Target.HOST.value, "policy": Policy.STRICT.value, "controller": "tree", "proposer": "search",
    "attempts": 12, "epsilon": 25, "patience": "", "pool": "", "seed": 0, "steering": True, "tolerance": "strict",
    "order": Order.HEADROOM.value,
    "baselines": [kind.value for kind in quick_baselines("cuda")], **model_fields.DEFAULTS,
}  # fmt: skip


def _choices(options: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str]]:
    return [(value, label) for value, label, _ in options]


def number_field(label: str, low: int, high: int, *, required: bool = True) -> forms.IntegerField:
    right = f"{low:,} to {high:,}" + ("" if required else ", or empty")
    return forms.IntegerField(
        label=label,
        required=required,
        min_value=low,
        max_value=high,
        error_messages={
            "required": f"empty; {right}",
            "invalid": f"not a whole number; {right}",
            "min_value": f"too small; {right}",
            "max_value": f"too large; {right}",
        },
    )


def epsilon_field() -> forms.FloatField:
    """The stop rule on the gap, in per cent; empty turns it off."""
    right = "0 to 1,000, or empty"
    return forms.FloatField(
        label="Stop near SOL, ε %",
        required=False,
        min_value=0,
        max_value=1000,
        error_messages={
            "invalid": f"not a number; {right}",
            "min_value": f"below 0; {right}",
            "max_value": f"above 1,000; {right}",
        },
    )


def cost_field() -> forms.FloatField:
    """The most money that a run's model may take, in the currency of its prices; empty: no limit."""
    return forms.FloatField(
        label="Cost in all",
        required=False,
        min_value=0,
        max_value=1e9,
        error_messages={
            "invalid": "not a number; an amount in the currency of the model's prices, or empty",
            "min_value": "below 0; an amount above 0, or empty",
            "max_value": "too large; an amount up to 1,000,000,000, or empty",
        },
    )


def one_of(label: str, options: tuple[tuple[str, str, str], ...], *, required: bool = True) -> forms.ChoiceField:
    """One of a short list of options, with messages that name it."""
    names = ", ".join(value for value, _, _ in options)
    messages = {"required": f"nothing chosen; one of {names}", "invalid_choice": f"unknown; one of {names}"}
    return forms.ChoiceField(label=label, choices=_choices(options), required=required, error_messages=messages)


class LaunchForm(forms.Form):
    """A launch. Empty ``epsilon`` or ``patience`` turns that stop rule off.

    Proposers are those without a model and the models that ``configured`` names.
    """

    def __init__(self, *args: Any, models: Configured | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.models = models or model_fields.configured()
        self.fields["proposer"] = one_of("Proposer", self.models.options)

    title = forms.CharField(
        label="Title", max_length=200, required=False, error_messages={"max_length": "longer than 200 characters"}
    )
    problems = forms.ModelMultipleChoiceField(
        label="Problems",
        queryset=Problem.objects.defer("source"),
        error_messages={
            "required": "none chosen; one at least",
            "invalid_choice": "problem %(value)s is not here any more",
            "invalid_pk_value": "%(pk)s is no problem",
        },
    )
    target = one_of("Target", TARGETS)
    policy = one_of("Precision policy", POLICIES)
    controller = one_of("Controller", model_fields.CONTROLLERS)
    proposer = one_of("Proposer", model_fields.WITHOUT_MODEL)
    representation = one_of("Representation", model_fields.REPRESENTATIONS, required=False)
    attempts = number_field("Attempts a problem", 1, 1000)
    epsilon = epsilon_field()
    patience = number_field("Stop without progress, w", 2, 1000, required=False)
    pool = number_field("Attempts in all, shared", 1, 1_000_000, required=False)
    seed = number_field("Seed", 0, 2**31 - 1)
    steering = forms.BooleanField(label="SOL steering", required=False)
    memory = forms.BooleanField(label="Memory", required=False)
    shape = forms.CharField(label="MANTIS: iterations × hypotheses × attempts", max_length=40, required=False)
    token_limit = number_field("Tokens in all", 1, 10**12, required=False)
    cost_limit = cost_field()
    tolerance = one_of("Tolerance", TOLERANCES)
    order = one_of("Order of problems", ORDERS, required=False)
    cloned_from = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)
    baselines = forms.MultipleChoiceField(
        label="Baselines",
        required=False,
        choices=_choices(BASELINES),
        error_messages={"invalid_choice": f"unknown; some of {', '.join(value for value, _, _ in BASELINES)}"},
    )
    seed_program = forms.CharField(required=False, strip=False, max_length=EDITOR_BYTES, widget=forms.HiddenInput)
    seed_language = forms.ChoiceField(required=False, choices=_choices(LANGUAGES), widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """A patience that no run can reach is a slip."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        patience, attempts = data.get("patience"), data.get("attempts")
        if patience and attempts and patience > attempts:
            self.add_error("patience", f"w is {patience}, but there are {attempts} attempts; fewer, or empty")
        pool, problems = data.get("pool"), len(data.get("problems") or ())
        if pool and pool < problems:
            self.add_error("pool", f"{pool} for {problems} problems leaves some without any; {problems} at least")
        self._check_seed(data)
        self._check_together(data)
        return data

    def clean_shape(self) -> str:
        """As it is stored."""
        text = self.cleaned_data["shape"] or model_fields.DEFAULTS["shape"]
        try:
            return model_fields.shape_text(text)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def _check_together(self, data: dict[str, Any]) -> None:
        """Not every proposer answers what every controller asks, and a limit must leave room for an answer."""
        for name, words in model_fields.problems_of(data).items():
            self.add_error(name, words)

    def _check_seed(self, data: dict[str, Any]) -> None:
        """A program that proposers cannot change is tried once, on a target that it runs on."""
        language = Language(data.get("seed_language") or Language.MU)
        written = Language(data.get("representation") or Language.MU)
        if language is Language.MU or not data.get("seed_program") or len(data.get("problems") or ()) != 1:
            return
        if language is not written and data.get("attempts") not in (None, 1):
            words = f"the run's program is in {language.label}, which no proposer changes; 1 attempt"
            self.add_error("attempts", words)
        if data.get("target") and not language.runs_on(Target(data["target"])):
            self.add_error("target", f"the run's program is in {language.label}, which does not run there; another")

    def chosen(self) -> set[int]:
        """Problems that are ticked now, valid or not, as the page must show them again."""
        given = self.data.getlist("problems") if self.is_bound else self.initial.get("problems", [])  # type: ignore[attr-defined]
        return {int(key) for key in given if str(key).isascii() and str(key).isdigit()}

    def launch_order(self, rows: list[ProblemRow]) -> LaunchOrder:
        """The launch, problems in the order that was chosen. Only of a valid form."""
        data = self.cleaned_data
        keys = {problem.pk for problem in data["problems"]}
        picked, order = [row for row in rows if row.problem.pk in keys], Order(data["order"] or Order.HEADROOM)
        if order is Order.LISTED:
            picked.sort(key=lambda row: row.problem.pk)
        return LaunchOrder(
            title=data["title"] or title_of(picked),
            problems=tuple(row.problem.pk for row in picked),
            target=Target(data["target"]),
            policy=Policy(data["policy"]),
            controller=data["controller"],
            proposer=data["proposer"],
            attempts=data["attempts"],
            epsilon=data["epsilon"] / 100 if data["epsilon"] is not None else None,
            patience=data["patience"],
            pool=data["pool"],
            steering=data["steering"],
            seed=data["seed"],
            tolerance=data["tolerance"],
            # A program is written for one problem.
            seed_program=data["seed_program"] if len(picked) == 1 else "",
            seed_language=Language(data["seed_language"] or Language.MU) if len(picked) == 1 else Language.MU,
            baselines=_baselines(data["baselines"], Target(data["target"])),
            representation=Language(data["representation"] or Language.MU),
            memory=data["memory"],
            shape=data["shape"],
            token_limit=data["token_limit"],
            cost_limit=data["cost_limit"] or None,
            order=order,
            cloned_from=data["cloned_from"],
        )


def _baselines(chosen: list[str], target: Target) -> tuple[BaselineKind, ...]:
    """Eager and what was chosen beside it, without what the target has not."""
    kinds = parse_baselines([BaselineKind.EAGER, *chosen])
    return tuple(kind for kind in kinds if target.is_cuda or kind is not BaselineKind.TF32)


def initial_of(run: Run | None, problems: str) -> dict[str, Any]:
    """The form as first shown: the usual values, those of the run that is cloned, the problems of the address."""
    initial = dict(DEFAULTS)
    if run is not None:
        for name in (
            "title",
            "target",
            "policy",
            "controller",
            "proposer",
            "attempts",
            "seed",
            "steering",
            "tolerance",
            "representation",
            "memory",
            "shape",
            "order",
        ):
            initial[name] = getattr(run, name)
        initial["epsilon"] = f"{run.epsilon * 100:g}" if run.epsilon is not None else ""
        initial["baselines"] = [kind.value for kind in run.baseline_kinds if kind is not BaselineKind.EAGER]
        initial["patience"] = run.patience if run.patience is not None else ""
        for name in ("pool", "token_limit", "cost_limit"):
            value = getattr(run, name)
            initial[name] = f"{value:.12g}" if isinstance(value, float) else ("" if value is None else value)
        initial["cloned_from"] = run.pk
        initial["problems"] = list(run.trajectories.values_list("problem_id", flat=True))
        seeds = set(run.trajectories.values_list("seed_program", "seed_language"))
        initial["seed_program"], initial["seed_language"] = (
            seeds.pop() if len(initial["problems"]) == 1 else ("", "")
        )
    keys = [key for key in problems.split(",") if key.isascii() and key.isdigit()]
    if keys:
        initial["problems"] = [int(key) for key in keys]
    return initial


def rules_of(get: QueryDict) -> dict[str, Any]:
    """Stop rules of the address, as the replay page gives them: ε in per cent and w, "off" for a rule that is off."""
    found = {name: get[name] for name in ("epsilon", "patience") if name in get}
    return {name: "" if value == "off" else value for name, value in found.items()}
