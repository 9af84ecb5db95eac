"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The runs application."""

    name = "runs"

    def ready(self) -> None:
        """Follow what people make of cases; what is listed follows what is held, the log what people do."""
        from runs import contenders
        from runs.following import follow
        from runs.ledger_signals import listen

        listen()
        follow()
        contenders.follow()
