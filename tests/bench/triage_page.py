"""How fast triage answers with thousands of open cases: p50 and p95 of the server's time, and queries.

    python -m tests.bench.triage_page [--cases 5000] [--runs 200] [--problems 25] [--attempts 20] [--times 40]

A database of its own: SQLite in a temporary folder, or the empty one that DATABASE_URL names (PostgreSQL). Times are
those of one request in this process, from the request to its last byte, this machine's and this minute's; the
processor's time beside them is the same whatever else the machine does (of the database only SQLite's is in it). Each
verdict is given to a case of its own. What goes over its limit is said and ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PAGE_MS = 200.0
"""Most of a page, at the 95th of a hundred."""

NEXT_MS = 300.0
"""Most from a verdict to the next case."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Triage's speed on this machine.")
    for name, count in (("cases", 5_000), ("runs", 200), ("problems", 25), ("attempts", 20), ("times", 40)):
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MUCUTLASS_STATE"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")
        found = _measure(options)
    print(json.dumps(found, indent=1))
    target = Path(__file__).resolve().parent.parent.parent / "build" / "triage_page.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    slow = [name for name, one in found["requests"].items() if one["p95_ms"] > one["limit_ms"]]
    sys.exit(f"over the limit: {', '.join(slow)}" if slow else 0)


def timed(requests: Iterable[Callable[[], Any]], limit_ms: float) -> dict[str, Any]:
    """Each request once, after one that warms up; their times and queries."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    taken: list[float] = []
    busy: list[float] = []
    queries: list[int] = []
    size = 0
    for index, request in enumerate(requests):
        with CaptureQueriesContext(connection) as seen:
            began, before = time.perf_counter(), time.process_time()
            answer = request()
            size = len(answer.content)
            passed, used = (time.perf_counter() - began) * 1e3, (time.process_time() - before) * 1e3
        if answer.status_code not in (200, 302):
            raise SystemExit(f"status {answer.status_code}")
        if index:
            taken.append(passed)
            busy.append(used)
            queries.append(len(seen))
    return {
        "p50_ms": round(statistics.median(taken), 1),
        "p95_ms": round(sorted(taken)[max(0, round(len(taken) * 0.95) - 1)], 1),
        "cpu_p50_ms": round(statistics.median(busy), 1),
        "queries": max(queries), "bytes": size, "limit_ms": limit_ms,
    }  # fmt: skip


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from mucutlass_web.serving import assets
    from runs.models import Person
    from sol.models import Case
    from tests.bench.triage_rows import world
    from tests.web.rows import person

    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    if Case.objects.exists():
        raise SystemExit("this database holds cases; an empty one would be right")
    assets.collect()
    user = person("bench")
    Person.objects.create(user=user, role="reviewer")
    world(user, options.cases, options.runs, options.problems, options.attempts)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {
        "database": connection.vendor,
        "cases": options.cases,
        "attempts": options.runs * options.problems * options.attempts,
        "requests": _requests(user, options.times),
        "load": os.getloadavg(),
    }


def _requests(user: Any, times: int) -> dict[str, Any]:
    from django.test import Client

    from runs.triage.filters import CaseFilters
    from runs.triage.inbox import Inbox
    from sol.models import Entry

    client = Client()
    client.force_login(user)
    swap = {"HX-Request": "true", "HX-Target": "case"}
    order = Inbox(CaseFilters(), user).order

    def get(address: str, **headers: str) -> Callable[[], Any]:
        return lambda: client.get(address, headers=headers)

    def settle(pk: int, **form: str) -> Callable[[], Any]:
        return lambda: client.post(f"/triage/{pk}/settle/", {"verdict": "reward_hack", **form}, headers=swap)

    def undo() -> Any:
        last = Entry.objects.filter(user=user, kind="verdict").order_by("-pk").values_list("batch", flat=True)
        return client.post("/triage/undo/", {"batch": last[0]}, headers=swap)

    shown = {"cases-alike": ",".join(str(pk) for pk in order)}
    run = f"/triage/?run={_run_of(order[0])}"
    found = {
        "inbox": timed([get("/triage/")] * (times + 1), PAGE_MS),
        "last page": timed([get("/triage/?page=9999")] * (times + 1), PAGE_MS),
        "inbox of a run": timed([get(run)] * (times + 1), PAGE_MS),
        "filters with counts": timed([get("/triage/filters/?severity=severe")] * (times + 1), PAGE_MS),
        "inbox with them": timed([get("/triage/?panel=1&severity=severe")] * (times + 1), PAGE_MS),
        "case": timed([get(f"/triage/{pk}/") for pk in order[: times + 1]], PAGE_MS),
        "next (j)": timed([get(f"/triage/{pk}/", **swap) for pk in order[: times + 1]], NEXT_MS),
        "settle to the next": timed([settle(pk) for pk in order[100 : 101 + times]], NEXT_MS),
        "undo": _undone(undo, settle, order[400:408]),
    }
    found["group to the next"] = timed([settle(pk, scope="alike", **shown) for pk in order[-3:]], 10 * NEXT_MS)
    return found


def _undone(undo: Callable[[], Any], settle: Callable[..., Callable[[], Any]], cases: list[int]) -> dict[str, Any]:
    for pk in cases:
        settle(pk)()
    return timed([undo] * len(cases), NEXT_MS)


def _run_of(case: int) -> int:
    from runs.models import Attempt
    from sol.models import Case

    return Attempt.objects.filter(kernel=Case.objects.get(pk=case).kernel_id)[0].trajectory.run_id


if __name__ == "__main__":
    main()
