"""Seconds between two moments of a row, worked out where the rows are.

Django hands every difference of moments in SQLite to Python, row by row: of a large run's twenty thousand jobs that
took longer than all else on its page.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import FloatField, Func
from django.db.models.sql.compiler import SQLCompiler


class Seconds(Func):
    """``Seconds(to, since)``: how long after ``since`` the moment ``to`` lies; to about a tenth of a millisecond."""

    arity = 2
    output_field = FloatField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        """Days of the Julian calendar."""
        template, joiner = "(julianday(%(expressions)s)) * 86400.0", ") - julianday("
        return super().as_sql(compiler, connection, template=template, arg_joiner=joiner, **context)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        """An interval's seconds; ``EXTRACT`` would work them out as a decimal, which takes twice as long."""
        template, joiner = "DATE_PART('epoch', %(expressions)s)", " - "
        return super().as_sql(compiler, connection, template=template, arg_joiner=joiner, **context)
