"""grouped_gemm on the host: the loops of ``mu/gemm.h`` for one product after the other, each with all threads.

All share one Config and one Epilogue, so that the number of products is configuration and their sizes are arguments.
"""

from __future__ import annotations

from kernels.codegen.emission import StageCode
from kernels.codegen.host.gemm import gemm_workspace, write_config, write_epilogue
from kernels.codegen.host.operands import collect, effective_strides
from kernels.codegen.host.places import Places
from kernels.codegen.host.signature import Signature
from kernels.codegen.host.types import gemm_compute
from kernels.codegen.source import SYMBOL, Source
from kernels.dsl.grouped import members
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign


def emit_grouped(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of a grouped_gemm stage and the sizes to call it with."""
    products = members(stage)
    places = Places(products[0], source)
    compute = gemm_compute(products[0])
    operands = collect(stage, ("i", "j"))
    signature = _signature(stage, products)
    text = Source()
    shapes = ", ".join(f"{product.attributes['m']}x{product.attributes['n']}" for product in products)
    text.add(remark=f"{stage.name} = grouped_gemm -> {stage.result.dtype}: {shapes}", mu=places.line)
    text.extend(['#include "mu/gemm.h"', "", "namespace {", ""])
    unit_b = all(effective_strides(product.operands[1])[-1] == 1 for product in products)
    write_config(text, products[0], places, compute, unit_b)
    write_epilogue(text, products[0], operands, compute)
    text.extend(["}  // namespace", ""])
    signature.declare(text, SYMBOL)
    for index, product in enumerate(products):
        _write_product(text, index, product)
    text.extend(["  return 0;", "}"])
    unit = text.finish(stage.op, "c++", stage.name)
    workspace = max(gemm_workspace(product, compute) for product in products)
    return StageCode(unit, tuple(value.name for value in stage.operands), signature.values, workspace)


def _signature(stage: Stage, products: tuple[Stage, ...]) -> Signature:
    sizes: list[tuple[str, int]] = []
    for index, product in enumerate(products):
        sizes += [(f"{name}{index}", product.attributes[name]) for name in ("m", "n", "k")]
        for name, operand in zip("ab", product.operands, strict=True):
            row, column = effective_strides(operand)
            sizes += [(f"{name}{index}_row", row), (f"{name}{index}_col", column)]
    sizes.append(("threads", stage.knobs["threads"]))
    pointers = tuple(f"{name}{index}" for index in range(len(products)) for name in "ab")
    return Signature(pointers, tuple(sizes), tuple(f"out{index}" for index in range(len(products))))


def _write_product(text: Source, index: int, product: Stage) -> None:
    a, b = product.operands
    text.add("  {", remark=f"{product.result.name} = {a.name} {b.name}")
    text.add(f"    const mu::Extents size{{1, m{index}, n{index}, k{index}}};")
    for name in ("a", "b"):
        kind, pointer = f"Config::{name.upper()}", f"{name}{index}"
        text.add(
            f"    const mu::View<{kind}> view_{name}"
            f"{{static_cast<const {kind}*>({pointer}), 0, {pointer}_row, {pointer}_col}};"
        )
    text.add(f"    mu::Gemm<Config, Epilogue> gemm(size, view_a, view_b, out{index}, Epilogue{{}});")
    text.add("    if (const int code = gemm.run(workspace, threads)) return code;")
    text.add("  }")
