"""Django's registration of this room."""

from __future__ import annotations

from django.apps import AppConfig


class KernelsConfig(AppConfig):
    """The kernels application."""

    name = "kernels"
