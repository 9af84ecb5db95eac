"""The language: text to syntax tree, syntax tree to checked program, and back to text."""

from __future__ import annotations

from kernels.dsl.check import check
from kernels.dsl.errors import DslError, ProgramErrors
from kernels.dsl.ir import CheckedProgram
from kernels.dsl.parser import parse
from kernels.dsl.printer import format_program
from kernels.dsl.reference import reference
from kernels.dsl.syntax import Program

__all__ = [
    "CheckedProgram",
    "DslError",
    "Program",
    "ProgramErrors",
    "check",
    "format_program",
    "parse",
    "reference",
]
