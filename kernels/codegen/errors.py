"""What code generation refuses. The checker keeps programs from getting here; these name what slipped through."""

from __future__ import annotations

from kernels.errors import UserError


class EmptyTensor(UserError):
    """A stage over no elements."""

    template = (
        "stage '{stage}': '{value}' has the shape {shape}, which holds no elements; "
        "every extent of a tensor must be at least 1"
    )


class ElementTypeWithoutCode(UserError):
    """A dtype the target's generated code cannot hold."""

    template = "stage '{stage}': {target} code has no {dtype} for {role}; it has {legal}"


class FunctionWithoutCode(UserError):
    """A function of the language that the target has no code for."""

    template = "stage '{stage}': {target} code has no function '{function}'; it has {legal}"


class OperationWithoutCode(UserError):
    """An op the target has no generator for."""

    template = "stage '{stage}': {target} code has no stage '{op}'; it has {legal}"
