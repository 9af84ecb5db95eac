"""The root of every error that a user is meant to read."""

from __future__ import annotations

from typing import Any, ClassVar


class UserError(Exception):
    """What was wrong, where, and what would be right, filled into the class's template.

    The class name in kebab-case is the error's stable name on the command line, in rows and in JSON.
    """

    template: ClassVar[str] = "{message}"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__(self.template.format(**fields))

    @classmethod
    def slug(cls) -> str:
        """``ProblemHasNoModel`` -> ``problem-has-no-model``."""
        name = cls.__name__
        return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))
