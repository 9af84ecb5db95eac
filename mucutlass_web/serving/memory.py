"""How a web process collects garbage: seldom, and never what is there for good.

A large page makes some 100,000 objects and lets go of them all. By Python's own thresholds each such request collects
several times, now and then with everything ever imported, which takes a tenth of a second on two cores.
"""

from __future__ import annotations

import gc
from importlib import import_module

from django.conf import settings

_YOUNG, _MIDDLE, _OLD = 50_000, 10, 10
"""New objects before the youngest are looked through; such looks before the middle ones are; and those before all."""


def settle() -> None:
    """Import every view, and leave all that is there by now out of later collections. Once, when a process starts."""
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
