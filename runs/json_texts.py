"""Single fields of a column of JSON, taken out where the rows are, as the database itself writes them.

Django has every such field parsed as a document of its own, in SQLite by three calls each: of a run's ten thousand
events that took most of a page.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, TextField
from django.db.models.sql.compiler import SQLCompiler


class JsonText(Func):
    """``JsonText("record", "usage", "cost")``: a string as it is, None of null and of what is not there.

    A number is one in SQLite and its text in PostgreSQL; a truth is 1 or 0 there and ``true`` or ``false`` here.
    """

    output_field = TextField()

    def __init__(self, column: str, *path: str) -> None:
        super().__init__(column)
        self.path = path

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        """One call."""
        path = ".".join(("$", *self.path))
        return self._as("JSON_EXTRACT(%(expressions)s, %%s)", path, compiler, connection)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        """One operator."""
        if len(self.path) == 1:
            return self._as("(%(expressions)s ->> %%s)", self.path[0], compiler, connection)
        return self._as("(%(expressions)s #>> %%s::text[])", f"{{{','.join(self.path)}}}", compiler, connection)

    def _as(self, template: str, path: str, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        sql, parameters = super().as_sql(compiler, connection, template=template)
        return sql, (*parameters, path)


def is_true(text: object) -> bool:
    """Whether a field's text is the truth, from either database."""
    return text in (1, "true")
