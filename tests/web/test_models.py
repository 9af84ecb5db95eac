"""Models on pages: choosing one, its limits, its transcript; nothing of what it said is ever taken for markup."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agent.steps import Answered, Ask, Asked, Candidate, Submitted
from kernels.languages import Language
from kernels.models import Problem
from runs import engine
from runs.models import Attempt, LlmCall, Run, Trajectory
from tests.web import gallery
from tests.web.reading import html, part, text_of, words
from tests.web.test_launch import GOOD

KEY = "sk-test-0123456789abcdef0123456789"
HOSTILE = "<script>alert(1)</script> & </code></pre><img src=x onerror=alert(2)>"
MODEL = {
    "name": "small", "base_url": "https://api.example.com/v1", "key_env": "TEST_MODEL_KEY", "max_output": 8000,
    "prices": {"prompt": 0.25, "completion": 2.0},
}  # fmt: skip


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_MODEL_KEY", KEY)
    free = {"name": "free", "base_url": "http://127.0.0.1:8080/v1"}
    settings.MODELS = json.dumps({"models": [MODEL, free]})


@pytest.fixture
def one(db: None) -> Problem:
    return gallery.problem(1)


def launched(client: Client, one: Problem, **changes: object) -> tuple[int, str]:
    """The status and the page's words after a launch with a model."""
    form = {**GOOD, "proposer": "openai:small", "controller": "mi", "problems": [one.pk], **changes}
    response = client.post("/runs/new/", form)
    return response.status_code, words(html(response))


# --- launching -----------------------------------------------------------------------------------


def test_without_a_model_the_page_says_how_to_configure_one(as_alice: Client, one: Problem, settings: Any) -> None:
    settings.MODELS = ""
    text = text_of(as_alice.get("/runs/new/"))
    assert "No language model is configured. MUCUTLASS_MODELS names one" in text


def test_models_can_be_chosen_and_are_shown_with_their_prices(as_alice: Client, one: Problem, model: None) -> None:
    page = html(as_alice.get("/runs/new/"))
    assert 'value="openai:small"' in page
    text = words(page)
    assert "at api.example.com; 0.25 and 2 USD for a million tokens asked and answered" in text
    assert "no prices: costs are not known" in text
    assert KEY not in page


def test_all_that_was_chosen_is_in_the_run(as_alice: Client, one: Problem, model: None, sent: list[int]) -> None:
    chosen = {
        "controller": "mantis-orchestrated", "representation": "py", "memory": "on", "shape": "3 × 2 x 1",
        "token_limit": "2000000", "cost_limit": "1.5",
    }  # fmt: skip
    status, _ = launched(as_alice, one, **chosen)
    assert status == 302
    run = Run.objects.get()
    settings = engine.settings_of(run)
    assert (settings.proposer, settings.controller) == ("openai:small", "mantis-orchestrated")
    assert (settings.representation, settings.memory, settings.steering) == (Language.PY, True, True)
    assert (settings.shape.iterations, settings.shape.hypotheses, settings.shape.attempts) == (3, 2, 1)
    assert (settings.token_limit, settings.cost_limit) == (2_000_000, 1.5)
    again = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert 'name="representation" value="py" checked' in again
    assert 'value="3x2x1"' in again
    assert 'name="token_limit" inputmode="numeric" autocomplete="off" value="2000000"' in again
    assert 'value="1.5"' in again
    facts = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "small proposer writing Python (ModelNew) · steering on, memory on" in facts


@pytest.mark.parametrize("controller", ["tree", "flat", "mi", "mantis", "mantis-orchestrated"])
@pytest.mark.parametrize("representation", ["mu", "cpp", "py"])
def test_any_controller_goes_with_any_representation_of_the_target(
    as_alice: Client, one: Problem, model: None, sent: list[int], controller: str, representation: str
) -> None:
    status, text = launched(as_alice, one, controller=controller, representation=representation)
    assert status == 302, text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"proposer": "openai:gone"}, "unknown; one of search, external, openai:small, openai:free"),
        ({"proposer": "search", "controller": "mantis"}, "mantis is a workflow in a prompt, and search reads none"),
        (
            {"proposer": "search", "representation": "py", "controller": "tree"},
            "search changes μCUTLASS programs alone",
        ),
        ({"representation": "cu"}, "a .cu source does not run on host"),
        ({"token_limit": "100"}, "one answer of small may take 8,000; several times that, or empty"),
        ({"token_limit": "many"}, "not a whole number"),
        ({"cost_limit": "0.001"}, "one answer of small may cost 0.0160 USD; several times that, or empty"),
        ({"cost_limit": "-1"}, "below 0"),
        ({"proposer": "openai:free", "cost_limit": "1"}, "free has no prices, so its cost is not known"),
        ({"proposer": "search", "controller": "tree", "cost_limit": "1"}, "only a model takes tokens and money"),
        ({"shape": "five"}, "not three whole numbers; iterations × hypotheses × attempts, as 5x2x4"),
        ({"shape": "0x2x4"}, "0x2x4 is out of bounds"),
    ],
)
def test_what_does_not_go_together_is_said_beside_its_field(
    as_alice: Client, one: Problem, model: None, changes: dict[str, str], said: str
) -> None:
    status, text = launched(as_alice, one, **changes)
    assert status == 422
    assert said in text
    assert not Run.objects.exists()


