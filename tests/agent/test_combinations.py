from __future__ import annotations

import pytest

from agent.controllers import controller_names, possible
from kernels.languages import Language
from kernels.targets import Target


@pytest.mark.parametrize("name", controller_names())
@pytest.mark.parametrize(
    ("language", "target"),
    [
        (Language.MU, Target.HOST),
        (Language.MU, Target.SM90A),
        (Language.CPP, Target.HOST),
        (Language.CU, Target.SM80),
        (Language.PY, Target.HOST),
        (Language.PY, Target.SM90A),
    ],
)
def test_a_model_goes_with_every_controller_and_representation(
    name: str, language: Language, target: Target
) -> None:
    assert possible(name, "some model", language, target) == ""


def test_the_search_goes_with_the_loops_that_it_can_answer() -> None:
    allowed = {name for name in controller_names() if not possible(name, "search", Language.MU, Target.HOST)}
    assert allowed == {"tree", "flat"}
    assert possible("mi", "search", Language.MU, Target.HOST).endswith("tree or flat would be right")
    assert "μCUTLASS programs alone" in possible("tree", "search", Language.PY, Target.HOST)


def test_an_external_agent_is_asked_for_programs_alone() -> None:
    allowed = {name for name in controller_names() if not possible(name, "external", Language.CPP, Target.HOST)}
    assert allowed == {"tree", "flat", "mi"}
    assert "workflow of its own" in possible("mantis-orchestrated", "external", Language.MU, Target.HOST)


@pytest.mark.parametrize(("language", "target"), [(Language.CU, Target.HOST), (Language.CPP, Target.SM90A)])
def test_a_representation_needs_a_target_with_its_compiler(language: Language, target: Target) -> None:
    assert f"does not run on {target.value}" in possible("mi", "some model", language, target)
