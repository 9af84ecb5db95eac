"""Serves plotly.js and Swagger UI from inside installed wheels, so that Python and JavaScript cannot disagree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage


def _folder_of(package: str) -> Path:
    """An installed package's folder. It is located, not imported: some are slow to import."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{package} is not installed; pip install {package}")
    return Path(spec.origin).parent


def plotly_directory() -> Path:
    """The wheel's folder that holds plotly.min.js."""
    return _folder_of("plotly") / "package_data"


def swagger_directory() -> Path:
    """The folder of django-ninja's wheel that holds Swagger UI."""
    return _folder_of("ninja") / "static" / "ninja"


class WheelFinder(BaseFinder, ABC):
    """Finds the named files of one folder of a wheel under ``prefix``."""

    prefix: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def directory(self) -> Path:
        """The folder of the wheel that holds them."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> str | list[str]:  # type: ignore[override]
        """The file's place, or an empty list where it is none of them: Django takes None for a place."""
        every = find_all or kwargs.get("all")
        folder, _, name = path.partition("/")
        if folder != self.prefix or name not in self.names:
            return []
        found = str(self.directory() / name)
        return [found] if every else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[Any]:
        """The files with a storage that puts them under ``prefix``."""
        del ignore_patterns  # these files and no others
        storage = FileSystemStorage(location=str(self.directory()))
        storage.prefix = self.prefix  # type: ignore[attr-defined]
        for name in self.names:
            yield name, storage


class PlotlyFinder(WheelFinder):
    """Finds ``plotly/plotly.min.js``."""

    prefix = "plotly"
    names = ("plotly.min.js",)

    def directory(self) -> Path:
        """Inside plotly's wheel."""
        return plotly_directory()


class SwaggerFinder(WheelFinder):
    """Finds Swagger UI's script, its styles and the map that these name."""

    prefix = "swagger"
    names = ("swagger-ui-bundle.js", "swagger-ui.css", "swagger-ui.css.map")

    def directory(self) -> Path:
        """Inside django-ninja's wheel."""
        return swagger_directory()
