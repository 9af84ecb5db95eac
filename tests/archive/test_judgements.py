"""An archive is somebody's text: it settles nothing here, lifts nothing, and holds nothing that was measured here."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from runs.archive.restoring import import_archive
from runs.models import Attempt, Run
from sol.audit.verdict import Verdict
from sol.case_models import EntryKind
from sol.cases import settle
from sol.gap.standing import Held
from sol.models import Case, Entry, Flag
from tests.archive.worlds import changed, elsewhere, forged, plain_run, written
from tests.web.audit_rows import CACHED, CAST, flagged


@pytest.fixture
def run(alice: User) -> Run:
    return plain_run(alice)


def best_of(run: Run) -> Attempt:
    found = run.trajectories.order_by("pk")[0].best
    assert found is not None
    return found


def words() -> str:
    return " | ".join(Entry.objects.order_by("pk").values_list("words", flat=True))


def test_a_verdict_of_elsewhere_is_history_and_the_case_is_open(
    run: Run, alice: User, bob: User, tmp_path: Path
) -> None:
    settle([flagged(best_of(run), CACHED, CAST)], Verdict.REWARD_HACK, alice, "it keeps its answers")
    written(run, tmp_path / "a.zip")
    elsewhere()
    again = import_archive(tmp_path / "a.zip", bob)
    case = Case.objects.get()
    assert (case.verdict, case.settled_by, case.severity, case.flags) == ("", None, "severe", 2)
    assert Flag.objects.filter(case=case).count() == 2
    assert "settled as reward hack by alice" in words()
    assert f"at r-{run.pk} of lab-3: it keeps its answers" in words()
    assert not Entry.objects.filter(user__isnull=False).exists()
    # The origin's word on its own times stands until somebody settles it here.
    assert Attempt.objects.get(trajectory__run=again, kernel=case.kernel).held == Held.HACKED


def test_a_reviewer_settles_it_anew(run: Run, alice: User, bob: User, tmp_path: Path) -> None:
    settle([flagged(best_of(run), CACHED)], Verdict.REWARD_HACK, alice)
    written(run, tmp_path / "a.zip")
    elsewhere()
    again = import_archive(tmp_path / "a.zip", bob)
    case = Case.objects.get()
    settle([case], Verdict.CLEAN, bob, "it does the work")
    assert Attempt.objects.get(trajectory__run=again, kernel=case.kernel).held == ""
    assert best_of(Run.objects.get(pk=again.pk)).kernel_id == case.kernel_id


def test_a_clean_word_of_elsewhere_lifts_nothing_here(run: Run, alice: User, bob: User, tmp_path: Path) -> None:
    attempt = best_of(run)
    case = flagged(attempt, CACHED)
    settle([case], Verdict.CLEAN, alice)
    written(run, tmp_path / "a.zip")
    settle([case], Verdict.REWARD_HACK, bob, "not here")
    again = import_archive(tmp_path / "a.zip", bob)
    case.refresh_from_db()
    assert (case.verdict, case.settled_by) == (Verdict.REWARD_HACK, bob)
    attempt.refresh_from_db()
    assert attempt.held == Held.HACKED
    mine = Attempt.objects.get(trajectory__run=again, kernel=attempt.kernel)
    assert mine.held == Held.HACKED
    best = best_of(Run.objects.get(pk=again.pk))
    assert best.kernel_id != attempt.kernel_id
    assert "settled as clean by alice at" in words()
    assert "changes nothing here" in words()
    assert Entry.objects.filter(case=case).last().kind == EntryKind.COMMENT  # type: ignore[union-attr]


def test_a_flag_of_elsewhere_holds_nothing_that_was_measured_here(
    run: Run, alice: User, bob: User, tmp_path: Path
) -> None:
    attempt = best_of(run)
    flagged(attempt, CACHED)
    written(run, tmp_path / "a.zip")
    Case.objects.all().delete()
    Attempt.objects.filter(pk=attempt.pk).update(held="")
    again = Run.objects.get(pk=import_archive(tmp_path / "a.zip", bob).pk)
    assert Case.objects.count() == 0
    attempt.refresh_from_db()
    assert attempt.held == ""
    assert again.imported is not None
    assert again.imported.notes == [f"{attempt.kernel}: 1 flagged at its origin (open); measured here without"]


def test_what_ended_here_without_a_time_was_not_measured_here(
    run: Run, alice: User, bob: User, tmp_path: Path
) -> None:
    attempt = best_of(run)
    flagged(attempt, CACHED)
    written(run, tmp_path / "a.zip")
    Case.objects.all().delete()
    Attempt.objects.filter(pk=attempt.pk).update(held="", time_s=None)
    import_archive(tmp_path / "a.zip", bob)
    case = Case.objects.get()
    assert (case.kernel, case.verdict, case.severity) == (attempt.kernel, "", "severe")


def test_a_time_below_its_floor_does_not_count_however_it_comes(
    run: Run, alice: User, bob: User, tmp_path: Path
) -> None:
    written(run, tmp_path / "a.zip")
    elsewhere()
    path = forged(tmp_path / "a.zip", changed("attempts.jsonl", 2, time_s=1e-9))
    again = import_archive(path, bob)
    below = Attempt.objects.get(trajectory__run=again, time_s=1e-9)
    assert below.held == Held.FLOOR
    assert below.trajectory.best_id != below.pk


def test_a_forged_case_is_judged_by_its_flags_alone(run: Run, alice: User, bob: User, tmp_path: Path) -> None:
    flagged(best_of(run), CAST)
    written(run, tmp_path / "a.zip")
    elsewhere()
    path = forged(tmp_path / "a.zip", changed("cases.jsonl", 1, severity="severe", rank=9, flags=99, inflation=1e6))
    import_archive(path, bob)
    case = Case.objects.get()
    assert (case.severity, case.rank, case.flags) == ("suspect", 1, 1)
    assert case.inflation is None or case.inflation < 1e6
