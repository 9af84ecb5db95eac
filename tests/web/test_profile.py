"""The profile on the candidate page: who may have one taken, what is said meanwhile, and how figures are shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.models import Profile as Row
from kernels.profiling import raw
from kernels.profiling.profiler import no_figures
from kernels.profiling.reading import kernel_profile
from kernels.profiling.record import Method, Profile, ProfileOutcome, Reason
from kernels.records import from_json, to_json
from kernels.targets import Target
from runs.fleet import device_queue
from runs.models import Attempt, Job, Worker
from runs.profiles import COUNTERS, store
from runs.states import JobKind, JobState
from tests.profiling.tables import COPY, GEMM, LIBRARY, table
from tests.web import gallery
from tests.web.reading import html, part, words

METHOD = Method(
    "Nsight Compute 2025.3.1", "fixed", "none", "all", "kernel", 3, 48, False, "ncu_report", "NVIDIA Imaginary", "9.0",
    None,
)  # fmt: skip


def measured(*kernels: str, cut: bool = False) -> Profile:
    """A record of figures that measure nothing."""
    made = tuple(kernel_profile(one, frozenset({GEMM})) for one in raw.parse(table(*kernels)))
    method = Method(**{**to_json(METHOD), "isolation": None, "cut": cut})
    return Profile(ProfileOutcome.MEASURED, None, "", made, method, 1234, 8.4)


@pytest.fixture
def best(alice: User, settings: Any, tmp_path: Path) -> Attempt:
    """The best attempt of a run on a card."""
    settings.PROFILE_DIR = tmp_path / "profiles"
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    found.trajectory.run.target = Target.SM90A
    found.trajectory.run.save()
    return found


def address(attempt: Attempt, more: str = "") -> str:
    t = attempt.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/{more}"


def panel(client: Client, attempt: Attempt, query: str = "") -> str:
    """The profile's section as the whole page has it."""
    response = client.get(address(attempt) + query)
    assert response.status_code == 200
    return part(html(response), "profile", "section")


def keep(attempt: Attempt, record: Profile, report: bytes | None = None) -> Row:
    """Store a profile, with a report of those bytes."""
    from django.conf import settings

    name = "0" * 32 + ".ncu-rep" if report is not None else ""
    if report is not None:
        Path(settings.PROFILE_DIR).mkdir(parents=True, exist_ok=True)
        (Path(settings.PROFILE_DIR) / name).write_bytes(report)
    return store(attempt, record, "fixed", name)


def test_a_host_run_says_why_there_is_nothing(as_alice: Client, best: Attempt) -> None:
    best.trajectory.run.target = Target.HOST
    best.trajectory.run.save()
    text = panel(as_alice, best)
    assert "this run’s target is host" in words(text)
    assert "<form" not in text
    as_alice.post(address(best, "profile/make/"), {"set": "fixed"})
    assert not Job.objects.filter(kind=JobKind.PROFILE).exists()


def test_its_owner_may_have_it_profiled_and_the_page_follows(as_alice: Client, best: Attempt) -> None:
    assert "Not profiled yet" in words(panel(as_alice, best))
    response = as_alice.post(address(best, "profile/make/"), {"set": "full"})
    assert response.url.endswith("#profile")  # type: ignore[attr-defined]
    job = Job.objects.get(kind=JobKind.PROFILE)
    assert (job.queue, job.payload, job.attempt_id) == (device_queue(Target.SM90A), {"set": "full"}, best.pk)
    text = panel(as_alice, best)
    assert "Queued for a profile." in words(text)
    assert "No cuda.sm_90a worker is online; it waits for one." in words(text)
    assert 'hx-trigger="every 2s"' in text
    assert as_alice.get(address(best, "profile/?was=queued")).status_code == 204
    Job.objects.update(state=JobState.CLAIMED)
    assert "Profiling." in words(html(as_alice.get(address(best, "profile/?was=queued"))))


def test_asking_twice_makes_one_job(as_alice: Client, best: Attempt) -> None:
    for _ in range(2):
        as_alice.post(address(best, "profile/make/"), {"set": "fixed"})
    assert Job.objects.filter(kind=JobKind.PROFILE).count() == 1


def test_others_may_look_and_not_ask(as_bob: Client, best: Attempt) -> None:
    text = panel(as_bob, best)
    assert "alice, who owns the run, may have it profiled" in words(text)
    assert "<form" not in text
    assert as_bob.post(address(best, "profile/make/")).status_code == 403
    assert not Job.objects.filter(kind=JobKind.PROFILE).exists()


def test_strangers_see_neither_record_nor_report(outsider: Client, best: Attempt) -> None:
    row = keep(best, measured(GEMM), b"report")
    for form in ("json", "ncu-rep"):
        assert outsider.get(address(best, f"profile/{row.pk}.{form}")).status_code == 302


def test_words_come_first_then_every_figure_with_its_unit(as_alice: Client, best: Attempt) -> None:
    keep(best, measured(GEMM, COPY, LIBRARY))
    text = panel(as_alice, best)
    said = words(text)
    assert said.index("Limited by compute: compute 87") < said.index("Speed of light")
    assert "209 KiB" in said
    assert "1.62 GHz" in said
    assert "168" in said
    assert "held down by registers and shared memory" in said
    assert said.count("the limit") == 2
    assert "waiting for warpgroup matrix products (wgmma)" in said
    assert "Nsight Compute 2025.3.1, our fixed set of metrics" in said
    assert "on NVIDIA Imaginary" in said
    assert "left as they were" in said


