"""Whoever adds a model or a column that concerns a run decides whether archives hold it; nothing is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models

from kernels.models import Build, Evaluation, Kernel, Problem
from runs.archive.kinds import BY_NAME, KINDS, Kind
from runs.archive.restoring import NOT_RESTORED
from runs.models import Attempt, Run, Trajectory
from sol.models import Case

ROOTS: tuple[type[models.Model], ...] = (Run, Trajectory, Attempt, Kernel, Problem, Build, Evaluation, Case)
LEFT_OUT = {
    "runs.Import": "where a run comes from is in the manifest",
    "runs.Contender": "summed up from attempts, anew wherever they are",
    "runs.Worker": "a process of the installation",
    "runs.Mention": "whom a remark called is a matter of the installation",
    "runs.Audit": "an audit of files without a run",
}
"""Models that point to a run or what belongs to it and that no archive holds, with the reason."""


def pointing() -> Iterator[type[models.Model]]:
    """Every model of ours from which a reference leads to a root, directly or by another model."""
    reached = set(ROOTS)
    grows = True
    while grows:
        found = {model for model in _ours() if model not in reached and _points_to(model, reached)}
        reached |= found
        grows = bool(found)
    yield from sorted(reached, key=lambda model: model._meta.label)


def _ours() -> list[type[models.Model]]:
    return [
        model for model in apps.get_models() if model._meta.app_label in ("kernels", "sol", "runs", "mucutlass_web")
    ]


def _points_to(model: type[models.Model], reached: set[type[models.Model]]) -> bool:
    return any(field.related_model in reached for field in model._meta.concrete_fields)


def test_every_model_about_a_run_is_exported_or_left_out_with_a_reason() -> None:
    held = {kind.model for kind in KINDS}
    forgotten = {model._meta.label for model in pointing() if model not in held} - LEFT_OUT.keys()
    assert not forgotten, f"export them (runs/archive/kinds.py) or say why not here: {sorted(forgotten)}"


def test_what_is_left_out_is_there_and_is_not_exported() -> None:
    labels = {model._meta.label for model in apps.get_models()}
    assert labels >= LEFT_OUT.keys()
    assert not {kind.model._meta.label for kind in KINDS} & LEFT_OUT.keys()


def test_every_reference_of_a_kind_has_an_end_in_the_archive() -> None:
    """A foreign key is a reference to another kind, a name of a person, or left out."""
    loose = [
        f"{kind.name}.{field.name}" for kind in KINDS for field in kind.columns if field.related_model is not None
    ]
    assert not loose
    for kind in KINDS:
        for name, other in kind.refs.items():
            assert kind.model._meta.get_field(name).related_model is BY_NAME[other].model


def test_a_reference_points_back_unless_it_is_marked() -> None:
    places = {kind.name: place for place, kind in enumerate(KINDS)}
    for kind in KINDS:
        ahead = {name for name, other in kind.refs.items() if places[other] >= places[kind.name]}
        assert ahead == set(kind.later), kind.name


def test_a_column_that_is_left_out_can_be_empty_or_is_set_on_import() -> None:
    set_here = {"owner", "digest", "kind"}
    for kind in KINDS:
        for field in (one for one in kind.model._meta.concrete_fields if one.name in kind.left):
            dated = getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
            assert field.null or field.has_default() or field.blank or dated or field.name in set_here, field


def test_whoever_must_be_somebody_of_this_place_is_not_restored() -> None:
    """A person of elsewhere is nobody here, so that a column that needs one cannot be filled."""

    def needs(kind: Kind) -> bool:
        return any(not field.null for field in kind.people)

    assert {kind.name for kind in KINDS if needs(kind)} == set(NOT_RESTORED)
    assert User not in {kind.model for kind in KINDS}
