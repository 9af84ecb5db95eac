"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class SolConfig(AppConfig):
    """The sol application."""

    name = "sol"
