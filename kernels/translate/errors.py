"""Why a problem has no first program."""

from __future__ import annotations

from kernels.errors import UserError


class TranslationFailed(UserError):
    """``problem``, ``operation`` (as ``aten.foo.default``, or "the graph"), ``reason``."""

    template = "{problem}: no first program: {operation}: {reason}; write one by hand, or start from torch.* stages"
