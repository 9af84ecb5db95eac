"""The recorded run that ships with the product: a real one, imported at the first start, and never again once an admin
deleted it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from django.contrib.auth.models import User

from kernels.errors import UserError
from runs.archive.form import MANIFEST
from runs.archive.restoring import import_archive
from runs.models import Import, Run

logger = logging.getLogger(__name__)

FOLDER = Path(__file__).resolve().parent.parent / "recorded"
"""Where the archives that ship lie."""


def import_recorded(owner: User, folder: Path = FOLDER) -> list[Run]:
    """Import what ships and was never here; a file that cannot be read is logged and costs no start."""
    runs = []
    for path in sorted(folder.glob("*.zip")):
        try:
            if not Import.objects.filter(digest=_digest(path)).exists():
                runs.append(import_archive(path, owner, recorded=True))
        except (UserError, BadZipFile, OSError, KeyError, ValueError) as error:
            logger.warning("the recorded run %s was not imported: %s", path.name, error)
    return runs


def _digest(path: Path) -> str:
    with ZipFile(path) as file:
        return str(json.loads(file.read(MANIFEST))["digest"])
