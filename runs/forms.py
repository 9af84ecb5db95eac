"""The launch form: what a person may choose, and in words what is wrong with a choice."""

from __future__ import annotations

from typing import Any

from django import forms

from kernels.harness.baselines import BaselineKind, parse_baselines, quick_baselines
from kernels.languages import EDITOR_BYTES, Language
from kernels.models import Problem
from kernels.targets import Policy, Target
from runs.headroom import ProblemRow, title_of
from runs.launching import LaunchOrder
from runs.models import Run

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
CONTROLLERS = (
    ("tree", "Tree search", "widens where attempts succeed"),
    ("flat", "Flat", "one change after another to the best so far"),
)
PROPOSERS = (("search", "Search", "no model and no key: knobs and structure, steered by the gap"),)
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
    "attempts": 12, "epsilon": 25, "patience": "", "seed": 0, "steering": True, "tolerance": "strict",
    "baselines": [kind.value for kind in quick_baselines("cuda")],
}  # fmt: skip


def _choices(options: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str]]:
    return [(value, label) for value, label, _ in options]


def _number(label: str, low: int, high: int, *, required: bool = True) -> forms.IntegerField:
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


def one_of(label: str, options: tuple[tuple[str, str, str], ...], *, required: bool = True) -> forms.ChoiceField:
    """One of a short list of options, with messages that name it."""
    names = ", ".join(value for value, _, _ in options)
    messages = {"required": f"nothing chosen; one of {names}", "invalid_choice": f"unknown; one of {names}"}
    return forms.ChoiceField(label=label, choices=_choices(options), required=required, error_messages=messages)


class LaunchForm(forms.Form):
    """A launch. Empty ``epsilon`` or ``patience`` turns that stop rule off."""

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
    controller = one_of("Controller", CONTROLLERS)
    proposer = one_of("Proposer", PROPOSERS)
    attempts = _number("Attempts a problem", 1, 1000)
    epsilon = forms.FloatField(
        label="Stop near SOL, ε %",
        required=False,
        min_value=0,
        max_value=1000,
        error_messages={
            "invalid": "not a number; 0 to 1,000, or empty",
            "min_value": "below 0; 0 to 1,000, or empty",
            "max_value": "above 1,000; 0 to 1,000, or empty",
        },
    )
    patience = _number("Stop without progress, w", 2, 1000, required=False)
    seed = _number("Seed", 0, 2**31 - 1)
    steering = forms.BooleanField(label="SOL steering", required=False)
    tolerance = one_of("Tolerance", TOLERANCES)
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
        self._check_seed(data)
        return data

    def _check_seed(self, data: dict[str, Any]) -> None:
        """A program that proposers cannot change is tried once, on a target that it runs on."""
        language = Language(data.get("seed_language") or Language.MU)
        if language is Language.MU or not data.get("seed_program") or len(data.get("problems") or ()) != 1:
            return
        if data.get("attempts") not in (None, 1):
            words = f"the run's program is in {language.label}, which no proposer changes; 1 attempt"
            self.add_error("attempts", words)
        if data.get("target") and not language.runs_on(Target(data["target"])):
            self.add_error("target", f"the run's program is in {language.label}, which does not run there; another")

    def chosen(self) -> set[int]:
        """Problems that are ticked now, valid or not, as the page must show them again."""
        given = self.data.getlist("problems") if self.is_bound else self.initial.get("problems", [])  # type: ignore[attr-defined]
        return {int(key) for key in given if str(key).isascii() and str(key).isdigit()}

    def order(self, rows: list[ProblemRow]) -> LaunchOrder:
        """The launch, problems with the most headroom first. Only of a valid form."""
        data = self.cleaned_data
        keys = {problem.pk for problem in data["problems"]}
        picked = [row for row in rows if row.problem.pk in keys]
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
            steering=data["steering"],
            seed=data["seed"],
            tolerance=data["tolerance"],
            # A program is written for one problem.
            seed_program=data["seed_program"] if len(picked) == 1 else "",
            seed_language=Language(data["seed_language"] or Language.MU) if len(picked) == 1 else Language.MU,
            baselines=_baselines(data["baselines"], Target(data["target"])),
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
        ):
            initial[name] = getattr(run, name)
        initial["epsilon"] = f"{run.epsilon * 100:g}" if run.epsilon is not None else ""
        initial["baselines"] = [kind.value for kind in run.baseline_kinds if kind is not BaselineKind.EAGER]
        initial["patience"] = run.patience if run.patience is not None else ""
        initial["problems"] = list(run.trajectories.values_list("problem_id", flat=True))
        seeds = set(run.trajectories.values_list("seed_program", "seed_language"))
        initial["seed_program"], initial["seed_language"] = (
            seeds.pop() if len(initial["problems"]) == 1 else ("", "")
        )
    keys = [key for key in problems.split(",") if key.isascii() and key.isdigit()]
    if keys:
        initial["problems"] = [int(key) for key in keys]
    return initial
