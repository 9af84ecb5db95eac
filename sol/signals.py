"""What others are told of: rooms above follow a case's verdict without this room knowing them."""

from __future__ import annotations

from django.dispatch import Signal

cases_changed = Signal()
"""Sent with ``cases``, a list of Case rows whose verdict or severity is another now, inside the transaction that
changed them."""
