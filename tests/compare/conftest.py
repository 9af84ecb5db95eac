"""People and plain static files, as all page tests have them."""

from __future__ import annotations

from tests.web.conftest import _plain_static_files, alice, as_alice, as_bob, bob, outsider, sent

__all__ = ["_plain_static_files", "alice", "as_alice", "as_bob", "bob", "outsider", "sent"]
