"""The people and settings of the page tests."""

from __future__ import annotations

from tests.web.conftest import (
    _plain_static_files,
    alice,
    as_alice,
    as_bob,
    as_maya,
    bob,
    maya,
    outsider,
    sent,
)

__all__ = ["_plain_static_files", "alice", "as_alice", "as_bob", "as_maya", "bob", "maya", "outsider", "sent"]
