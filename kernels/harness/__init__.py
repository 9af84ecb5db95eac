"""Shared objects and a problem in, an Evaluation out; other people's code runs only in child processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.harness.evaluation import Evaluation, EvaluationRequest


def evaluate(request: EvaluationRequest, *, cancelled: Callable[[], bool] | None = None) -> Evaluation:
    """Check and time one candidate beside torch eager; see ``kernels.harness.runner.evaluate``.

    The import is inside because the children import this package too and start faster without the runner.
    """
    from kernels.harness import runner

    return runner.evaluate(request, cancelled=cancelled)
