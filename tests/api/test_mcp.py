"""The MCP server: its tools against the real API over HTTP, driven by the official client; once over stdio."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
import pytest
from django.contrib.auth.models import User
from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from pytest_django.live_server_helper import LiveServer

from mucutlass_web.cli import mcp_server
from mucutlass_web.cli.api_client import ApiClient
from mucutlass_web.cli.errors import ApiRefused, ApiUnreachable, ApiUrlWrong, TokenNotSet
from mucutlass_web.cli.main import build_parser
from runs import tokens
from runs.api_models import Scope
from tests.api.worlds import external_run, text, trajectory_of
from tests.runs.worlds import Script, drain


@pytest.fixture
def secret(transactional_db: None) -> str:
    return tokens.make(User.objects.create_user("alice"), "agent", Scope.SUBMIT, 1)[1]


def told(result: Any) -> Any:
    """A tool's answer as JSON."""
    assert not result.is_error, result.content
    assert isinstance(result.content[0], TextContent)
    return json.loads(result.content[0].text)


def test_an_agent_submits_and_reads_through_the_tools(live_server: LiveServer, secret: str, script: Script) -> None:
    run = external_run(User.objects.get())
    drain()
    key = trajectory_of(run).pk
    server = mcp_server.make_server(ApiClient(live_server.url, secret))

    async def drive() -> None:
        async with Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {
                "list_problems", "read_problem", "sol_report", "language_reference", "start_run", "submit_candidate",
                "wait_result", "read_history", "feedback",
            } <= names  # fmt: skip
            problems = told(await client.call_tool("list_problems", {"query": "own"}))
            assert [item["slug"] for item in problems["items"]] == ["own/1"]
            form = {"trajectory": key, "text": text(1), "parent": 1, "predicted_speedup": 1.2}
            posted = told(await client.call_tool("submit_candidate", form))
            await anyio.to_thread.run_sync(drain)
            result = told(await client.call_tool("wait_result", {"candidate": posted["id"], "seconds": 5}))
            assert (result["state"], result["attempt"]["outcome"]) == ("ended", "passed")
            again = await client.call_tool("submit_candidate", form)
            assert again.is_error
            assert "already-tried" in str(again.content[0])
            history = told(await client.call_tool("read_history", {"trajectory": key}))
            assert [item["number"] for item in history["items"]] == [1, 2]
            assert told(await client.call_tool("feedback", {"trajectory": key, "attempt": 2}))["text"] == text(1)

    anyio.run(drive)


def test_over_standard_input_and_output_without_django(live_server: LiveServer, secret: str) -> None:
    code = (
        "import sys; from mucutlass_web.cli.main import main; status = main(sys.argv[1:]); "
        "assert not {'django', 'torch'} & set(sys.modules); sys.exit(status)"
    )
    environment = {**os.environ, mcp_server.TOKEN: secret}
    started = StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", "--url", live_server.url], env=environment
    )

    async def drive() -> str:
        async with Client(started) as client:
            result = await client.call_tool("language_reference", {"target": "host"})
            assert isinstance(result.content[0], TextContent)
            return result.content[0].text

    assert anyio.run(drive).startswith("# μCUTLASS")


def test_without_a_token_it_says_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mcp_server.TOKEN, raising=False)
    with pytest.raises(TokenNotSet, match="MUCUTLASS_TOKEN is not set"):
        mcp_server.mcp_command(build_parser().parse_args(["mcp"]))


def test_the_client_says_what_is_wrong(
    live_server: LiveServer, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mucutlass_web.cli.api_client.time.sleep", lambda seconds: None)
    with pytest.raises(ApiUrlWrong):
        ApiClient("file:///etc/passwd", secret)
    with pytest.raises(ApiUnreachable, match="does not answer"):
        ApiClient("http://127.0.0.1:9", secret).get("/me")
    with pytest.raises(ApiRefused, match="token-unknown"):
        ApiClient(live_server.url, "mu_wrong").get("/me")
    with pytest.raises(ApiRefused, match="nothing-here"):
        ApiClient(live_server.url, secret).get("/problems/own/99")
    with pytest.raises(ApiRefused, match=r"status 302.*none of the API's"):
        ApiClient(live_server.url + "/runs/?", secret).get("/me")
