"""The form that changes a run's limits: the same fields as at launch, never below what was used."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from agent.llm.errors import ModelsUnreadable, UnknownModel
from runs import catalogue, model_fields
from runs.budgets import Budget, Used, budget_of
from runs.errors import LimitBelowUsed
from runs.forms import cost_field, epsilon_field, number_field
from runs.models import Run


class BudgetForm(forms.Form):
    """A run's limits. Empty ``epsilon`` or ``patience`` turns that stop rule off, another empty field that limit."""

    attempts = number_field("Attempts a problem", 1, 1000)
    pool = number_field("Attempts in all, shared", 1, 1_000_000, required=False)
    epsilon = epsilon_field()
    patience = number_field("Stop without progress, w", 2, 1000, required=False)
    token_limit = number_field("Tokens in all", 1, 10**12, required=False)
    cost_limit = cost_field()

    def __init__(self, run: Run, used: Used, data: QueryDict | None = None) -> None:
        super().__init__(data, initial=_initial(run))
        self.run, self.used = run, used

    def clean(self) -> dict[str, Any]:
        """A limit under what was used is a slip, and so is one that the run's proposer cannot keep."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name, words in limit_problems_of(self.run, data).items():
            self.add_error(name, words)
        if not self.errors:
            try:
                self.used.check(self.budget())
            except LimitBelowUsed as error:
                used = error.fields["used"]
                self.add_error(str(error.fields["name"]), f"{used} are used already; that or more")
        return data

    def budget(self) -> Budget:
        """What was asked for. Only of a form whose fields are valid."""
        data = self.cleaned_data
        return Budget(
            attempts=data["attempts"],
            pool=data["pool"],
            epsilon=None if data["epsilon"] is None else self._epsilon(data["epsilon"]),
            patience=data["patience"],
            token_limit=data["token_limit"],
            cost_limit=data["cost_limit"] or None,
        )

    def _epsilon(self, percent: float) -> float:
        """The fraction; the run's own where the field shows what it has, whatever was rounded on the way."""
        own = self.run.epsilon
        return own if own is not None and f"{own * 100:g}" == f"{percent:g}" else percent / 100


def limit_problems_of(run: Run, data: dict[str, Any]) -> dict[str, str]:
    """What is wrong with other limits of tokens and money for the run's proposer, by field; the run's own may stay."""
    changed = {
        name: data.get(name) for name in ("token_limit", "cost_limit") if data.get(name) != getattr(run, name)
    }
    if not any(changed.values()):
        return {}
    try:
        return model_fields.limit_problems(catalogue.model_of(run.proposer), changed)
    except (ModelsUnreadable, UnknownModel) as error:
        return {name: str(error) for name, value in changed.items() if value}


def _initial(run: Run) -> dict[str, Any]:
    budget = budget_of(run)
    return {
        "attempts": budget.attempts,
        "pool": budget.pool,
        "epsilon": None if budget.epsilon is None else f"{budget.epsilon * 100:g}",
        "patience": budget.patience,
        "token_limit": budget.token_limit,
        "cost_limit": None if budget.cost_limit is None else f"{budget.cost_limit:.12g}",
    }
