"""The fleet: draining and its races, queueing again, dead workers, cards, and what the page shows of it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kernels.records import to_json
from kernels.targets import Target
from runs import draining, fleet_control, jobs, registration, tasks, telemetry
from runs.errors import JobEnded, WorkerLives
from runs.execution import run_job
from runs.fleet import CPU, queue_states
from runs.fleet_page import Fleet
from runs.jobs import Lease, LeaseLost
from runs.ledger_models import Action, Deed
from runs.models import Attempt, Job, Run, Worker
from runs.presence import now_of
from runs.states import AttemptState, JobKind, JobState
from runs.telemetry import CardReading, MachineReading, parse_card
from tests.runs.conftest import script
from tests.runs.worlds import Script, drain, make_run, next_job
from tests.web import gallery
from tests.web.reading import html, links, text_of

__all__ = ["script"]

ANSWER = "NVIDIA H100 80GB HBM3, 1755, 1980, 2619, 41, 312.55, 700.00, 2048, 81559, 97\n"


class Consumer:
    """Stands in for Celery's: knows its queues, does at once what it is asked to do soon."""

    def __init__(self, *queues: str) -> None:
        self.taking = list(queues)
        self.app = self
        self.amqp = self
        self.queues = self
        self.consume_from = dict.fromkeys(queues)

    def call_soon(self, work: Any, *args: Any) -> None:
        work(*args)

    def cancel_task_queue(self, queue: str) -> None:
        self.taking.remove(queue)

    def add_task_queue(self, queue: str) -> None:
        self.taking.append(queue)


@pytest.fixture
def me(monkeypatch: pytest.MonkeyPatch, db: None) -> Worker:
    """This process as the worker "cpu 0"."""
    monkeypatch.setenv(registration.NAME_VARIABLE, "cpu 0")
    return gallery.worker("cpu 0", "cpu")


@pytest.fixture
def consumer() -> Consumer:
    made = Consumer("cpu", "later")
    draining.attach(made)
    return made


