"""Posted runs as the launch form has them: its rules and its words, whoever writes the candidates.

The schema says what a field stands for that is left out; for some of them that depends on who writes (``_data``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import QueryDict
from ninja.errors import ValidationError

from agent.proposers.external import External
from kernels.models import Problem
from runs.api.grid_schemas import GridWanted
from runs.api.schemas import RunWanted
from runs.forms import LaunchForm
from runs.grid_form import GridForm
from runs.grids import Axes
from runs.headroom import here, problem_rows, title_of
from runs.launching import LaunchOrder
from runs.states import Order

_AXES = {
    "grid_controllers": "controllers",
    "grid_proposers": "proposers",
    "grid_seeds": "seeds",
    "grid_steering": "both_steerings",
}
"""What the fields of a grid's form are called here."""


class Wrong(ValidationError):
    """Fields of a posted form that the launch form refuses, each with its words; answered as any field is."""

    def __init__(self, found: dict[str, list[str]]) -> None:
        super().__init__(
            [
                {"loc": ("body", "wanted", name), "msg": words}
                for name, several in found.items()
                for words in several
            ]
        )


def form_of(wanted: RunWanted) -> LaunchForm:
    """The launch form filled in and found right. Raises Wrong."""
    form = LaunchForm(_data(wanted, _problems(wanted)))
    if not form.is_valid():
        raise Wrong({name: [str(words) for words in found] for name, found in form.errors.items()})
    return form


def order_of(wanted: RunWanted, form: LaunchForm) -> LaunchOrder:
    """The launch. Problems are as they were posted, or by headroom where that was asked for."""
    rows = {row.problem.pk: row for row in problem_rows(wanted.policy, here())}
    order = form.launch_order(list(rows.values()))
    if order.order is not Order.LISTED:
        return order
    found = {problem.slug: problem.pk for problem in form.cleaned_data["problems"]}
    listed = tuple(found[slug] for slug in dict.fromkeys(wanted.problems))
    return replace(order, problems=listed, title=wanted.title.strip() or title_of([rows[pk] for pk in listed]))


def axes_of(wanted: GridWanted, form: LaunchForm) -> Axes:
    """What is varied. Raises Wrong, also where nothing is."""
    if External.name == wanted.proposer:
        raise Wrong({"proposer": ["nobody would post to so many runs; search or a model would be right"]})
    data = QueryDict(mutable=True)
    data.setlist("grid_controllers", wanted.controllers)
    data.setlist("grid_proposers", wanted.proposers)
    data["grid_seeds"] = ",".join(map(str, wanted.seeds))
    data["grid_steering"] = "both" if wanted.both_steerings else ""
    grid = GridForm(data, models=form.models)
    if not grid.is_valid():
        raise Wrong({_AXES[name]: [str(words) for words in found] for name, found in grid.errors.items()})
    axes = grid.axes()
    if not axes:
        words = "nothing is varied; controllers, proposers, seeds or both_steerings would be right"
        raise Wrong({"controllers": [words]})
    return axes


def _problems(wanted: RunWanted) -> list[Problem]:
    """Each once, in the order that was posted. Raises Wrong."""
    found = {row.slug: row for row in Problem.objects.filter(slug__in=wanted.problems).defer("source", "summary")}
    missing = [slug for slug in wanted.problems if slug not in found]
    if missing:
        raise Wrong({"problems": [f"there is no problem {missing[0]!r}"]})
    return [found[slug] for slug in dict.fromkeys(wanted.problems)]


def _data(wanted: RunWanted, problems: list[Problem]) -> QueryDict:
    """The form's fields as a browser sends them: text, and nothing for a box that is not ticked."""
    outside = wanted.proposer == External.name
    steering = not outside if wanted.steering is None else wanted.steering
    as_they_are = set(RunWanted.model_fields) - {"problems", "baselines"}
    given: dict[str, Any] = {
        **wanted.model_dump(include=as_they_are),
        "title": wanted.title.strip(),
        "controller": wanted.controller or ("flat" if outside else "tree"),
        # Per cent in the form; 0.07 × 100 is no whole number in floats.
        "epsilon": None if wanted.epsilon is None else round(wanted.epsilon * 100, 9),
        "order": wanted.order or (Order.LISTED if outside else Order.HEADROOM),
        "steering": "on" if steering else None,
        "memory": "on" if wanted.memory else None,
    }
    data = QueryDict(mutable=True)
    for name, value in given.items():
        if value is not None:
            data[name] = str(value)
    data.setlist("problems", [str(problem.pk) for problem in problems])
    data.setlist("baselines", wanted.baselines)
    return data
