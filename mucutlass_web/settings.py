"""Every option of the web application, each an environment variable with a default that works on one machine."""

from __future__ import annotations

SECRET_KEY = "x"
INSTALLED_APPS: list[str] = ["django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
