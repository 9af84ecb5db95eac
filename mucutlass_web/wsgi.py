"""The WSGI entry point."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mucutlass_web.settings")

application = get_wsgi_application()

# Django is set up by now, and not before.
from mucutlass_web.serving.memory import settle  # noqa: E402

settle()
