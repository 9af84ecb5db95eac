"""A problem's graph to a first program that is right, before anybody tries to make it fast.

Passes, in order: ``cleanup`` (drop what changes nothing), ``matmul`` (all products as mm and bmm), ``conv`` and
``pool`` (convolutions, pools and borders), ``rows`` (reductions, softmax and norms), ``fusion`` (which nodes share a
stage), ``emit`` (text). Knobs are left to their defaults and nothing is marked ``@once``: both are moves of the search
that begins here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.problems.inspection import Inspection
from kernels.targets import Target
from kernels.translate.cleanup import clean
from kernels.translate.conv import expand_convolutions
from kernels.translate.dominant import dominant_in_own
from kernels.translate.emit import Emitter, type_text
from kernels.translate.errors import TranslationFailed
from kernels.translate.fusion import Fusion
from kernels.translate.matmul import expand_products
from kernels.translate.pool import expand_pools
from kernels.translate.rows import expand_rows
from kernels.translate.work import Work


@dataclass(frozen=True, slots=True)
class Translation:
    """``own`` and ``library`` name the stages done by own kernels and by ``torch.*``; ``notes`` say what was chosen.

    ``dominant_in_own``: whether the operation with most work is in an own stage; None where there is no operation.
    """

    program: str
    own: tuple[str, ...]
    library: tuple[str, ...]
    notes: tuple[str, ...]
    dominant_in_own: bool | None


def translate(name: str, inspection: Inspection, target: Target) -> Translation:
    """The first program of a problem. ``name`` is the problem's; digits in front of it are left out.

    Raises TranslationFailed, with the operation, where the graph is missing or holds something that neither an own
    kernel nor a torch function covers.
    """
    if inspection.graph is None:
        reason = f"tracing failed ({inspection.graph_error})"
        raise TranslationFailed(problem=name, operation="the graph", reason=reason)
    work = Work(inspection.signature, inspection.graph)
    clean(work)
    expand_products(work)
    expand_convolutions(work, target)
    expand_pools(work)
    expand_rows(work)
    fusion = Fusion(work, target)
    groups = fusion.run()
    emitter = Emitter(name, work, groups, fusion.expressions, target)
    body = emitter.run()
    results = ", ".join(type_text(spec) for spec in inspection.signature.outputs)
    head = f"program {program_name(name)}({', '.join(emitter.parameters)}) -> {results}"
    text = "\n".join([head, *(f"  {line}" for line in body)]) + "\n"
    dominant = dominant_in_own(work, emitter.own_nodes)
    return Translation(text, tuple(emitter.own), tuple(emitter.library), tuple(emitter.notes), dominant)


def program_name(problem: str) -> str:
    """``1_Square_matrix_multiplication_`` -> ``square_matrix_multiplication``."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", problem).strip("_").lower()
    plain = re.sub(r"^[\d_]+", "", plain)
    return plain or "problem"
