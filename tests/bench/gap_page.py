"""How fast a run's gap page answers and draws: 250 problems with 40 attempts each, as in the product.

    python -m tests.bench.gap_page [--problems 250] [--attempts 40] [--times 7]

A database of its own in a temporary folder, filled by bulk_create; the web server as ``serve`` starts it; Chromium for
the drawing. Printed are medians and the slowest of some requests: this machine's and this minute's.

- server: from the request to the last byte of the page, and of each chart's JSON asked for alone and all together.
- draw: from the moment that figures and plotly.js are both there to the last chart drawn; and from the address being
  opened, with the page, its figures and the browser's reading of plotly.js (from its cache) in it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_MARKS = """() => {
  const at = (name) => performance.getEntriesByName(name)[0].startTime;
  return {
    answered: at("charts-answered"), ready: at("charts-ready"), drawn: at("charts-drawn"),
    points: document.querySelectorAll(".point").length,
  };
}"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _serving(root: Path) -> Iterator[str]:
    """The web server of ``serve`` on this state, without workers."""
    base = f"127.0.0.1:{_free_port()}"
    command = [
        sys.executable, "-m", "gunicorn", "mucutlass_web.wsgi:application", "--chdir", str(root), "--bind", base,
        "--workers", "1", "--threads", "8", "--keep-alive", "15", "--no-control-socket", "--log-level", "warning",
    ]  # fmt: skip
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(tuple(base.split(":")), 1):  # type: ignore[arg-type]
                    break
            except OSError:
                time.sleep(0.2)
        yield f"http://{base}"
    finally:
        process.terminate()
        process.wait(10)


def _summary(milliseconds: Sequence[float]) -> dict[str, float]:
    return {"median_ms": round(statistics.median(milliseconds), 1), "slowest_ms": round(max(milliseconds), 1)}


def server_times(base: str, cookie: str, addresses: dict[str, str], times: int) -> dict[str, Any]:
    """Each address, ``times`` requests one after another once it is warm."""
    found: dict[str, Any] = {}
    for name, address in addresses.items():
        taken, size = [], 0
        for index in range(times + 1):
            request = urllib.request.Request(base + address, headers={"Cookie": f"sessionid={cookie}"})
            began = time.perf_counter()
            with urllib.request.urlopen(request, timeout=60) as answer:
                size = len(answer.read())
            if index:
                taken.append((time.perf_counter() - began) * 1e3)
        found[name] = {**_summary(taken), "bytes": size}
    return found


def cpu_times(client: Any, addresses: dict[str, str], times: int) -> dict[str, float]:
    """The processor's time of each answer in this process, in ms: the same whatever else the machine does."""
    found = {}
    for name, address in addresses.items():
        client.get(address)
        began = time.process_time()
        for _ in range(times):
            client.get(address)
        found[name] = round((time.process_time() - began) / times * 1e3, 1)
    return found


def draw_times(base: str, cookie: str, address: str, times: int) -> dict[str, Any]:
    """The page in Chromium, once for the browser's cache and then ``times`` times."""
    from tests.browsing import browser

    taken: list[dict[str, float]] = []
    with browser() as chromium:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": base}])
        for index in range(times + 1):
            page = context.new_page()
            page.goto(base + address)
            page.wait_for_selector("figure.frame[data-drawn]", state="attached", timeout=60_000)
            page.wait_for_selector("figure.frame:not([data-drawn])", state="detached", timeout=60_000)
            page.wait_for_timeout(300)
            if index:
                taken.append(page.evaluate(_MARKS))
            page.close()
    return {
        "drawing": _summary([one["drawn"] - one["ready"] for one in taken]),
        "opened_to_answered": _summary([one["answered"] for one in taken]),
        "opened_to_drawn": _summary([one["drawn"] for one in taken]),
        "points": taken[0]["points"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The gap page's speed on this machine.")
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--attempts", type=int, default=40)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MUCUTLASS_STATE"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")
        found = _measure(root, options)
    print(json.dumps(found, indent=1))
    target = root / "build" / "gap_page.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _measure(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client

    from mucutlass_web.serving import assets
    from runs.gap_charts import CHARTS
    from tests.bench.gap_rows import big_run
    from tests.web.rows import person

    call_command("migrate", verbosity=0)
    assets.collect()
    owner = person("bench")
    run = big_run(owner, options.problems, options.attempts)
    client = Client(SERVER_NAME="localhost")
    client.force_login(owner)
    cookie = client.cookies["sessionid"].value
    page = f"/runs/{run.pk}/gap/"
    addresses = {
        "page": page,
        "charts.json": f"{page}charts.json",
        **{f"{key}.json": f"{page}charts.json?chart={key}" for key in CHARTS},
    }
    with _serving(root) as base:
        return {
            "problems": options.problems,
            "attempts": options.problems * options.attempts,
            "server": server_times(base, cookie, addresses, options.times),
            "server_cpu_ms": cpu_times(client, addresses, options.times),
            "draw": draw_times(base, cookie, page, options.times),
            "load": os.getloadavg(),
        }


if __name__ == "__main__":
    main()
