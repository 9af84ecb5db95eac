"""From a problem's graph to a first program in the language."""

from __future__ import annotations

from kernels.translate.errors import TranslationFailed
from kernels.translate.translation import Translation, translate

__all__ = ["Translation", "TranslationFailed", "translate"]
