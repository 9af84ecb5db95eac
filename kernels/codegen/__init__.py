"""Checked program to C++ units and the plan that runs them; see ``emitting``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.codegen.emission import Emission
    from kernels.dsl.ir import CheckedProgram


def emit(checked: CheckedProgram) -> Emission:
    """The generated code of a checked program; see ``kernels.codegen.emitting.emit``.

    The import is inside because the processes that run a plan import this package too, and need no language.
    """
    from kernels.codegen import emitting

    return emitting.emit(checked)
