"""Saved launch forms: each person's own, and those that are shared with everybody."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import QueryDict

from runs.errors import PresetTaken
from runs.forms import DEFAULTS, LaunchForm
from runs.models import Preset
from runs.roles import Right, may

MOST_SHOWN = 50
_LEFT_OUT = ("cloned_from", "seed_program", "seed_language")
"""Fields that are about one launch alone."""
_LISTS = ("problems", "baselines")
_SWITCHES = ("steering", "memory")
NAME_LENGTH = 80


def presets_for(user: User) -> list[Preset]:
    """The person's own and the shared ones, by name. One query."""
    found = Preset.objects.filter(Q(owner=user) | Q(shared=True)).select_related("owner").defer("form")
    return list(found.order_by("name", "pk")[:MOST_SHOWN])


def preset_for(user: User, pk: int) -> Preset | None:
    """A preset that the person may choose."""
    return Preset.objects.filter(Q(owner=user) | Q(shared=True), pk=pk).first()


def may_delete(user: User, preset: Preset) -> bool:
    """Whether a person may take it away: whose it is, and an admin a shared one."""
    return preset.owner_id == user.pk or (preset.shared and may(user, Right.ADMINISTER))


def save(user: User, name: str, data: QueryDict, *, shared: bool, overwrite: bool) -> Preset:
    """Keep the form as it was typed under a name. Raises PresetTaken unless it may overwrite the person's own."""
    form = _kept(data)
    try:
        with transaction.atomic():
            return Preset.objects.create(owner=user, name=name, shared=shared, form=form)
    except IntegrityError:
        if not overwrite:
            raise PresetTaken(name=name) from None
    with transaction.atomic():
        one = Preset.objects.select_for_update().get(owner=user, name=name)
        one.form, one.shared = form, shared
        one.save()
    return one


def delete(user: User, preset: Preset) -> None:
    """Take a preset away. Raises PermissionDenied for who may not."""
    if not may_delete(user, preset):
        raise PermissionDenied(
            f"The preset {preset.name!r} is somebody else's. Its owner and admins may delete it."
        )
    preset.delete()


def _kept(data: QueryDict) -> dict[str, Any]:
    """Every field of the launch form as typed; a switch that is off is False."""
    kept: dict[str, Any] = {}
    for name in LaunchForm.base_fields:
        if name in _LEFT_OUT:
            continue
        if name in _LISTS:
            kept[name] = data.getlist(name)[:1000]
        elif name in _SWITCHES:
            kept[name] = name in data
        else:
            kept[name] = data.get(name, "")[:200]
    return kept


def initial_of_preset(preset: Preset) -> dict[str, Any]:
    """The launch form as it was kept; fields that are newer than the preset have their usual values."""
    form = preset.form if isinstance(preset.form, dict) else {}
    initial = {**DEFAULTS, "problems": []}
    for name, value in form.items():
        if name in LaunchForm.base_fields and isinstance(value, list) == (name in _LISTS):
            initial[name] = value
    initial["problems"] = [int(key) for key in initial["problems"] if str(key).isdecimal()]
    return initial
