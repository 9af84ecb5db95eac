"""Rows that runs share: problems and kernels by their digest, and an archive's devices with their bounds.

What is here already stays as it is; an archive adds and never changes.
"""

from __future__ import annotations

from typing import Any

from kernels.models import Kernel, Problem
from runs.archive.opening import Archive
from runs.archive.parsing import Parsed
from runs.archive.rows import insert
from sol.models import Bound, Device

_LONGEST_SLUG = 40


def problems(archive: Archive, parsed: list[Parsed], taken: set[int]) -> tuple[dict[Any, int], set[int]]:
    """Local problems by the archive's slugs, and which of them are new. ``taken`` are given to no second slug."""
    found, new = {}, set()
    for one in parsed:
        same = Problem.objects.filter(digest=one.values["digest"]).exclude(pk__in=taken)
        row = same.filter(slug=one.key).first() or same.order_by("pk").first()
        if row is None:
            row = Problem(**one.values | {"slug": _free_slug(one.key, one.values["digest"])})
            row.source = archive.text(one.file)
            row.save()
            new.add(row.pk)
        taken.add(row.pk)
        found[one.key] = row.pk
    return found, new


def _free_slug(slug: str, digest: str) -> str:
    """The slug, or with the beginning of the digest where another text has it."""
    for ending in ("", f"-{digest[:6]}", f"-{digest[:16]}"):
        wanted = slug[: _LONGEST_SLUG - len(ending)] + ending
        if not Problem.objects.filter(slug=wanted).exists():
            return wanted
    return digest[:_LONGEST_SLUG]


def kernels(archive: Archive, parsed: list[Parsed]) -> dict[Any, int]:
    """Local kernels by digest, made where the text is new here."""
    wanted = {one.key: one for one in parsed}
    found = dict(Kernel.objects.filter(digest__in=wanted).values_list("digest", "pk"))
    rows = [Kernel(**one.values, source=archive.text(one.file)) for key, one in wanted.items() if key not in found]
    insert(Kernel, rows)
    return found | {row.digest: row.pk for row in rows}


def devices(parsed: list[Parsed], brought_by: str) -> dict[Any, int]:
    """The archive's own devices by name; ``brought_by`` is its digest."""
    rows = [Device(**one.values, kind=one.values["record"]["kind"], elsewhere=brought_by) for one in parsed]
    insert(Device, rows)
    return {row.name: row.pk for row in rows}


def bounds(rows: list[Bound]) -> None:
    """Keep the bounds of the archive's problems on its own devices."""
    Bound.objects.bulk_create(rows)
