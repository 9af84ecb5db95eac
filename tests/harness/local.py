"""A subject without a process: the session that a child would run, on an arena of its own, asked directly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from kernels.harness import arena, session
from kernels.harness.channel import Message
from kernels.harness.evaluation import EvaluationRequest
from kernels.harness.reference import Guard, Reference
from kernels.harness.subject import Patience
from kernels.records import to_json


class LocalSubject:
    """Answers as ``Subject`` does, in this process."""

    def __init__(self, request: EvaluationRequest, reference: Reference) -> None:
        self.layout = arena.lay_out(request.signature)
        self.limits = request.limits
        self._descriptor = arena.create(self.layout)
        self.arena = arena.Arena(self._descriptor, self.layout)
        for name, tensor in self.arena.parameters.items():
            tensor.copy_(reference.parameters[name])
        message = {
            "subject": to_json(request.candidate),
            "layout": arena.layout_form(self.layout),
            "device": request.device,
            "flush": request.flush,
            "copies_outputs": True,
            "address_space_bytes": None,
        }
        self.session, self.loaded = session.load(message, self._descriptor)

    def ask(self, message: Message, patience: Patience | None = None) -> dict[str, Any]:
        with torch.no_grad():
            return self.session.answer(message)

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def guard(seconds: float = 20.0) -> Iterator[Guard]:
    """A guard whose announcements go nowhere."""
    descriptor = os.memfd_create("steps")
    try:
        yield Guard(descriptor, seconds)
    finally:
        os.close(descriptor)


@contextmanager
def local(request: EvaluationRequest) -> Iterator[SimpleNamespace]:
    """``.reference`` and ``.subject`` for a request, in this process."""
    with guard() as watching:
        reference = Reference(request, watching, "cpu")
        subject = LocalSubject(request, reference)
        try:
            yield SimpleNamespace(reference=reference, subject=subject)
        finally:
            subject.close()


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)
