"""What units have around their kernels: includes, functions of the chain, sizes, the C function, and how to call it.

The kernel itself and its launch are written by each generator.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.expression import functions
from kernels.codegen.cuda.functions import definitions
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import ChainStep, Stage

VECTOR = """
template <class T>
struct alignas(sizeof(T) * Lanes < 16 ? sizeof(T) * Lanes : 16) Vector {
  T lane[Lanes];
};"""
"""``Lanes`` elements that lie side by side; no access is wider than 16 bytes."""

VECTOR_OF = """
template <class T, int N = Lanes>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
  T lane[N];
};"""
"""The same of any number of elements."""


def write_head(out: SourceWriter, remark: str, origins: Origins, more: str = "") -> None:
    """The remark that says what the unit does, the includes (``more`` of them too), and the namespace's beginning."""
    out.line("", remark, origins.call)
    out.lines("#include <cmath>\n#include <cstdint>\n\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n" + more)
    out.line()
    out.line(f"namespace {SYMBOL}_types {{")


def write_functions(out: SourceWriter, chain: Iterable[ChainStep]) -> None:
    """The functions that the chain calls."""
    called: set[str] = set().union(*(functions(step.expr) for step in chain))
    body = definitions(called)
    if body:
        out.lines(body)
        out.line()


def write_sizes(out: SourceWriter, arguments: Arguments) -> None:
    """The struct in which sizes go to the kernel."""
    out.line("struct Sizes {")
    for name in arguments.sizes:
        out.line(f"  int64_t {name};")
    out.line("};")
    out.line()


def write_signature(
    out: SourceWriter, arguments: Arguments, origins: Origins, result: str, results: tuple[str, ...] = ("y",)
) -> None:
    """The head of the C function, with which tensor each pointer is, and its first line.

    ``results`` name the parameters it writes to, ``result`` what they are in the program.
    """
    for index, row in enumerate(arguments.signature(results)):
        note = arguments.values_note(result) if index == 1 else ""
        out.line(row, note, origins.call if index == 1 else None)
    out.line(f"  using namespace {SYMBOL}_types;")


def write_entry(out: SourceWriter, arguments: Arguments, origins: Origins, result: str) -> None:
    """The end of the namespace and the C function's head, up to ``p``, which holds its sizes."""
    out.line(f"}}  // namespace {SYMBOL}_types")
    out.line()
    out.line("", "Returns 0, or 3 where the launch failed.")
    write_signature(out, arguments, origins, result)
    out.line(f"  Sizes p{{{', '.join(arguments.sizes)}}};")


def stage_code(out: SourceWriter, stage: Stage, arguments: Arguments, workspace_bytes: int = 0) -> StageCode:
    """The finished unit and how to call it."""
    unit = out.unit(stage.op, stage.name)
    return StageCode(unit, tuple(arguments.pointers.values()), tuple(arguments.sizes.values()), workspace_bytes)


WAIT = "  cudaGridDependencySynchronize();"
"""First in a kernel that was launched early: what the kernel before it wrote is there from here on.

CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
"""
EARLY = """
  // Each launch that follows the first is set up while the one before it ends; its kernel waits for that.
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.stream = on;
  how.attrs = &early;
  how.numAttrs = 1;"""
"""The configuration ``how`` of such launches, of which grid and block are then said. For Hopper."""
LAUNCHED = "  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}"
"""The C function's end."""