def test_what_a_card_does_not_have_is_a_dash_with_its_reason_and_never_a_zero(
    as_alice: Client, best: Attempt
) -> None:
    keep(best, measured(LIBRARY))
    text = panel(as_alice, best)
    for name in ("FP64", "Bank conflicts", "Registers a thread", "Achieved"):
        row = re.search(rf"<tr[^>]*><td>{name}</td>(.*?)</tr>", text, re.DOTALL)
        assert row is not None, name
        assert "not measured on this card" in row[1]
        assert "<rect" not in row[1]
    assert "metrics" in words(text)


def test_a_measured_zero_is_a_zero(as_alice: Client, best: Attempt) -> None:
    keep(best, measured(GEMM))
    text = panel(as_alice, best)
    row = re.search(r"<tr[^>]*><td>Local memory loaded</td>(.*?)</tr>", text, re.DOTALL)
    assert row is not None
    assert "0\u202fB" in row[1]


def test_another_launch_can_be_looked_at(as_alice: Client, best: Attempt) -> None:
    keep(best, measured(GEMM, COPY, LIBRARY))
    assert "Limited by memory" in words(panel(as_alice, best, "?launch=1"))
    fragment = html(as_alice.get(address(best, "profile/?launch=1")))
    assert "Limited by memory" in words(fragment)
    for odd in ("99", "-1", "x", "１"):
        assert "Limited by compute" in words(panel(as_alice, best, f"?launch={odd}"))


def test_own_and_library_kernels_are_told_apart(as_alice: Client, best: Attempt) -> None:
    keep(best, measured(GEMM, LIBRARY, cut=True))
    said = words(panel(as_alice, best))
    assert "96" in said
    assert "of their time in own kernels" in said
    assert "the first 48, the call has more" in said
    assert "unrolled_elementwise_kernel" in said


def test_hostile_names_stay_text(as_alice: Client, best: Attempt) -> None:
    record = to_json(measured(GEMM))
    record["kernels"][0]["name"] = "<script>alert(1)</script>"
    keep(best, from_json(record, Profile))
    assert "<script>alert" not in panel(as_alice, best)


def test_no_counters_is_said_with_what_would_be_right_and_can_be_tried_again(
    as_alice: Client, best: Attempt
) -> None:
    keep(best, no_figures(Reason.NO_PERMISSION, "the driver does not let this user; an option would be right"))
    text = panel(as_alice, best)
    assert "No figures: the driver does not let this user; an option would be right" in words(text)
    assert "Profile again" in words(text)


def test_a_later_failure_leaves_the_figures_of_before(as_alice: Client, best: Attempt) -> None:
    keep(best, measured(GEMM))
    keep(best, no_figures(Reason.TIMEOUT, "took longer than 180 s"))
    said = words(panel(as_alice, best))
    assert "No figures the last time: took longer than 180 s" in said
    assert "Limited by compute" in said


def test_a_worker_that_cannot_read_counters_is_said_before_anybody_asks(as_alice: Client, best: Attempt) -> None:
    gallery.worker("card 0", device_queue(Target.SM90A))
    Worker.objects.update(facts={COUNTERS: "the driver does not let this user read them"})
    assert "No counters here: the driver does not let this user read them" in words(panel(as_alice, best))
    Worker.objects.update(facts={COUNTERS: "readable"})
    assert "No counters here" not in words(panel(as_alice, best))


def test_the_report_and_the_record_can_be_kept(as_bob: Client, best: Attempt) -> None:
    row = keep(best, measured(GEMM), b"NVR report")
    report = as_bob.get(address(best, f"profile/{row.pk}.ncu-rep"))
    assert b"".join(report.streaming_content) == b"NVR report"  # type: ignore[attr-defined]
    assert report["Content-Disposition"].endswith('-sm_90a.ncu-rep"')
    record = as_bob.get(address(best, f"profile/{row.pk}.json"))
    assert from_json(record.json(), Profile) == measured(GEMM)
    assert "attachment" in record["Content-Disposition"]


def test_a_report_that_had_to_go_is_said_so(as_alice: Client, best: Attempt, settings: Any) -> None:
    row = keep(best, measured(GEMM), b"NVR report")
    (Path(settings.PROFILE_DIR) / row.report).unlink()
    assert "Its report is not kept: too large, or removed to make room." in words(panel(as_alice, best))
    assert as_alice.get(address(best, f"profile/{row.pk}.ncu-rep")).status_code == 404


def test_no_name_in_a_row_leads_out_of_the_folder(as_alice: Client, best: Attempt, tmp_path: Path) -> None:
    (tmp_path / "secret.ncu-rep").write_text("secret")
    row = keep(best, measured(GEMM))
    Row.objects.update(report="../secret.ncu-rep")
    assert as_alice.get(address(best, f"profile/{row.pk}.ncu-rep")).status_code == 404


def test_another_attempt_s_profile_is_not_served_here(as_alice: Client, best: Attempt) -> None:
    other = best.trajectory.attempts.exclude(pk=best.pk).filter(build__isnull=False).first()
    assert other is not None
    row = keep(other, measured(COPY))
    assert as_alice.get(address(best, f"profile/{row.pk}.json")).status_code == 404
