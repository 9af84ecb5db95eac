"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The runs application."""

    name = "runs"
