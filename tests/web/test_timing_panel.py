"""The timing part of a candidate's page, of a host, of a card, and of records from before there was any of it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import Evaluation
from kernels.records import from_json, to_json
from runs import figures
from runs.charts.bound_line import bound_line
from runs.charts.distribution import WIDTH, Series, distribution
from runs.models import Attempt
from runs.timing_panel import TimingPanel
from tests.web import gallery, timing_rows
from tests.web.reading import html, part, words

THIN = figures.THIN


@pytest.fixture
def best(alice: User) -> Attempt:
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def plain(attempt: Attempt) -> Evaluation:
    assert attempt.evaluation is not None
    return from_json(attempt.evaluation.record, Evaluation)


def page(client: Client, attempt: Attempt) -> str:
    t = attempt.trajectory
    response = client.get(f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/")
    assert response.status_code == 200
    return html(response)


def test_each_speedup_stands_in_its_baselines_row(as_alice: Client, best: Attempt) -> None:
    timing_rows.store(best, timing_rows.on_a_card(plain(best)))
    section = part(page(as_alice, best), "measured", "section")
    text = words(section)
    assert "torch eager, TF32" in text
    assert "13.3×" in text
    assert "2.02×" in text
    assert "its outputs miss the tolerance: matched share 0.31" in text
    assert "torch.compile took longer than 240 s and was stopped" in text


def test_a_cards_figures_have_units_and_its_caution_is_said(as_alice: Client, best: Attempt) -> None:
    timing_rows.store(best, timing_rows.on_a_card(plain(best)))
    text = words(page(as_alice, best))
    for figure in ("1,620 – 1,755 MHz", "402 – 655 W", "58 – 61 °C", "0.122 J", "power cap", "0.98× of the events"):
        assert figure.replace(" ", "") in text.replace(THIN, "").replace(" ", ""), figure
    assert "Caution: the card's clocks were held back: power cap." in text.replace("’", "'")


def test_kernels_are_told_apart_by_whose_they_are(as_alice: Client, best: Attempt) -> None:
    timing_rows.store(best, timing_rows.on_a_card(plain(best)))
    section = part(page(as_alice, best), "activity", "section")
    text = words(section)
    assert "cutlass::device_kernel&lt;" in section
    assert text.count("own") >= 1
    assert "library" in text
    assert "memset" in text
    assert "94.1" in text, "the share of kernel time in its own kernels"


def test_a_host_says_why_there_is_no_energy_and_no_record_of_kernels(as_alice: Client, best: Attempt) -> None:
    timing_rows.store(best, timing_rows.on_a_host(plain(best)))
    source = page(as_alice, best)
    text = words(source)
    assert "a CPU keeps no record of kernels" in text
    assert "this machine shows no RAPL counters" in text
    assert "this system shows no temperature of the processor" in text
    assert "inductor, default mode (ready in 35.6 s)" in text
    assert 'id="activity"' not in source
    assert "Multiprocessor clock" not in text


def test_a_record_from_before_all_this_still_has_its_page(as_alice: Client, best: Attempt) -> None:
    assert best.evaluation is not None
    record = dict(best.evaluation.record)
    for name in ("conditions", "absent"):
        record.pop(name)
    for timing in (record["candidate"], *record["baselines"]):
        for name in ("settings", "agrees", "agrees_note", "activity", "conditions", "energy_j", "energy_method"):
            timing.pop(name)
        timing.pop("missing")
    best.evaluation.record = record
    best.evaluation.save()
    text = words(page(as_alice, best))
    assert "Over torch eager" in text
    assert "not recorded in this evaluation" in text


def test_records_travel_through_json_whole(best: Attempt) -> None:
    record = timing_rows.on_a_card(plain(best))
    assert from_json(to_json(record), Evaluation) == record


def test_a_baseline_that_is_absent_has_its_reason_and_no_number(best: Attempt) -> None:
    panel = TimingPanel(timing_rows.on_a_card(plain(best)))
    absent = [row for row in panel.rows if row.timing is None]
    assert [row.name for row in absent] == [BaselineKind.COMPILE.full_name]
    assert absent[0].speedup is None
    assert "stopped" in absent[0].why


def test_all_subjects_share_one_axis_with_a_mark_for_each_call() -> None:
    slow = Series("torch eager", (0.004, 0.005, 0.006), 0.0045, 0.005, 0.0055, False)
    fast = Series("this kernel", (0.001, 0.0012, 0.0013), 0.0011, 0.0012, 0.00125, True)
    drawn = distribution([fast, slow])
    assert drawn is not None
    own, eager = drawn["rows"]
    assert own["median"] < eager["median"]
    assert own["path"].count("M") == 3
    assert eager["box"][0] + eager["box"][1] <= WIDTH
    assert own["y"] < eager["y"] < drawn["base"]
    assert drawn["ticks"][-1]["text"].endswith("ms")
    assert "torch eager, 3 calls: median 5.00" in drawn["label"]


def test_no_time_above_zero_is_no_chart() -> None:
    assert distribution([Series("this kernel", (0.0,), 0.0, 0.0, 0.0, True)]) is None


def test_further_baselines_are_marks_of_the_bound_line() -> None:
    drawn = bound_line(0.00012, 0.00014, 0.00021, 0.0028, 0.25, others={"eager TF32": 0.00043})
    assert drawn is not None
    (mark,) = drawn["others"]
    assert drawn["marks"]["this_kernel"]["x"] < mark["x"] < drawn["marks"]["eager"]["x"]
    assert mark["text"] == "eager TF32 0.430"
    assert "eager TF32 0.430" in drawn["label"]


def test_a_baseline_alone_makes_no_bound_line() -> None:
    assert bound_line(None, None, None, 0.0028, 0.25, others={"torch.compile": 0.002}) is None
