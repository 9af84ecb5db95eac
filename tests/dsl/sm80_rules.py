"""The rules of sm_80, each with a program that trips it and one, as near as can be, that passes."""

from __future__ import annotations

from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import linear_of, signature
from tests.dsl.rules import NN, Rule, gemm

HALF = "program p(x: f16[M, K], w: f16[N, K]) -> f16[M, N]\n"
HALF_TN = "program p(x: f16[K, M], w: f16[K, N]) -> f16[M, N]\n"
HALF_NN = "program p(x: f16[M, K], w: f16[K, N]) -> f16[M, N]\n"
BLOCK = ".tile(256, 128, 32)"
TALL = ".tile(256, 64, 32)"
DEEP = ".tile(128, 256, 32).shared(163)"
ODD_HALF = linear_of("f16", k=107)
BATCH = "program p(x: f16[B, M, K], w: f16[B, K, N]) -> f16[B, M, N]\n  y = bmm(x, w)\n  return y"


def _rule(
    name: str, trips: str, passes: str, problem: Signature | None = None, tripping: Signature | None = None
) -> Rule:
    return Rule(name, trips, passes, Target.SM80, Policy.HALF, problem, tripping)


def _half(knobs: str) -> str:
    return HALF + gemm(knobs)


def _batch(count: int) -> Signature:
    return signature(f"x f16 {count} 8 8; w f16 {count} 8 8", "", f"out f16 {count} 8 8")


SM80_RULES = (
    _rule("knob-value", gemm(".schedule(cooperative)"), gemm(".schedule(streamk)")),
    _rule("knob-value", gemm(".shared(227)"), gemm(".shared(163)")),
    _rule("tile", gemm(".tile(96, 128, 16)"), gemm(".tile(64, 128, 16)")),
    _rule("tile", gemm(".tile(128, 512, 16)"), gemm(".tile(128, 256, 16)")),
    _rule("tile", gemm(".tile(128, 128, 48)"), gemm(".tile(128, 128, 32)")),
    _rule("tile", _half(".tile(128, 128, 16)"), _half(".tile(128, 128, 32)"), linear_of("f16")),
    _rule("tile", gemm(".math(f32).tile(128, 132, 8)"), gemm(".math(f32).tile(128, 136, 8)")),
    _rule("tile", gemm(".math(f32).tile(128, 128, 64)"), gemm(".math(f32).tile(128, 128, 32)")),
    _rule("warps", gemm(".tile(128, 64, 16).warps(2, 4)"), gemm(".tile(128, 64, 16).warps(2, 2)")),
    _rule("warps", gemm(".tile(128, 32, 16).warps(8, 1)"), gemm(".tile(128, 32, 16).warps(4, 1)")),
    _rule("warps", _half(f"{BLOCK}.warps(8, 2)"), _half(f"{BLOCK}.warps(4, 2)"), linear_of("f16")),
    _rule(
        "tile",
        HALF_NN + "  y = gemm(x, w).tile(64, 32, 32)\n  return y",
        HALF_NN + "  y = gemm(x, w).tile(32, 64, 32)\n  return y",
        signature("x f16 512 256; w f16 256 1024", "", "out f16 512 1024"),
    ),
    _rule(
        "warps",
        HALF_TN + "  y = gemm(x.T, w).tile(64, 64, 32).warps(4, 1)\n  return y",
        HALF_TN + "  y = gemm(x.T, w).tile(64, 64, 32).warps(2, 2)\n  return y",
        signature("x f16 256 512; w f16 256 1024", "", "out f16 512 1024"),
    ),
    _rule("registers", gemm(".tile(128, 256, 16).warps(2, 2)"), gemm(".tile(128, 256, 16).warps(2, 4)")),
    _rule("registers", gemm(".tile(256, 256, 16)"), gemm(".tile(256, 128, 16)")),
    _rule("shared-memory", _half(f"{TALL}.stages(5)"), _half(f"{TALL}.stages(4)"), linear_of("f16")),
    _rule("shared-memory", gemm(".tile(128, 256, 32)"), gemm(DEEP)),
    _rule("shared-memory", gemm(f"{DEEP}.stages(4)"), gemm(f"{DEEP}.stages(3)")),
    _rule("stages", gemm(".stages(2)"), gemm(".stages(3)")),
    _rule("stages", _half(".stages(3)"), _half(".stages(2)"), ODD_HALF),
    _rule("grid", BATCH, BATCH, _batch(65535), _batch(65536)),
    _rule(
        "grid",
        "program p(x: f32[1, 1], w: f32[1, N]) -> f32[1, N]\n  y = gemm(x, w).math(f32).tile(64, 32, 8)\n  return y",
        "program p(x: f32[1, 1], w: f32[1, N]) -> f32[1, N]\n  y = gemm(x, w).math(f32).tile(64, 32, 8)\n  return y",
        signature("x f32 1 1; w f32 1 2097120", "", "out f32 1 2097120"),
        signature("x f32 1 1; w f32 1 2097121", "", "out f32 1 2097121"),
    ),
    _rule(
        "layout",
        "  y = gemm(x.reshape(512, 128, 2).select(2, 0), w.slice(1, 0, 128).T)\n  return y",
        "  y = gemm(x.slice(1, 1, 129), w.slice(1, 0, 128).T)\n  return y",
    ),
    _rule(
        "epilogue",
        NN + "  i = cast(x.slice(0, 0, 1).slice(1, 0, 1), i32)\n  y = gemm(x, w) >> add(i)\n  return y",
        NN + "  i = cast(x.slice(0, 0, 1).slice(1, 0, 1), f16)\n  y = gemm(x, w) >> add(i)\n  return y",
        signature("x f32 512 256", "w f32 256 1024", "out f32 512 1024"),
    ),
    _rule("math", _half(".math(tf32x3)"), _half(".math(f16)"), linear_of("f16")),
    Rule("precision", gemm(".math(tf32)"), gemm(".math(tf32x3)"), Target.SM80, Policy.STRICT),
    Rule("precision", gemm(".math(bf16)"), gemm(".math(tf32)"), Target.SM80, Policy.TF32),
)  # fmt: skip
