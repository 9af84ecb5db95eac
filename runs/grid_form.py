"""What a grid varies: the launch form's values stand where nothing else is chosen."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from runs import model_fields
from runs.grids import MOST_SEEDS, Axes
from runs.model_fields import Configured

_PART = re.compile(r"\s*(\d{1,10})\s*(?:[-–]\s*(\d{1,10})\s*)?")
_MOST_SEED = 2**31 - 1
STEERINGS = (("", "as above"), ("both", "on and off"))


class GridForm(forms.Form):
    """The axes of a grid; an empty one has the launch form's value alone."""

    grid_controllers = forms.MultipleChoiceField(
        label="Controllers",
        required=False,
        choices=[(value, label) for value, label, _ in model_fields.CONTROLLERS],
        error_messages={"invalid_choice": "%(value)s is no controller"},
    )
    grid_proposers = forms.MultipleChoiceField(
        label="Proposers and models",
        required=False,
        error_messages={"invalid_choice": "%(value)s is no proposer here"},
    )
    grid_seeds = forms.CharField(label="Seeds", max_length=200, required=False)
    grid_steering = forms.ChoiceField(
        label="SOL steering",
        choices=STEERINGS,
        required=False,
        error_messages={"invalid_choice": "unknown; as above, or both"},
    )

    def __init__(self, *args: Any, models: Configured, **more: Any) -> None:
        super().__init__(*args, **more)
        field = self.fields["grid_proposers"]
        # What an agent outside posts is no matter of a grid: nobody would post to so many runs.
        options = [(value, label) for value, label, _ in models.options if value != "external"]
        field.choices = options  # type: ignore[attr-defined]

    def clean_grid_seeds(self) -> tuple[int, ...]:
        """The seeds in order, each once: ``1, 2, 10-12``."""
        return seeds_of(self.cleaned_data["grid_seeds"])

    def axes(self) -> Axes:
        """What was chosen; nothing of a form that is not right yet."""
        if not self.is_valid():
            return Axes()
        data = self.cleaned_data
        return Axes(
            controllers=tuple(data["grid_controllers"]),
            proposers=tuple(data["grid_proposers"]),
            seeds=data["grid_seeds"],
            both_steerings=data["grid_steering"] == "both",
        )


def seeds_of(text: str) -> tuple[int, ...]:
    """``1, 2, 10-12`` as numbers, each once, in order. Raises ValidationError with what would be right."""
    right = "numbers with commas, or a range, as 1, 2, 10-12"
    found: dict[int, None] = {}
    for part in filter(str.strip, text.split(",")):
        match = _PART.fullmatch(part)
        if match is None:
            raise forms.ValidationError(f"{part.strip()[:20]!r} is no seed; {right}")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if not first <= last <= _MOST_SEED or last - first >= MOST_SEEDS:
            raise forms.ValidationError(f"{part.strip()[:20]!r} is out of bounds; {right}, {MOST_SEEDS} at most")
        found |= dict.fromkeys(range(first, last + 1))
    if len(found) > MOST_SEEDS:
        raise forms.ValidationError(f"{len(found)} seeds; {MOST_SEEDS} at most")
    return tuple(found)
