"""The proposer that asks a model, by the real SDK over real HTTP: each failure by name, retries, forms, tools, keys."""

from __future__ import annotations

import json
import logging
import pickle
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agent.llm.errors import ModelKeyMissing
from agent.llm.keys import HIDDEN, Key
from agent.llm.spec import GrammarField, Prices, Structured
from agent.proposers.openai import OpenAI
from agent.steps import Answered, Ask, Asked, Candidate, History, Submitted
from agent.tools import Tool
from kernels.languages import Language
from tests.agent.books import Books, spec
from tests.agent.driving import passed, settings, started
from tests.agent.model_server import (
    FAULTS,
    Body,
    ModelServer,
    Reply,
    answer,
    closed_port,
    completion,
    one_after_another,
    refusing,
    serving,
    within,
)
from tests.agent.synthetic import SEED

KEY = Key("sk-test-0123456789abcdef0123456789")
CHOSEN = settings(controller="mi", proposer="openai:scripted")
HOPELESS = {
    "answer-refused",
    "model-context-exceeded",
    "model-credit-spent",
    "model-key-refused",
    "model-not-served",
}
ASK = Ask(1, "expand", 1, 1, phase="attempt")
BETTER = SEED.replace("gemm(x, weight.T)", "gemm(x, weight.T).tile(64, 64, 64)")


def history(seed: str = SEED) -> History:
    """A first attempt that passed, and one ask."""
    return (started(seed_program=seed), Submitted(1, Candidate(seed, None, "", "")), passed(1, 2e-3), Asked(ASK))


def ask(server: ModelServer, books: Books, *, tools: tuple[Tool, ...] = (), **changes: object) -> Answered:
    """One ask put to the server, without waiting between tries."""
    model = OpenAI(spec(server.base_url, **changes), KEY, books, tools, sleep=lambda _: None)
    return model.answer(CHOSEN, history(), ASK)


def test_an_answer_becomes_candidates_with_what_was_said_of_them() -> None:
    books = Books()
    with serving(answer(BETTER)) as server:
        answered = ask(server, books, prices=Prices(2.0, 8.0, 1.0))
    (candidate,) = answered.candidates
    assert (candidate.text, candidate.parent, candidate.predicted) == (BETTER, 1, 1.25)
    (call,) = books.calls
    assert (call.prompt_tokens, call.cached_tokens, call.completion_tokens) == (1000, 500, 100)
    assert call.cost == pytest.approx((500 * 2 + 500 * 1 + 100 * 8) / 1e6)
    assert server.keys == [f"Bearer {KEY.reveal()}"]


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_has_a_name_and_is_never_an_exception(name: str) -> None:
    books = Books()
    with serving(FAULTS[name]) as server:
        answered = ask(server, books)
    assert not answered.candidates
    assert answered.error is not None
    assert answered.error.startswith(f"{name}: ")
    assert set(books.errors) == {name}
    assert all(call.words for call in books.calls)


@pytest.mark.parametrize("name", sorted(set(FAULTS) - HOPELESS))
def test_what_may_pass_or_can_be_said_better_is_tried_again(name: str) -> None:
    books = Books()
    with serving(FAULTS[name], answer(BETTER)) as server:
        answered = ask(server, books)
    assert [candidate.text for candidate in answered.candidates] == [BETTER]
    assert books.errors == [name, ""]


def test_nobody_listens() -> None:
    books = Books()
    model = OpenAI(spec(f"http://127.0.0.1:{closed_port()}/v1"), KEY, books, sleep=lambda _: None)
    answered = model.answer(CHOSEN, history(), ASK)
    assert books.errors == ["model-unreachable"] * 3
    assert "Connection refused" in (answered.error or "")
    assert not any(call.paid for call in books.calls)


def test_a_server_that_hangs_is_left_in_time() -> None:
    books = Books()
    with serving(Reply(b"{}", hang_s=30)) as server:
        began = time.monotonic()
        answered = ask(server, books, timeout_s=0.3, retries=0)
    assert time.monotonic() - began < 10
    assert (answered.error or "").startswith("model-hung: ")
    assert books.calls[0].paid, "it may have been writing"


def test_a_cancelled_run_does_not_wait_for_its_answer() -> None:
    books = Books()
    with serving(Reply(b"{}", hang_s=30)) as server:
        model = OpenAI(spec(server.base_url, timeout_s=60.0), KEY, books)
        books.stop = lambda: bool(server.seen)  # type: ignore[method-assign]
        began = time.monotonic()
        answered = model.answer(CHOSEN, history(), ASK)
    assert time.monotonic() - began < 10
    assert (answered.error or "").startswith("call-stopped: ")


