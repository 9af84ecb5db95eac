"""Search in what kernels say: a text of three letters or more, anywhere, whatever its case (beyond ASCII as far as the
database knows letters).

An index of letters by threes answers: FTS5 in SQLite, whose triggers keep it true, pg_trgm in PostgreSQL. Where a
database offers neither, the newest ``UNINDEXED`` kernels are looked through. A search stops at ``MOST`` kernels, newest
first, so that a word that stands in every kernel costs no more than a rare one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.db import DatabaseError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from kernels.models import Kernel

logger = logging.getLogger(__name__)

LEAST = 3
"""Letters below which nothing is searched: the index knows them by threes."""
MOST = 1000
"""Kernels that one search tells of."""
UNINDEXED = 2000
"""Kernels that are looked through where there is no index."""

TABLE = "kernels_kernel_letters"
_SQLITE = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5"
    "(source, content='kernels_kernel', content_rowid='id', tokenize='trigram')",
    f"CREATE TRIGGER {TABLE}_in AFTER INSERT ON kernels_kernel BEGIN "
    f"INSERT INTO {TABLE}(rowid, source) VALUES (new.id, new.source); END",
    f"CREATE TRIGGER {TABLE}_out AFTER DELETE ON kernels_kernel BEGIN "
    f"INSERT INTO {TABLE}({TABLE}, rowid, source) VALUES ('delete', old.id, old.source); END",
    f"CREATE TRIGGER {TABLE}_set AFTER UPDATE OF source ON kernels_kernel BEGIN "
    f"INSERT INTO {TABLE}({TABLE}, rowid, source) VALUES ('delete', old.id, old.source); "
    f"INSERT INTO {TABLE}(rowid, source) VALUES (new.id, new.source); END",
    f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')",
)
_POSTGRES = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    f"CREATE INDEX {TABLE} ON kernels_kernel USING gin (upper(source) gin_trgm_ops)",
)
_DROP_SQLITE = (
    *(f"DROP TRIGGER IF EXISTS {TABLE}_{name}" for name in ("in", "out", "set")),
    f"DROP TABLE IF EXISTS {TABLE}",
)
_DROP_POSTGRES = (f"DROP INDEX IF EXISTS {TABLE}",)


@dataclass(frozen=True, slots=True)
class Matches:
    """Kernels that have a text, newest first. ``more``: there may be older ones that were not looked at."""

    keys: tuple[int, ...]
    more: bool


def make_index(to: BaseDatabaseWrapper) -> None:
    """Make the index. A database that cannot have one is told of in the log and goes without."""
    statements = {"sqlite": _SQLITE, "postgresql": _POSTGRES}.get(to.vendor, ())
    try:
        with transaction.atomic(using=to.alias), to.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except DatabaseError as error:
        logger.warning("sources are searched without an index, the newest %d alone: %s", UNINDEXED, error)


def drop_index(to: BaseDatabaseWrapper) -> None:
    """Take the index away."""
    with to.cursor() as cursor:
        for statement in {"sqlite": _DROP_SQLITE, "postgresql": _DROP_POSTGRES}.get(to.vendor, ()):
            cursor.execute(statement)


def matching(text: str, most: int = MOST) -> Matches:
    """The newest kernels whose source has ``text``. Two queries at most."""
    wanted = text.strip()
    if len(wanted) < LEAST:
        return Matches((), False)
    if not _indexed():
        return _looked_through(wanted, most)
    if connection.vendor == "sqlite":
        phrase = '"' + wanted.replace('"', '""') + '"'
        statement = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s ORDER BY rowid DESC LIMIT %s"
        with connection.cursor() as cursor:
            cursor.execute(statement, [phrase, most + 1])
            keys = [key for (key,) in cursor.fetchall()]
    else:
        found = Kernel.objects.filter(source__icontains=wanted).order_by("-pk")
        keys = list(found.values_list("pk", flat=True)[: most + 1])
    return Matches(tuple(keys[:most]), len(keys) > most)


def _indexed() -> bool:
    if connection.vendor == "sqlite":
        asked = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s"
    elif connection.vendor == "postgresql":
        asked = "SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND indexname = %s"
    else:
        return False
    with connection.cursor() as cursor:
        cursor.execute(asked, [TABLE])
        return cursor.fetchone() is not None


def _looked_through(wanted: str, most: int) -> Matches:
    newest = list(Kernel.objects.order_by("-pk").values_list("pk", flat=True)[:UNINDEXED])
    if not newest:
        return Matches((), False)
    found = Kernel.objects.filter(pk__gte=newest[-1], source__icontains=wanted).order_by("-pk")
    keys = list(found.values_list("pk", flat=True)[:most])
    return Matches(tuple(keys), len(newest) == UNINDEXED or len(keys) == most)
