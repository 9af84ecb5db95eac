"""An index over what kernels say, by three letters in a row: FTS5 in SQLite, pg_trgm in PostgreSQL."""

from django.db import migrations

from kernels import source_search


def make(apps, schema_editor):
    source_search.make_index(schema_editor.connection)


def drop(apps, schema_editor):
    source_search.drop_index(schema_editor.connection)


class Migration(migrations.Migration):

    dependencies = [
        ('kernels', '0003_problem_audit'),
    ]

    operations = [
        migrations.RunPython(make, drop, elidable=False),
    ]
