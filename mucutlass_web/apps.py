"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class MucutlassWebConfig(AppConfig):
    """The mucutlass_web application."""

    name = "mucutlass_web"

    def ready(self) -> None:
        """Make our Celery application the current one, so that every process sends to the same broker."""
        from mucutlass_web import celery

        del celery
