from __future__ import annotations

import pytest

from kernels.dsl import errors
from kernels.dsl.errors import DslError
from tests.dsl.programs import checked, refusals
from tests.dsl.rules import RULES, Rule
from tests.dsl.sm80_rules import SM80_RULES

ALL = (*RULES, *SM80_RULES)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.name}-{rule.target}")
def test_each_rule_is_tripped_by_its_program(rule: Rule) -> None:
    found = refusals(rule.trips, rule.tripping_problem or rule.problem, rule.target, rule.policy)
    assert [error.rule for error in found] == [rule.name]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.name}-{rule.target}")
def test_the_program_next_to_it_passes(rule: Rule) -> None:
    assert checked(rule.passes, rule.problem, rule.target, rule.policy).outputs


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.name}-{rule.target}")
def test_each_error_names_its_place_its_rule_and_a_mend(rule: Rule) -> None:
    error = refusals(rule.trips, rule.tripping_problem or rule.problem, rule.target, rule.policy)[0]
    assert error.line >= 1
    assert error.column >= 1
    assert str(error) == f"{error.line}:{error.column}: {rule.name}: {error.message}; {error.mend}"
    assert error.message
    assert error.mend


def test_every_error_class_has_a_rule_here() -> None:
    classes = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DslError)}
    assert {kind.slug() for kind in classes - {DslError}} == {rule.name for rule in ALL}
