"""Pages let go of what they show as soon as they are written.

Django's context of a request holds itself in a ring, with everything that the view gave it: a large run's ten thousand
attempts then wait for a garbage collection, which looks through all of them in the middle of somebody's next request.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates, Template, reraise
from django.template.context import make_context
from django.template.exceptions import TemplateDoesNotExist
from django.utils.safestring import SafeString


class Page(Template):
    """A template whose context is empty once it has been written."""

    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> SafeString:
        """As Django does."""
        made = make_context(context, request, autoescape=self.backend.engine.autoescape)
        try:
            text = self.template.render(made)
        except TemplateDoesNotExist as error:
            reraise(error, self.backend)
        made.dicts.clear()
        return text


class Pages(DjangoTemplates):
    """Django's templates, whose pages keep nothing."""

    def get_template(self, template_name: str) -> Page:
        """Raises TemplateDoesNotExist."""
        return Page(super().get_template(template_name).template, self)

    def from_string(self, template_code: str) -> Page:
        """One that is not in a file."""
        return Page(super().from_string(template_code).template, self)
