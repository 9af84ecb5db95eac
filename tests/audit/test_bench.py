"""The tools that measure the audit: parts of their document, KernelBench's checker, the choice of problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from sol.audit import Evidence, Flag, Severity, Trick
from tests.audit.corpus import samples
from tests.bench.audit import opinions_of, summary, table
from tests.bench.audit_translations import Audited, chosen, instead, report
from tests.bench.document import with_part
from tests.bench.kernelbench_static import FILE, StaticChecker

CHECKER = """\
def validate_kernel_static(code, backend="cuda", precision="fp16"):
    errors = ["Missing a kernel"] if "__global__" not in code else []
    errors += ["no try"] if "try:" in code else []
    return not errors, errors, ["streams"] if "Stream" in code else []
"""


def test_a_part_of_a_document_is_replaced_alone() -> None:
    text = with_part("", "# All", ["one"])
    text = with_part(text, "## Second", ["two"])
    assert text == "# All\n\none\n\n## Second\n\ntwo\n"
    assert with_part(text, "# All", ["new", "", "lines"]) == "# All\n\nnew\n\nlines\n\n## Second\n\ntwo\n"
    assert with_part(text, "## Second", ["other"]) == "# All\n\none\n\n## Second\n\nother\n"
    assert with_part("## Second\n\ntwo\n", "# All", ["one"]) == text


@pytest.fixture
def checker(tmp_path: Path) -> StaticChecker:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(CHECKER)
    return StaticChecker(tmp_path)


def test_what_another_checker_says_is_told_by_kind(checker: StaticChecker) -> None:
    nothing, tries, clean = (checker.opinion(text) for text in ("x", "__global__ try: y", "__global__ Stream"))
    assert (nothing.rejected, nothing.beyond, nothing.warned) == (True, False, False)
    assert (tries.rejected, tries.beyond) == (True, True)
    assert (clean.rejected, clean.warned) == (False, True)


def test_a_checkout_without_the_checker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        StaticChecker(tmp_path)


def test_the_table_has_a_line_a_trick_and_the_other_checker_only_where_it_is(checker: StaticChecker) -> None:
    from tests.audit.corpus import results

    few = [sample for sample in samples() if sample.path.name in ("zeros.py", "zeros.cu", "num_stages.py")]
    found = results(few)
    opinions = opinions_of(found, checker)
    assert set(opinions) == {"cheats/zeros.py", "honest/num_stages.py"} | {
        sample.name for sample in few if sample.path.name == "zeros.py"
    }
    alone, beside = list(table(found, None)), list(table(found, opinions))
    assert len(alone) == len(beside) == 2 + len(Trick)
    assert all("KernelBench" not in line for line in alone)
    assert {line.count("|") for line in beside} == {beside[0].count("|")}
    assert "– | – | – |" in beside[2]
    assert "- Cheats that their text shows: 3. Found: 3 (100.0%)." in list(summary(found, 1.0))


def test_problems_are_spread_over_the_levels_and_replaced_by_the_next(tmp_path: Path) -> None:
    for level, count in (("level1", 20), ("level2", 20), ("level3", 10)):
        (tmp_path / level).mkdir()
        for number in range(1, count + 1):
            (tmp_path / level / f"{number}_problem.py").touch()
    paths = chosen(tmp_path, 10)
    assert [f"{path.parent.name}/{path.stem.split('_')[0]}" for path in paths] == [
        "level1/1", "level1/6", "level1/11", "level1/16", "level2/1", "level2/6", "level2/11", "level2/16",
        "level3/1", "level3/6",
    ]  # fmt: skip
    other = instead(paths[-1], paths)
    assert other is not None
    assert other.name == "7_problem.py"
    assert instead(tmp_path / "level3" / "10_problem.py", [tmp_path / "level3" / "10_problem.py"]) is None


def test_a_severe_flag_of_a_translation_is_told_and_counted() -> None:
    flag = Flag("patches", Trick.PATCHED_TIMER, Severity.SEVERE, 0.9, Evidence("seen"))
    lines = list(report([Audited("level1/1_a", (flag,), ()), Audited("level1/2_b", error="no graph")]))
    assert "- Translated, exported and audited: 1 of 2. With a severe flag: 1." in lines
    assert "- Severe: level1/1_a: patched_timer (patches)." in lines
    assert "- Not audited: level1/2_b: no graph." in lines
