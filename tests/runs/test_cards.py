"""Runs on a card: they wait for a worker that has one, and are bounded by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.targets import Target
from runs import cards
from runs.fleet import preparing_queue
from runs.models import Job
from sol.models import Device
from tests.runs.worlds import Script, make_run


def smi(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{answer}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_run_for_a_card_waits_on_that_card_s_queue(script: Script) -> None:
    make_run(target=Target.SM90A)
    assert Job.objects.get().queue == "cuda.sm_90a" == preparing_queue(Target.SM90A)


def test_a_run_for_an_ampere_card_waits_on_a_queue_of_its_own(script: Script) -> None:
    make_run(target=Target.SM80)
    assert Job.objects.get().queue == "cuda.sm_80" == preparing_queue(Target.SM80)


def test_a_worker_stores_an_ampere_card(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi(tmp_path, monkeypatch, "NVIDIA A10")
    row = cards.register_card()
    assert row is not None
    assert row.name == "NVIDIA A10"


def test_a_run_for_the_host_is_prepared_by_any_cpu_worker(script: Script) -> None:
    make_run()
    assert Job.objects.get().queue == "cpu"


def test_a_worker_stores_its_card(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi(tmp_path, monkeypatch, "NVIDIA H100 80GB HBM3")
    row = cards.register_card()
    assert row is not None
    assert row.kind == "cuda"
    assert Device.objects.get().record["source"] == "specification"


def test_a_card_that_is_not_in_the_table_is_not_made_up(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(tmp_path, monkeypatch, "NVIDIA Something 9000")
    assert cards.register_card() is None
    assert not Device.objects.exists()


def test_a_machine_without_a_driver_has_no_card(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cards.card_name() is None
    assert cards.register_card() is None
