"""Rows by the hundred, every column as given: Django's own bulk insert would set times of day anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, models
from django.utils import timezone

_TOGETHER = 500


def insert(model: type[models.Model], rows: Sequence[Any]) -> None:
    """Insert rows and set their primary keys, in order."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    most = max(1, min(_TOGETHER, connection.ops.bulk_batch_size(fields, list(rows))))
    everyone: Any = model._base_manager.get_queryset()
    returning = model._meta.db_returning_fields
    _date(fields, rows)
    for start in range(0, len(rows), most):
        batch = list(rows[start : start + most])
        # ``raw``: a column that Django would set to the time of insertion keeps what is given.
        returned = everyone._insert(
            batch, fields=fields, returning_fields=returning, raw=True, using=connection.alias
        )
        for row, columns in zip(batch, returned, strict=True):
            row.pk = columns[0]


def set_column(model: type[models.Model], column: str, rows: Sequence[tuple[Any, int]]) -> None:
    """Set one column of many rows, each to a value of its own; ``rows`` are values and primary keys."""
    quote, meta = connection.ops.quote_name, model._meta
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {quote(meta.db_table)} SET {quote(column)} = %s WHERE id = %s", list(rows))


def _date(fields: list[Any], rows: Sequence[Any]) -> None:
    """Where no time of day is given that the database sets by itself, it is now."""
    for field in fields:
        if getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False):
            for row in rows:
                if getattr(row, field.attname) is None:
                    setattr(row, field.attname, timezone.now())
