"""What a model is given for one ask."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system and a user message, the JSON schema that the answer must fit, and what was left out for want of room.

    ``system`` is the same for all asks of a phase within a run, so that a server may keep it.
    """

    system: str
    user: str
    schema: dict[str, Any]
    left_out: tuple[str, ...]

    @property
    def characters(self) -> int:
        """Length of all that a model is given, the schema included."""
        return len(self.system) + len(self.user) + len(json.dumps(self.schema, ensure_ascii=False))
