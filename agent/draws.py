"""The only source of chance: draws that follow from the seed and the place in the history."""

from __future__ import annotations

import random


def draws(seed: int, ask: int, purpose: str) -> random.Random:
    """A generator for one purpose within one ask; the same three always give the same draws."""
    return random.Random(f"{seed}/{ask}/{purpose}")
