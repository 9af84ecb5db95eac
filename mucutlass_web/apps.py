"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class MucutlassWebConfig(AppConfig):
    """The mucutlass_web application."""

    name = "mucutlass_web"