def test_a_model_without_its_key_is_said(
    as_alice: Client, one: Problem, model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_MODEL_KEY")
    assert "model small: the environment has no TEST_MODEL_KEY" in text_of(as_alice.get("/runs/new/"))
    status, text = launched(as_alice, one)
    assert status == 422
    assert "the environment has no TEST_MODEL_KEY" in text


def test_a_configuration_that_cannot_be_read_leaves_the_page_standing(
    as_alice: Client, one: Problem, settings: Any
) -> None:
    settings.MODELS = '{"models": [{"name": "x"}]}'
    text = text_of(as_alice.get("/runs/new/"))
    assert "MUCUTLASS_MODELS, model 1: base_url is missing or no text" in text
    assert "no model and no key" in text, "a search can still be launched"


def test_the_summary_says_what_stops_the_run_and_who_is_waited_for(
    as_alice: Client, one: Problem, model: None
) -> None:
    query: dict[str, Any] = {
        **GOOD, "proposer": "openai:small", "controller": "mi", "problems": [one.pk], "token_limit": "500000",
        "cost_limit": "2", "representation": "py",
    }  # fmt: skip
    text = text_of(as_alice.get("/runs/new/summary/", query))
    assert "before it could take more than 500,000 tokens or 2.00 USD, all problems together" in text
    assert "First program the proposer's own" in text
    assert "model no worker online: would wait" in text


# --- transcripts ---------------------------------------------------------------------------------


@pytest.fixture
def asked(alice: User, one: Problem) -> Trajectory:
    """A run in which a model was asked three times: a busy server, an answer, an answer of no use."""
    run = gallery.run(alice, proposer="openai:small", controller="mi")
    on = gallery.trajectory(run, one)
    first = gallery.attempt(on, 1, time_s=0.004)
    second = gallery.attempt(on, 2, time_s=0.002, parent=first, change=HOSTILE, hypothesis=HOSTILE)
    made = Candidate(second.kernel.source, 1, HOSTILE, HOSTILE, predicted=1.5, tool="register-spill")
    for event in (
        Submitted(1, Candidate(first.kernel.source, None, "translated program", "")),
        Asked(Ask(1, "expand", 1, 1, phase="attempt")),
        Answered(1, (made,)),
        Submitted(2, made),
        Asked(Ask(2, "expand", 2, 1, phase="attempt")),
        Answered(2, (), "answer-refused: no"),
    ):
        engine.append(on, event)
    call(on, 1, error="model-busy", words=HOSTILE, paid=False, counted_tokens=0, seconds=0.2)
    call(
        on, 1, answer=HOSTILE, data={"candidates": []}, prompt_tokens=12000, completion_tokens=800, cached_tokens=4000,
        cost=0.0046, counted_cost=0.0046, currency="USD", counted_tokens=12800, seconds=21.5,
        left_out=["12 earlier attempts", HOSTILE],
    )  # fmt: skip
    call(on, 2, error="answer-refused", words="no", prompt_tokens=9000, completion_tokens=5, counted_tokens=9005)
    return on


def call(on: Trajectory, ask: int, **fields: Any) -> LlmCall:
    """One call of a trajectory that has ended."""
    ended = {"finished": on.run.created, "seconds": 1.0, "system": f"system {HOSTILE}", "user": f"user {HOSTILE}"}
    return LlmCall.objects.create(
        run=on.run,
        trajectory=on,
        ask=ask,
        phase="attempt",
        model="small",
        served_as="small-2",
        **{**ended, **fields},
    )


def candidate(client: Client, on: Trajectory, number: int) -> str:
    """The transcript's part of a candidate's page."""
    page = html(client.get(f"/runs/{on.run_id}/{on.problem.slug}/{number}/"))
    assert "<script>alert(1)" not in page
    return part(page, "transcript", "section")


def test_an_attempt_shows_what_was_asked_predicted_and_spent(as_alice: Client, asked: Trajectory) -> None:
    source = candidate(as_alice, asked, 2)
    text = words(source)
    assert "Predicted 1.50× over #1" in text
    assert "Actual 2.00×" in text
    assert "Advice of register-spill" in text
    assert "Calls 2, 1 without a usable answer" in text
    assert "12,000 asked, 800 answered" in text
    assert "0.00460 USD" in text
    assert "model-busy" in text
    assert " open" not in source.split("<details")[1].partition(">")[0], "folded"


def test_the_first_attempt_says_that_no_call_led_to_it(as_alice: Client, asked: Trajectory) -> None:
    assert "No call led to this attempt: it is the program that the run began with." in words(
        candidate(as_alice, asked, 1)
    )


def test_a_search_says_that_no_model_took_part(as_alice: Client, alice: User) -> None:
    best = gallery.near_sol(alice).trajectories.get().best
    assert isinstance(best, Attempt)
    text = words(candidate(as_alice, best.trajectory, best.number))
    assert "No language model took part: search wrote this candidate." in text
    whole = text_of(as_alice.get(f"/runs/{best.trajectory.run_id}/{best.trajectory.problem.slug}/transcript/"))
    assert "No language model took part: search wrote the candidates of this run." in whole


def test_the_whole_problem_lists_every_call_with_what_it_led_to(as_alice: Client, asked: Trajectory) -> None:
    page = html(as_alice.get(f"/runs/{asked.run_id}/{asked.problem.slug}/transcript/"))
    assert "<script>alert(1)" not in page
    text = words(page)
    assert "Calls 3, 2 without a usable answer" in text
    assert "answer-refused" in text
    assert f'href="/runs/{asked.run_id}/{asked.problem.slug}/2/#transcript"' in page


def test_a_call_can_be_unfolded_or_opened_and_is_escaped(as_alice: Client, asked: Trajectory) -> None:
    good = LlmCall.objects.get(error="")
    address = f"/runs/{asked.run_id}/{asked.problem.slug}/transcript/{good.pk}/"
    page, fragment = html(as_alice.get(address)), html(as_alice.get(address, HTTP_HX_REQUEST="true"))
    assert "<html" in page
    assert "<html" not in fragment
    for source in (page, fragment):
        assert "<img src=x" not in source
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in source
        assert "Left out of the prompt: 12 earlier attempts;" in words(source)
        assert "4,000 tokens of the prompt were kept by the server" in words(source)
        assert "<details open" not in source


def test_a_call_of_another_problem_is_not_there(as_alice: Client, alice: User, asked: Trajectory) -> None:
    other = gallery.trajectory(gallery.run(alice, proposer="openai:small"), asked.problem)
    good = LlmCall.objects.get(error="")
    assert as_alice.get(f"/runs/{other.run_id}/{asked.problem.slug}/transcript/{good.pk}/").status_code == 404


def test_the_export_holds_everything_and_no_key(as_alice: Client, asked: Trajectory, model: None) -> None:
    address = f"/runs/{asked.run_id}/{asked.problem.slug}/transcript.json"
    response = as_alice.get(address)
    assert "attachment" in response.headers["Content-Disposition"]
    form = json.loads(response.content)
    assert [one["error"] for one in form["calls"]] == ["model-busy", "", "answer-refused"]
    assert [one["attempts"] for one in form["calls"]] == [[], [2], []]
    assert form["calls"][1]["answer"] == HOSTILE
    assert form["calls"][0]["cost"] is None
    assert KEY not in html(response)
    own = json.loads(as_alice.get(f"{address}?attempt=2").content)
    assert [one["ask"] for one in own["calls"]] == [1, 1]


def test_the_run_s_page_says_what_was_spent_of_what(as_alice: Client, asked: Trajectory) -> None:
    Run.objects.filter(pk=asked.run_id).update(token_limit=100_000, cost_limit=2.0)
    text = text_of(as_alice.get(f"/runs/{asked.run_id}/"))
    assert "21,805 tokens of 100,000, 0.00460 USD of 2.00 USD" in text


def test_an_outsider_is_sent_to_sign_in(outsider: Client, asked: Trajectory) -> None:
    for more in ("transcript/", "transcript.json"):
        response = outsider.get(f"/runs/{asked.run_id}/{asked.problem.slug}/{more}")
        assert response.status_code == 302