def test_waiting_grows_follows_from_the_seed_and_heeds_the_server() -> None:
    def waits(*replies: Reply) -> list[float]:
        slept: list[float] = []
        with serving(*replies, answer(BETTER)) as server:
            model = OpenAI(spec(server.base_url, retries=8), KEY, Books(), sleep=slept.append)
            assert model.answer(CHOSEN, history(), ASK).candidates
        return slept

    fault = FAULTS["model-server-failed"]
    one, four = sum(waits(fault)), sum(waits(fault, fault, fault, fault))
    assert 0.4 < one <= 1.4
    assert 7 < four <= 16
    assert waits(fault, fault) == waits(fault, fault)
    assert sum(waits(refusing(429, "slow down", Retry_After="7"))) >= 6.99
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    assert 6 < sum(waits(refusing(503, "later", Retry_After=soon))) < 10


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    books = Books()
    with serving(refusing(429, "come back tomorrow", Retry_After="3600")) as server:
        answered = ask(server, books)
    assert books.errors == ["model-busy"]
    assert not answered.candidates


def test_an_error_of_form_is_told_to_the_model() -> None:
    with serving(FAULTS["wrong-schema"], answer(BETTER)) as server:
        ask(server, Books())
    again = server.seen[1]["messages"][1]["content"]
    assert "An earlier answer to this could not be used: answer.candidates is missing" in again


def test_a_limit_is_kept_before_the_call() -> None:
    books = Books(tokens=400)
    with serving(answer(BETTER)) as server:
        answered = ask(server, books)
    assert not server.seen
    assert (answered.error or "").startswith("budget spent: ")


def test_the_worst_case_is_never_below_what_a_tokenizer_can_make_of_it() -> None:
    books = Books()
    with serving(answer(BETTER)) as server:
        ask(server, books)
    (request,) = books.requests
    sent = sum(len(message["content"].encode()) for message in server.seen[0]["messages"])
    assert request.most_prompt >= sent
    assert request.most_tokens == request.most_prompt + 500


def test_an_answer_that_was_stored_is_not_asked_for_again() -> None:
    books = Books()
    with serving(answer(BETTER)) as server:
        first = ask(server, books)
        second = ask(server, books)
    assert first == second
    assert len(server.seen) == 1


# --- forms of answers ----------------------------------------------------------------------------


