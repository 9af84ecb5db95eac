"""The Celery application. Its processes never import torch: every measurement happens in a child process."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")

app = Celery("mucutlass_web")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["runs"])
