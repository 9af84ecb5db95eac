"""Saved launch forms: kept, chosen, overwritten, shared, deleted, each by who may."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.models import Problem
from runs.models import Preset, Run
from tests.web.reading import html, text_of, words
from tests.web.rows import problems

FORM: dict[str, Any] = {
    "title": "Nightly", "target": "host", "policy": "tf32", "controller": "flat", "proposer": "search",
    "attempts": "33", "epsilon": "", "patience": "8", "pool": "", "seed": "5", "tolerance": "kernelbench",
    "order": "listed", "baselines": ["best"], "save": "1", "preset_name": " night  run ",
}  # fmt: skip


@pytest.fixture
def two(db: None) -> list[Problem]:
    return problems(2)


def saved(client: Client, two: list[Problem], **more: Any) -> Any:
    return client.post("/runs/new/", {**FORM, "problems": [two[1].pk], **more})


def test_a_form_is_kept_and_comes_back_as_it_was(as_alice: Client, two: list[Problem]) -> None:
    answer = saved(as_alice, two)
    one = Preset.objects.get()
    assert answer.headers["Location"] == f"/runs/new/?preset={one.pk}"
    assert one.name == "night run"
    assert not Run.objects.exists(), "saving launches nothing"
    page = html(as_alice.get(answer.headers["Location"]))
    text = words(page)
    assert "Saved as night run, for you to choose." in text
    assert "As saved in the preset night run" in text
    assert "1 of 2 chosen" in text
    assert "33 attempts, 1 × 33" in text
    assert 'name="controller" value="flat" checked' in page
    assert 'name="policy" value="tf32" checked' in page
    assert 'name="baselines" value="best" checked' in page
    assert 'name="baselines" value="compile" checked' not in page
    assert 'name="steering">' in page, "it was off"
    assert '<option value="kernelbench" selected>' in page


def test_a_form_that_is_not_right_yet_can_be_kept(as_alice: Client, two: list[Problem]) -> None:
    assert as_alice.post("/runs/new/", {**FORM, "attempts": "many"}).status_code == 302
    page = html(as_alice.get(f"/runs/new/?preset={Preset.objects.get().pk}"))
    assert 'value="many"' in page


def test_a_name_is_taken_until_the_box_says_to_overwrite(as_alice: Client, two: list[Problem]) -> None:
    saved(as_alice, two)
    refused = saved(as_alice, two, attempts="40")
    assert refused.status_code == 422
    text = text_of(refused)
    assert "you have a preset 'night run'" in text
    assert 'value="40"' in html(refused), "what was typed is still there"
    assert Preset.objects.get().form["attempts"] == "33"
    saved(as_alice, two, attempts="40", preset_overwrite="on", preset_shared="on")
    one = Preset.objects.get()
    assert (one.form["attempts"], one.shared) == ("40", True)


def test_a_preset_without_a_name_is_not_kept(as_alice: Client, two: list[Problem]) -> None:
    answer = saved(as_alice, two, preset_name="  ")
    assert answer.status_code == 422
    assert "a preset needs a name" in text_of(answer)
    assert not Preset.objects.exists()


def test_shared_ones_are_everybody_s_to_choose_and_their_owner_s_to_change(
    as_alice: Client, as_bob: Client, as_maya: Client, two: list[Problem]
) -> None:
    saved(as_alice, two, preset_shared="on")
    one = Preset.objects.get()
    page = text_of(as_bob.get("/runs/new/"))
    assert "night run alice’s" in page
    assert "Delete the preset" not in page
    assert "33 attempts" in text_of(as_bob.get(f"/runs/new/?preset={one.pk}"))
    saved(as_bob, two, attempts="44", preset_overwrite="on")
    assert Preset.objects.count() == 2, "bob's of the same name is his own"
    one.refresh_from_db()
    assert one.form["attempts"] == "33"
    assert as_bob.post(f"/runs/presets/{one.pk}/delete/").status_code == 403
    as_maya.post(f"/runs/presets/{one.pk}/delete/")
    assert not Preset.objects.filter(pk=one.pk).exists()


def test_another_s_own_preset_is_not_there(as_alice: Client, as_bob: Client, two: list[Problem]) -> None:
    saved(as_alice, two)
    one = Preset.objects.get()
    assert "night run" not in text_of(as_bob.get("/runs/new/"))
    assert "33 attempts" not in text_of(as_bob.get(f"/runs/new/?preset={one.pk}"))
    assert as_bob.post(f"/runs/presets/{one.pk}/delete/").status_code == 404


def test_deleting_takes_a_post_and_is_done_once(as_alice: Client, outsider: Client, two: list[Problem]) -> None:
    saved(as_alice, two)
    address = f"/runs/presets/{Preset.objects.get().pk}/delete/"
    assert as_alice.get(address).status_code == 405
    assert outsider.post(address).status_code == 302
    assert Preset.objects.exists()
    assert as_alice.post(address).headers["Location"] == "/runs/new/"
    assert as_alice.post(address).status_code == 404


def test_a_preset_with_what_is_gone_still_opens(as_alice: Client, alice: User, two: list[Problem]) -> None:
    form = {"problems": ["999", "x"], "proposer": "openai:gone", "controller": "magic", "unknown": 1}
    one = Preset.objects.create(owner=alice, name="old", form=form)
    text = text_of(as_alice.get(f"/runs/new/?preset={one.pk}"))
    assert "Its proposer, gone, is not configured here any more" in text
    oddities: list[Any] = [{}, [], {"problems": 3}]
    for odd in oddities:
        Preset.objects.filter(pk=one.pk).update(form=odd)
        assert as_alice.get(f"/runs/new/?preset={one.pk}").status_code == 200
