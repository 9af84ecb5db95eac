"""The card of a worker: found by name, bounded by its specification.

nvidia-smi is asked in a process of its own: the Celery parent must not touch CUDA, not even to count devices.
"""

from __future__ import annotations

import logging
import shutil

from kernels.childprocess import ChildLimits, Ending, run
from kernels.records import to_json
from sol.bounds import UnknownCard, card
from sol.models import Device

logger = logging.getLogger(__name__)

_LIMITS = ChildLimits(seconds=20)


def card_name() -> str | None:
    """The first visible card's name as the driver has it; None without a driver or a card."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    result = run([program, "--query-gpu=name", "--format=csv,noheader"], limits=_LIMITS)
    if result.ending is not Ending.EXITED or result.code != 0:
        return None
    lines = result.stdout.strip().splitlines()
    return lines[0].strip() if lines else None


def register_card() -> Device | None:
    """Store this worker's card, so that runs on it can be bounded; None where its peaks are not in our table."""
    name = card_name()
    if name is None:
        logger.warning("no card answers here: this worker can measure nothing")
        return None
    try:
        specification = card(name)
    except UnknownCard as error:
        logger.warning("%s", error)
        return None
    return Device.objects.keep(specification.name, "cuda", to_json(specification))