def test_a_schema_is_asked_for_where_the_server_takes_one() -> None:
    with serving(answer(BETTER)) as server:
        ask(server, Books(), structured=Structured.SCHEMA)
    schema = server.seen[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["candidates"]


def test_a_function_takes_the_answer_otherwise() -> None:
    form = json.dumps({"candidates": [{"text": BETTER, "change": "c", "hypothesis": "h"}]})
    with serving(completion(None, finish="tool_calls", calls=[("answer", form)])) as server:
        answered = ask(server, Books(), structured=Structured.TOOLS)
    assert server.seen[0]["tool_choice"]["function"]["name"] == "answer"
    assert answered.candidates[0].text == BETTER


@pytest.mark.parametrize("around", ["{}", "Here it is:\n```json\n{}\n```\nGood luck!", "<think>{{x}}</think>\n{}",
                                    "I would set {{tile}} so: {} and then measure."])  # fmt: skip
def test_json_is_found_in_a_text(around: str) -> None:
    form = json.dumps({"candidates": [{"text": BETTER, "change": "c", "hypothesis": "h"}]})
    with serving(completion(around.format(form))) as server:
        answered = ask(server, Books(), structured=Structured.TEXT)
    assert "response_format" not in server.seen[0]
    assert "JSON schema" in server.seen[0]["messages"][1]["content"]
    assert answered.candidates[0].text == BETTER


def test_a_server_that_does_not_know_a_form_is_asked_in_a_plainer_one() -> None:
    def script(body: Body) -> Reply:
        plain = not {"response_format", "tools"} & set(body)
        return answer(BETTER) if plain else refusing(400, "unknown field")

    books = Books()
    with ModelServer(script) as server:
        answered = ask(server, books)
    assert books.errors == ["model-request-refused", "model-request-refused", ""]
    assert answered.candidates


@pytest.mark.parametrize("field", [GrammarField.GRAMMAR, GrammarField.GUIDED_GRAMMAR])
def test_our_grammar_is_offered_where_the_server_takes_one(field: GrammarField) -> None:
    with serving(answer(BETTER)) as server:
        ask(server, Books(), grammar=field)
    body = server.seen[0]
    assert body[field.value].startswith("root ::= ")
    assert "response_format" not in body
    with serving(answer(BETTER)) as server:
        model = OpenAI(spec(server.base_url, grammar=field), KEY, Books())
        python = settings(controller="mi", representation=Language.PY)
        model.answer(python, history(), ASK)
    assert field.value not in server.seen[0], "it describes our language alone"


def test_tools_are_called_and_their_texts_handed_back() -> None:
    looked: list[object] = []

    def look(given: object) -> str:
        looked.append(given)
        return "line 7: SM90_64x256x16"

    tool = Tool("cutlass_search", "Search.", {"type": "object", "properties": {}}, look)
    call = completion(None, finish="tool_calls", calls=[("cutlass_search", '{"text": "SM90"}')])
    books = Books()
    with serving(call, answer(BETTER)) as server:
        answered = ask(server, books, tools=(tool,))
    assert looked == [{"text": "SM90"}]
    assert server.seen[1]["messages"][-1] == {
        "role": "tool", "tool_call_id": "call_0", "content": "line 7: SM90_64x256x16"
    }  # fmt: skip
    assert answered.candidates
    assert books.errors == ["", ""]
    assert "cutlass_search" in books.calls[0].answer


def test_tools_without_end_come_to_one() -> None:
    tool = Tool("look", "Look.", {"type": "object", "properties": {}}, lambda given: "nothing")
    call = completion(None, finish="tool_calls", calls=[("look", "{}")])
    with serving(call) as server:
        answered = ask(server, Books(), tools=(tool,))
    assert (answered.error or "").startswith("tools-without-end: ")
    assert len(server.seen) == 12


def test_a_tool_that_was_not_offered_reaches_nothing() -> None:
    call = completion(None, finish="tool_calls", calls=[("shell", '{"command": "id"}')])
    with serving(call, answer(BETTER)) as server:
        ask(server, Books())
    assert "there is no tool 'shell'" in server.seen[1]["messages"][-1]["content"]


# --- hostile answers and keys --------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{" * 500_000, "[" * 500_000, '{"a":' * 100_000, "\ud800 half a pair {}",
                                  json.dumps({"candidates": {"0": "program"}}), "x" * 900_000])  # fmt: skip
def test_a_hostile_text_is_an_error_and_soon(text: str) -> None:
    began = time.monotonic()
    with serving(completion(text)) as server:
        answered = ask(server, Books())
    assert answered.error
    assert time.monotonic() - began < 20


def test_what_no_column_holds_is_not_kept() -> None:
    form = '{"candidates": [{"text": "p\\u0041", "change": "a\\u0000b", "hypothesis": "\\ud800 half", "x": 1}]}'
    books = Books()
    with serving(completion(form)) as server:
        answered = ask(server, books)
    (candidate,) = answered.candidates
    assert candidate.text == "pA"
    stored = json.dumps(books.calls[0].data, ensure_ascii=False)
    assert "\0" not in stored
    stored.encode("utf-8")


def test_of_a_programs_many_kinds_of_data_none_reaches_a_shell_or_a_file(tmp_path: object) -> None:
    shell = f"$(touch {tmp_path}/owned); `touch {tmp_path}/owned`"
    with serving(answer(shell)) as server:
        answered = ask(server, Books())
    assert answered.candidates[0].text == shell, "whether it is a program is the checker's to say"


def test_the_key_is_nowhere_but_in_the_header(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = KEY.reveal()
    echo = refusing(500, f"no such key {secret}, did you mean {secret[:20]}?")
    books = Books()
    with serving(echo, refusing(401, f"Incorrect API key provided: {secret}")) as server:
        answered = ask(server, books)
    assert server.keys[0] == f"Bearer {secret}"
    told = f"{answered} {books.calls} {books.requests} {KEY!r} {KEY} {server.seen}"
    assert HIDDEN in told
    assert secret[:16] not in told
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("agent", "runs"))]
    assert not any(secret in message for message in ours)


def test_a_key_is_not_pickled_and_a_bad_one_is_not_quoted() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(KEY)
    with pytest.raises(ModelKeyMissing) as caught:
        Key("sk-\u00e9-secret-secret", "m")
    assert "secret" not in str(caught.value)


def test_a_slow_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    books, done = Books(), list[Answered]()
    with ModelServer(one_after_another(Reply(answer(BETTER).body, hang_s=0.5))) as server:
        done.append(ask(server, books))
    assert within(1, lambda: bool(done[0].candidates))
    assert books.calls[0].seconds >= 0.5
