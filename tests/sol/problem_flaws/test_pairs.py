"""Every flaw is found in a small problem that has it, and not in its honest twin."""

from __future__ import annotations

import pytest

from sol.audit.problems import Flaw, ProblemAudit
from sol.audit.problems.looking import audit_many
from tests.sol.problem_flaws.pairs import PAIRS


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], ProblemAudit]:
    """All pairs, audited in one child."""
    folder = tmp_path_factory.mktemp("pairs")
    keys, paths = [], []
    for number, (name, pair) in enumerate(PAIRS.items()):
        for side, source in (("flawed", pair.flawed), ("honest", pair.honest)):
            path = folder / f"{number}_{side}.py"
            path.write_text(source)
            keys.append((name, side))
            paths.append(path)
    found = audit_many(paths, ["default"] * len(paths), workers=2)
    wrong = [(key, audit) for key, audit in zip(keys, found, strict=True) if not isinstance(audit, ProblemAudit)]
    assert not wrong
    return dict(zip(keys, (audit for audit in found if isinstance(audit, ProblemAudit)), strict=True))


def kinds(audit: ProblemAudit, found_by: str) -> set[str]:
    return {flaw.flaw for flaw in audit.flaws if flaw.found_by == found_by}


@pytest.mark.parametrize("name", PAIRS)
def test_a_flaw_is_found_and_its_twin_is_clean(name: str, audits: dict[tuple[str, str], ProblemAudit]) -> None:
    pair, flawed, honest = PAIRS[name], audits[name, "flawed"], audits[name, "honest"]
    assert flawed.not_run == honest.not_run == ""
    assert pair.flaw in kinds(flawed, pair.found_by)
    assert pair.flaw not in kinds(honest, "graph") | kinds(honest, "run")


def test_all_flaws_have_a_pair() -> None:
    assert len({pair.flaw for pair in PAIRS.values()}) == len(Flaw)


def test_evidence_has_numbers_and_what_is_allowed(audits: dict[tuple[str, str], ProblemAudit]) -> None:
    flaw = next(flaw for flaw in audits["sum of a product", "flawed"].flaws if flaw.flaw == "removable_work")
    assert flaw.figures["reference_flop"] == 2 * 32 * 64 * 96
    assert flaw.figures["left_flop"] == pytest.approx(2 * 32 * 64)
    assert "a matrix-vector product does" in flaw.evidence
    assert "that is algebra, not cheating" in flaw.allowed
    dead = next(flaw for flaw in audits["parameter unused", "flawed"].flaws if flaw.flaw == "parameter_ignored")
    assert dead.evidence.startswith("no output depends on the parameter w (8 elements)")
