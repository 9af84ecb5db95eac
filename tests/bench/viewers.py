"""Viewers of one live run on one web process, with locust; and how soon the run's page is painted.

    pip install --target DIR locust
    python -m tests.bench.viewers --locust DIR [--viewers 50] [--seconds 60] [--state DIR]

locust is no part of the product's environment: it is looked for in DIR. A database as ``tests.bench.load`` makes it
(``--state`` takes one that is there), the web server as ``serve`` starts it, and somebody who ends an attempt of the
run every second. Printed are the percentiles of the polls that locust counted, and the first contentful paint of the
run's page in Chromium: opened for the first time by a browser, and again with its files in the cache.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.bench import load
from tests.bench.gap_page import _serving

_ROOT = Path(__file__).resolve().parent.parent.parent
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def sessions(count: int) -> list[str]:
    """Keys of sessions, each of a person of their own."""
    from django.contrib.auth.models import User
    from django.test import Client

    found = []
    for number in range(count):
        person, _ = User.objects.get_or_create(username=f"viewer{number}")
        client = Client()
        client.force_login(person)
        found.append(client.cookies["sessionid"].value)
    return found


@contextmanager
def working(run: Any) -> Iterator[None]:
    """Somebody who ends an attempt of the run every second, on one problem after another."""
    over = threading.Event()
    thread = threading.Thread(target=_work, args=(run, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)


def _work(run: Any, over: threading.Event) -> None:
    from django.db import connection
    from django.utils import timezone

    from kernels.harness.evaluation import Outcome
    from kernels.models import Kernel
    from runs.models import Attempt, Trajectory

    kernel = Kernel.objects.of_source("mu", "program viewers()")
    keys = list(Trajectory.objects.filter(run=run).order_by("pk").values_list("pk", flat=True))
    turn = 0
    while not over.wait(1.0):
        on = Trajectory.objects.select_related("run", "problem").get(pk=keys[turn % len(keys)])
        last = on.attempts.order_by("-number").values_list("number", flat=True).first() or 0
        Attempt.objects.create(
            trajectory=on, number=last + 1, kernel=kernel, state="done", outcome=Outcome.PASSED,
            time_s=(on.sol_s or 1e-3) * 9, eager_s=on.eager_s, finished=timezone.now(),
        )  # fmt: skip
        Trajectory.objects.filter(pk=on.pk).update(attempts_done=last + 1)
        turn += 1
    connection.close()


def polls(base: str, page: str, keys: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """What locust counted, by kind of request, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ, "VIEWERS_SESSIONS": ",".join(keys), "VIEWERS_PAGE": page,
            "PYTHONPATH": f"{options.locust}:{_ROOT}",
        }  # fmt: skip
        command = [
            sys.executable, "-m", "locust", "-f", str(Path(__file__).with_name("viewers_locust.py")), "--headless",
            "-u", str(options.viewers), "-r", "4", "-t", f"{options.seconds}s", "-H", base, "--csv", f"{folder}/all",
            "--only-summary", "--reset-stats", "--loglevel", "WARNING",
        ]  # fmt: skip
        subprocess.run(
            command, env=environment, check=False, stdout=subprocess.DEVNULL, timeout=options.seconds + 120
        )
        with Path(folder, "all_stats.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with Path(folder, "all_failures.csv").open(encoding="utf-8") as file:
            failures = [f"{row['Occurrences']} × {row['Name']}: {row['Error']}" for row in csv.DictReader(file)]
    for said in failures:
        print(said, file=sys.stderr)
    return {
        row["Name"]: {
            "requests": int(row["Request Count"]), "failures": int(row["Failure Count"]),
            "a_second": round(float(row["Requests/s"]), 1), "p50_ms": float(row["50%"]), "p95_ms": float(row["95%"]),
            "p99_ms": float(row["99%"]),
        }
        for row in rows
    }  # fmt: skip


@contextmanager
def busy() -> Iterator[list[float]]:
    """The processor's seconds that the web server takes meanwhile, in a list of one."""
    workers = [one for one in psutil.Process().children(recursive=True) if "gunicorn" in " ".join(one.cmdline())]

    def spent() -> float:
        return sum(sum(one.cpu_times()[:2]) for one in workers)

    began, found = spent(), [0.0]
    yield found
    found[0] = spent() - began


def paints(base: str, page: str, cookie: str, times: int) -> dict[str, Any]:
    """First contentful paint of the page in ms: by a fresh browser each time, and with its files in the cache."""
    from tests.browsing import browser

    found: dict[str, list[float]] = {"first": [], "again": []}
    with browser() as chromium:
        for _ in range(times):
            context = chromium.new_context(viewport={"width": 1280, "height": 900})
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": base}])
            for kind in found:
                tab = context.new_page()
                tab.goto(base + page)
                tab.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
                found[kind].append(tab.evaluate(_PAINTED))
                tab.close()
            context.close()
    return {
        kind: {"median_ms": round(statistics.median(taken)), "slowest_ms": round(max(taken))}
        for kind, taken in found.items()
    }


def main() -> None:
    """Build, serve, poll, paint, report."""
    parser = argparse.ArgumentParser(description="Viewers of one live run.")
    parser.add_argument("--locust", type=Path, required=True)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--flags", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--database", default="")
    parser.add_argument("--state", type=Path)
    options = parser.parse_args()
    with load.database(options):
        found = _measured(options)
    print(json.dumps(found, indent=1))
    target = _ROOT / "build" / "viewers.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    from django.db import connection

    from mucutlass_web.serving import assets
    from tests.bench.load_pages import sample

    load.filled(options)
    assets.collect()
    live = sample().live
    page, keys = f"/runs/{live.pk}/", sessions(options.viewers)
    with _serving(_ROOT) as base:
        painted = paints(base, page, keys[0], 5)
        with working(live), busy() as server:
            counted = polls(base, page, keys, options)
    return {
        "machine": load.machine(connection.vendor),
        "viewers": options.viewers,
        "run": {"problems": live.trajectories.count(), "attempts_a_problem": live.attempts},
        "locust": counted,
        "server_cpu_share": round(server[0] / options.seconds, 2),
        "first_contentful_paint": painted,
    }


if __name__ == "__main__":
    main()
