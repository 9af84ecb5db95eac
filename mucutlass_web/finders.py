"""Serves plotly.js from inside the installed plotly wheel, so that Python and JavaScript cannot disagree."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "plotly/plotly.min.js"


def plotly_directory() -> Path:
    """The wheel's folder that holds plotly.min.js. The package is located, not imported: it is slow to import."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("plotly is not installed; pip install plotly")
    return Path(spec.origin).parent / "package_data"


class PlotlyFinder(BaseFinder):
    """Finds the one file ``plotly/plotly.min.js``."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> str | list[str] | None:  # type: ignore[override]
        """The file's place, where it is the one asked for."""
        if path != NAME:
            return [] if find_all or kwargs.get("all") else None
        found = str(plotly_directory() / "plotly.min.js")
        return [found] if find_all or kwargs.get("all") else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[Any]:
        """The file with a storage that puts it under ``plotly/``."""
        del ignore_patterns  # one file, named above
        storage = FileSystemStorage(location=str(plotly_directory()))
        storage.prefix = "plotly"  # type: ignore[attr-defined]
        yield "plotly.min.js", storage