class TestDraining:
    def test_a_drained_worker_takes_nothing(
        self, script: Script, me: Worker, consumer: Consumer, maya: User
    ) -> None:
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        fleet_control.drain(me, maya)
        tasks.execute(job.pk)
        job.refresh_from_db()
        assert (job.state, job.tries) == (JobState.QUEUED, 0)
        assert consumer.taking == []

    def test_its_hint_goes_back_to_the_others(
        self, script: Script, me: Worker, consumer: Consumer, maya: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[tuple[int, str]] = []
        monkeypatch.setattr("runs.jobs.send", lambda key, queue: sent.append((key, queue)))
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        fleet_control.drain(me, maya)
        tasks.execute(job.pk)
        assert sent == [(job.pk, CPU)]

    def test_another_worker_does_the_job(self, script: Script, me: Worker, consumer: Consumer, maya: User) -> None:
        make_run(attempts=1)
        fleet_control.drain(me, maya)
        drain(worker="cpu 1")
        assert Attempt.objects.get().outcome == "passed"

    def test_what_is_under_way_ends_and_counts(
        self, script: Script, me: Worker, consumer: Consumer, maya: User
    ) -> None:
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        held = jobs.claim(job.pk, "cpu 0")
        assert held is not None
        fleet_control.drain(me, maya)
        assert not Lease(held).stop()
        with jobs.settling(held):
            pass
        job.refresh_from_db()
        assert job.state == JobState.DONE

    def test_a_drain_between_the_look_and_the_claim_wins(
        self, script: Script, me: Worker, consumer: Consumer, maya: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        looked: list[bool] = []
        is_drained = draining.is_drained

        def overtaken(worker: str) -> bool:
            looked.append(is_drained(worker))
            fleet_control.drain(me, maya)
            return looked[-1]

        monkeypatch.setattr(draining, "is_drained", overtaken)
        tasks.execute(job.pk)
        assert looked == [False, True]
        job.refresh_from_db()
        assert job.state == JobState.QUEUED

    def test_it_comes_back_when_the_drain_is_over(self, me: Worker, consumer: Consumer, maya: User) -> None:
        fleet_control.drain(me, maya)
        draining.step_aside(0)
        draining.step_aside(0)
        draining.come_back("cpu 0")
        assert consumer.taking == []
        fleet_control.undrain(me, maya)
        draining.come_back("cpu 0")
        draining.come_back("cpu 0")
        assert consumer.taking == ["cpu", "later"]

    def test_while_it_takes_work_nothing_is_asked(
        self, me: Worker, consumer: Consumer, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(0):
            draining.come_back("cpu 0")
        assert consumer.taking == ["cpu", "later"]

    def test_twice_is_logged_once(self, me: Worker, maya: User) -> None:
        for act in (fleet_control.drain, fleet_control.drain, fleet_control.undrain, fleet_control.undrain):
            act(me, maya)
        told = list(Deed.objects.order_by("id").values_list("action", "what"))
        assert told == [(Action.DRAINED, "cpu 0"), (Action.UNDRAINED, "cpu 0")]

    def test_nobody_counts_on_a_drained_worker(self, script: Script, me: Worker, maya: User) -> None:
        run = make_run(attempts=1)
        assert queue_states((CPU,))[CPU].online == 1
        fleet_control.drain(me, maya)
        assert queue_states((CPU,))[CPU].online == 0
        assert [wait.why for wait in now_of(run).waiting] == ["every cpu worker that is online is drained"]

    def test_of_two_claims_one_holds(self, script: Script, me: Worker) -> None:
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        assert jobs.claim(job.pk, "cpu 0") is not None
        assert jobs.claim(job.pk, "cpu 1") is None


class TestQueueingAgain:
    def claimed(self) -> Job:
        make_run(attempts=1)
        while (job := next_job()) is not None and job.kind != JobKind.EVALUATE:
            run_job(job.pk, "cpu 1")
        assert job is not None
        held = jobs.claim(job.pk, "cpu 0")
        assert held is not None
        return held

    def test_a_job_is_taken_from_a_live_worker_and_done_by_another(
        self, script: Script, me: Worker, maya: User
    ) -> None:
        held = self.claimed()
        fleet_control.requeue(held, maya)
        row = Job.objects.get(pk=held.pk)
        assert (row.state, row.tries) == (JobState.QUEUED, 0)
        assert Attempt.objects.get().state == AttemptState.BUILT
        with pytest.raises(LeaseLost), jobs.settling(held):
            raise AssertionError("the block must not run")
        drain(worker="cpu 1")
        assert Attempt.objects.get().outcome == "passed"
        assert Deed.objects.get(action=Action.REQUEUED).words == "from cpu 0"

    def test_one_that_has_ended_is_said(self, script: Script, me: Worker, maya: User) -> None:
        held = self.claimed()
        with jobs.settling(held):
            pass
        with pytest.raises(JobEnded, match="is done; one that is under way"):
            fleet_control.requeue(held, maya)

    def test_a_run_that_is_being_cancelled_ends_instead(self, script: Script, me: Worker, maya: User) -> None:
        held = self.claimed()
        Run.objects.update(cancel_requested=timezone.now(), cancelled_by=maya)
        fleet_control.requeue(held, maya)
        assert Job.objects.get(pk=held.pk).state == JobState.CANCELLED
        assert Run.objects.get().state == "cancelled"

    def test_a_dead_worker_is_removed_and_its_job_queued(self, script: Script, me: Worker, maya: User) -> None:
        held = self.claimed()
        with pytest.raises(WorkerLives):
            fleet_control.remove(me, maya)
        Worker.objects.update(heartbeat=timezone.now() - timedelta(minutes=5))
        fleet_control.remove(me, maya)
        assert not Worker.objects.exists()
        assert Job.objects.get(pk=held.pk).state == JobState.QUEUED

    def test_a_worker_that_was_only_cut_off_writes_itself_anew(self, me: Worker) -> None:
        row = {"queue": "cpu", "process_id": 7, "facts": {}, "readings": {}, "started": timezone.now()}
        Worker.objects.all().delete()
        registration.beat(row)
        registration.beat(row)
        assert Worker.objects.get().process_id == 7


class TestReading:
    def test_a_card_is_read_in_its_units(self) -> None:
        card = parse_card(ANSWER)
        assert card == CardReading(
            "NVIDIA H100 80GB HBM3", 1755, 1980, 2619, 41, 312.55, 700, 2048 * 2**20, 81559 * 2**20, 0.97
        )

    def test_what_the_driver_does_not_tell_is_nothing(self) -> None:
        card = parse_card("NVIDIA A10, 210, [N/A], 405, 30, [Not Supported], [N/A], 0, 23028, [N/A]")
        assert card is not None
        assert (card.power_w, card.sm_max_mhz, card.busy, card.memory_used) == (None, None, None, 0)
        assert parse_card("No devices were found") is None
        assert parse_card("") is None

    def test_the_reasons_for_no_card(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert telemetry.read_machine("cpu").why == telemetry.NO_NEED
        monkeypatch.setenv("PATH", str(tmp_path))
        assert telemetry.read_machine("cuda.sm_90a").why == telemetry.NO_DRIVER
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\nexit 9\n")
        program.chmod(0o755)
        assert telemetry.read_machine("cuda.sm_90a").why == telemetry.NO_ANSWER

    def test_the_card_that_the_worker_may_use_is_asked_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f'#!/bin/sh\n[ "$4" = GPU-7 ] && printf "{ANSWER.strip()}"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7,GPU-8")
        reading = telemetry.read_machine("cuda.sm_90a")
        assert reading.card == parse_card(ANSWER)
        assert reading.memory_total > reading.memory_used > 0

    def test_nothing_is_read_beside_a_measurement(self, me: Worker, script: Script) -> None:
        make_run(attempts=1)
        job = next_job()
        assert job is not None
        assert not registration._measuring()
        Job.objects.filter(pk=job.pk).update(kind=JobKind.EVALUATE)
        with registration.doing(job.pk):
            assert registration._measuring()


def reading(card: CardReading | None, why: str = "") -> dict[str, Any]:
    return to_json(MachineReading("2026-01-02T10:00:00+00:00", 1.5, 2**30, 2**33, card, why))  # type: ignore[no-any-return]


class TestPage:
    def test_cards_have_figures_or_a_reason(self, as_alice: Client) -> None:
        one = gallery.worker("cuda 0", "cuda.sm_90a")
        other = gallery.worker("cuda 1", "cuda.sm_90a")
        Worker.objects.filter(pk=one.pk).update(readings=reading(parse_card(ANSWER)))
        Worker.objects.filter(pk=other.pk).update(readings=reading(None, telemetry.NO_ANSWER))
        text = text_of(as_alice.get("/fleet/"))
        assert "NVIDIA H100 80GB HBM3 cuda 0 1,755 of 1,980 2,619 41 313 of 700 2 GiB of 79.6 GiB" in text
        assert "nvidia-smi did not answer" in text

    def test_a_host_without_cards_says_so(self, as_alice: Client) -> None:
        gallery.worker("host 0", "host")
        assert "No worker with a card is online" in text_of(as_alice.get("/fleet/"))

    def test_what_each_does_is_linked_and_what_it_did_counted(self, as_alice: Client, alice: User) -> None:
        run = gallery.mid_flight(alice)
        worker = Worker.objects.get(queue="host")
        ended = timezone.now() - timedelta(minutes=59)
        Job.objects.filter(kind=JobKind.EVALUATE, state=JobState.DONE).update(worker=worker.name, finished=ended)
        Job.objects.filter(kind=JobKind.BUILD, state=JobState.DONE).update(
            worker=worker.name, state=JobState.LOST, finished=ended
        )
        page = html(as_alice.get("/fleet/"))
        assert f"/runs/{run.pk}/own/2/10/" in links(page)
        row = next(row for row in Fleet().rows if row.worker == worker)
        assert (row.done, row.failed) == (3, 3)
        Job.objects.update(finished=timezone.now() - timedelta(minutes=61))
        row = next(row for row in Fleet().rows if row.worker == worker)
        assert (row.done, row.failed) == (0, 0)

    def test_states_are_in_words(self, as_alice: Client, alice: User) -> None:
        gallery.mid_flight(alice)
        gallery.worker("cpu 7", "cpu")
        gallery.worker("gone", "cpu", seconds_ago=600)
        Worker.objects.exclude(name="gone").exclude(queue="host").update(drained=timezone.now())
        assert sorted(row.state for row in Fleet().rows) == ["drained", "draining", "evaluating", "offline"]
        assert "cpu none (2 drained)" in text_of(as_alice.get("/fleet/"))

    def test_an_admin_drains_ends_it_and_removes(self, as_maya: Client, maya: User) -> None:
        worker, gone = gallery.worker("cpu 0", "cpu"), gallery.worker("gone", "cpu", seconds_ago=600)
        page = html(as_maya.get("/fleet/"))
        assert f"/fleet/workers/{worker.pk}/drain/" in page
        assert f"/fleet/workers/{gone.pk}/remove/" in page
        as_maya.post(f"/fleet/workers/{worker.pk}/drain/")
        assert "End the drain" in text_of(as_maya.get("/fleet/"))
        as_maya.post(f"/fleet/workers/{worker.pk}/undrain/")
        worker.refresh_from_db()
        assert worker.drained is None
        said = as_maya.post(f"/fleet/workers/{worker.pk}/remove/", follow=True)
        assert "Cpu 0 answers; drain it, and stop it on its machine." in text_of(said)
        as_maya.post(f"/fleet/workers/{gone.pk}/remove/")
        assert list(Worker.objects.values_list("name", flat=True)) == ["cpu 0"]

    def test_others_see_no_buttons(self, as_alice: Client) -> None:
        gallery.worker("cpu 0", "cpu")
        page = html(as_alice.get("/fleet/"))
        assert "/drain/" not in page
        assert not re.search(r"<th[^>]*>\s*</th>", page)

    def test_live_sends_heartbeats_and_the_rest_when_it_changed(self, as_alice: Client, maya: User) -> None:
        worker = gallery.worker("cpu 0", "cpu")
        address = f"/fleet/live/?was={Fleet().version}"
        same = html(as_alice.get(address))
        assert f'id="beat-{worker.pk}"' in same
        assert 'id="fleet-workers"' not in same
        fleet_control.drain(worker, maya)
        changed = html(as_alice.get(address))
        assert 'id="fleet-workers"' in changed
        assert 'id="fleet-queues"' in changed
        assert Fleet().version in changed

    def test_it_takes_a_fixed_number_of_queries(
        self, as_maya: Client, alice: User, django_assert_max_num_queries: Any
    ) -> None:
        gallery.mid_flight(alice)
        for number in range(8):
            gallery.worker(f"cuda {number}", f"cuda.{Target.SM90A.value}")
        for address, most in (("/fleet/", 7), ("/fleet/live/", 5)):
            with django_assert_max_num_queries(most):
                as_maya.get(address)
