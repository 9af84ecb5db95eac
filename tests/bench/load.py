"""Server time, queries and size of every list and detail page of a team's database.

    python -m tests.bench.load [--attempts 100000] [--flags 5000] [--runs 200] [--database URL] [--state DIR]
                               [--times 20] [--only WORD] [--profile]

Without ``--database`` an SQLite file in the state's folder. With ``--state`` the database is kept and taken again by
the next call. Times are of Django's test client in this process, from the request to the last byte, after one request
that warms up; they hold middleware, queries and templates, no network. Garbage is collected as the web server does it.
p95 is the slowest but one of 20.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

    from tests.bench.load_pages import Page

MOST_MS, MOST_BYTES = 150.0, 400_000


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of all do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def asked(client: Client, address: str) -> tuple[int, int]:
    """One request: its status and the bytes of its answer."""
    response = client.get(address)
    if response.streaming:
        parts: Any = response.streaming_content  # type: ignore[attr-defined]
        return response.status_code, sum(len(part) for part in parts)
    return response.status_code, len(response.content)


def measure(client: Client, page: Page, times: int) -> dict[str, Any]:
    """One page, ``times`` requests after a warm one."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    asked(client, page.address)
    with CaptureQueriesContext(connection) as queries:
        status, size = asked(client, page.address)
    # The next request empties the log.
    count = len(queries)
    slow = max(queries.captured_queries, key=lambda one: float(one["time"]), default=None)
    taken, spent = [], []
    for _ in range(times):
        began, cpu = time.perf_counter(), time.process_time()
        asked(client, page.address)
        taken.append((time.perf_counter() - began) * 1e3)
        spent.append((time.process_time() - cpu) * 1e3)
    return {
        "page": page.words, "address": page.address, "status": status, "bytes": size, "queries": count,
        "p50_ms": round(statistics.median(taken), 1), "p95_ms": round(percentile(taken, 0.95), 1),
        "cpu_ms": round(statistics.median(spent), 1), "slowest_query": slow,
    }  # fmt: skip


def report(found: Sequence[dict[str, Any]]) -> None:
    """A table; what passes a limit is marked."""
    print("| page | p50 ms | p95 ms | CPU ms | queries | KB |")
    print("|---|---|---|---|---|---|")
    for one in found:
        late = " **" if one["p95_ms"] > MOST_MS else ""
        large = " **" if one["bytes"] > MOST_BYTES else ""
        status = "" if one["status"] in (200, 204, 286, 302) else f" ({one['status']})"
        print(
            f"| {one['page']}{status} | {one['p50_ms']:.0f} | {one['p95_ms']:.0f}{late} | {one['cpu_ms']:.0f} "
            f"| {one['queries']} | {one['bytes'] / 1000:.0f}{large} |"
        )


def machine(engine: str) -> dict[str, Any]:
    """Where and when this was measured."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return {
        "cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "database": engine,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "load": [round(one, 2) for one in os.getloadavg()],
    }  # fmt: skip


@contextmanager
def database(options: argparse.Namespace) -> Iterator[Path]:
    """Django set up on the wished database."""
    with tempfile.TemporaryDirectory() as folder:
        state = options.state or Path(folder)
        os.environ["MUCUTLASS_STATE"] = str(state)
        if options.database:
            os.environ["DATABASE_URL"] = options.database
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")
        os.environ.setdefault("MUCUTLASS_LOG_LEVEL", "ERROR")
        import django

        django.setup()
        yield state


def filled(options: argparse.Namespace) -> None:
    """Make the rows where the database has none."""
    from django.core.management import call_command
    from django.db import connection

    from runs.models import Attempt
    from tests.bench.load_rows import Load, build

    call_command("migrate", verbosity=0)
    if not Attempt.objects.exists():
        began = time.perf_counter()
        build(Load(options.attempts, options.flags, options.runs, options.problems))
        with connection.cursor() as cursor:
            # PostgreSQL does this by itself within minutes of a change; SQLite with ``PRAGMA optimize``.
            cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "VACUUM ANALYZE")
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        print(f"built in {time.perf_counter() - began:.0f} s", file=sys.stderr)


def main() -> None:
    """Build, measure, report."""
    parser = argparse.ArgumentParser(description="Pages under a team's load.")
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--flags", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--database", default="")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="", help="pages whose name has this alone")
    parser.add_argument("--profile", action="store_true", help="the slowest query of each page")
    options = parser.parse_args()
    with database(options) as state:
        found = _measured(options, state)
    report(found["pages"])
    for one in found["pages"] if options.profile else ():
        print(one["page"], json.dumps(one["slowest_query"])[:1500], file=sys.stderr)
    for one in found["pages"]:
        del one["slowest_query"]
    target = Path(__file__).resolve().parent.parent.parent / "build" / f"load-{found['machine']['database']}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _measured(options: argparse.Namespace, state: Path) -> dict[str, Any]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    from mucutlass_web.serving import assets, memory
    from runs.models import Attempt, Run
    from sol.models import Flag
    from tests.bench.load_pages import pages, sample

    filled(options)
    assets.collect()
    memory.settle()
    settings.ALLOWED_HOSTS = ["*"]
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username="bench"))
    chosen = [page for page in pages(sample()) if options.only in page.words]
    return {
        "machine": machine(connection.vendor),
        "rows": {"attempts": Attempt.objects.count(), "flags": Flag.objects.count(), "runs": Run.objects.count()},
        "pages": [measure(client, page, options.times) for page in chosen],
        "state": str(state) if options.state else "",
    }


if __name__ == "__main__":
    main()
