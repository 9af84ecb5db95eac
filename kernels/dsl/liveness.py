"""Which stages the outputs need, and which work may be done once.

It removes nothing: an unused stage is a caution, since it still runs and is still timed.
"""

from __future__ import annotations

from kernels.dsl.errors import Once
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage, Value
from kernels.dsl.scope import Scope


def chained(stage: Stage) -> tuple[Value, ...]:
    """The tensors of a chain that are not among the operands, as those of a map's are."""
    return chain_values(stage.chain) if stage.op != "map" else ()


def once(stage: Stage, scope: Scope) -> None:
    """``@once`` is refused on work that depends on an input, by whatever way."""
    if not stage.once:
        return
    source = scope.source_of(stage.operands + chained(stage))
    if source is not None:
        scope.note(Once(stage.span, stage=stage.name, found=source))


def unused(stages: tuple[Stage, ...], outputs: tuple[Value, ...], scope: Scope) -> None:
    """Caution for each stage that no output needs."""
    needed = {value.storage for value in outputs}
    for stage in reversed(stages):
        if any(result.storage in needed for result in stage.results):
            needed.update(value.storage for value in stage.operands + chained(stage))
        else:
            message = f"no output needs {stage.name}: it runs all the same"
            scope.caution("unused-stage", message, stage.span)
