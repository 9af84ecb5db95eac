"""Where an archive comes from, as a row: checked as strictly as its records."""

from __future__ import annotations

from typing import Any

from runs.archive.columns import from_form
from runs.archive.errors import ManifestUnreadable
from runs.archive.form import Manifest
from runs.models import Import


def origin_of(manifest: Manifest) -> Import:
    """The row of an archive, that of its first import where it was here before. Raises ManifestUnreadable."""
    told: dict[str, Any] = {
        "digest": manifest.digest,
        "format": manifest.format,
        "product": manifest.product,
        "place": manifest.origin,
        "number": manifest.run,
        "owner": manifest.owner,
        "cancelled_by": manifest.cancelled_by,
        "hardware": list(manifest.hardware),
        "exported": manifest.created,
    }
    origin = Import.objects.filter(digest=manifest.digest).first() or Import()
    try:
        for name, form in told.items():
            setattr(origin, name, from_form(Import._meta.get_field(name), form))  # type: ignore[arg-type]
    except ValueError as error:
        raise ManifestUnreadable(why=error) from error
    return origin
