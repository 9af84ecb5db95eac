"""The language on two pages, for a prompt: generated from the tables that the checker reads, so that both agree."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.knobs import KNOBS, KnobRow
from kernels.dsl.links import LINKS
from kernels.dsl.ops import OPS
from kernels.dsl.resources import ACCUMULATORS_SM90A, SHARED_MEMORY_SM90A
from kernels.dsl.views import VIEWS
from kernels.dtypes import DType

_HEAD = """\
# μCUTLASS

A program is straight-line: each statement names one stage (one kernel launch) or a free view.

```
program linear_gelu(x: f32[M, K], weight: f32[N, K], bias: f32[N]) -> f32[M, N]
  y = gemm(x, weight.T).tile(96, 512, 256).stages(3) >> bias(bias) >> gelu()
  return y
```

- The first parameters are the problem's inputs, by position, under any name. The others are parameters and buffers by
  their state_dict name, dots and all (`layers.0.weight`); those not needed may be left out.
- Types are `f32[M, 4]`; a size is a number or a symbol. A symbol stands for one number everywhere, and may be used as
  a number: `x.reshape(M * K)`, `map(x / K)`.
- Statements need no line ends. `#` starts a comment. Every name is given once, before it is used.
- The outputs must have the problem's shapes and element types.
- `@once` behind a stage that depends on parameters (or other @once stages) alone: done at load, not in each call."""

_TORCH = """\
`torch.NAME(args, name=value) -> f32[4, 8]` calls any pure function under torch, torch.nn.functional, torch.linalg,
torch.special or torch.fft. Say the result's type; it may be left out only for softmax, normalisations, activations and
mean, amax, amin, logsumexp over given dims. With several results, `r = torch.topk(x, 5) -> f32[8, 5], i64[8, 5]` gives
`r.0` and `r.1`. Time spent in torch stages is reported: a program of torch stages alone is no kernel."""

_RULES = f"""\
- gemm and bmm: both operands of one element type; K must agree. A linear layer is `gemm(x, weight.T)`.
- Chain operands and those of map broadcast as in torch. cast and torch take no chains.
- map computes in f32 (f64 with f64 tensors) and gives the widest float type of its tensors; of integers alone it gives
  the widest integer type, or f32 where a function makes fractions.
- reduce, softmax and the norms take row-major tensors (copy others: `c = map(x.T)`), sum in f32, give x's type; weight
  and bias have it too. Other dimensions, or a dim in the middle: torch stages.
- Policy strict: f32 data is multiplied in full f32. tf32: math(tf32) too. half: also casts to f16 and bf16.
- host: micro's n is a multiple of the vector (16 f32 with AVX-512, 8 with AVX2); rows·vectors + vectors + 1 registers
  must fit (32 with AVX-512, 16 with AVX2). Good: B's k·n about 1 MiB, tile m and n multiples of micro.
- sm_90a, tensor cores: contiguous extents, row strides and offsets are multiples of 16 bytes (f32 4, f16 8).
- sm_90a tile: m 64, 128, 192 for pingpong, 128 or 256 for cooperative and streamk; n up to 256: 8, 16, or a multiple of
  16 for f16 and bf16, of 32 for tf32; k a multiple of 32 bytes, best 128 bytes (32 for tf32, 64 for f16).
  m·n / threads <= {ACCUMULATORS_SM90A} registers (256 threads cooperative and streamk, 128 pingpong).
- sm_90a: stages·((m + n)·k·bytes + 16) + epilogue <= {SHARED_MEMORY_SM90A} bytes; stages(auto) takes as many as fit.
- sm_90a tf32 with an operand that is not K-major (gemm's a as x.T, b not as w.T): stages(auto) only, k a multiple of
  32; if both are not, k is 32 and n a multiple of 32. gemm(x, w) with neither as .T is multiplied transposed, free of
  charge: m of tile, cluster and raster runs along N, n along M; n is a multiple of 8·(cluster's first number).
- sm_90a cluster: at most 16 blocks, 8 is portable; the grid is rounded up to whole clusters.
- sm_90a math(f32): a plain kernel that reads none of tile, cluster, schedule, stages, swizzle, raster.
- A knob of another target is ignored with a caution, so that one program can serve several."""


_KERNELS = {"softmax": "softmax, log_softmax", "norm": "layer_norm, rms_norm"}
"""Stages that share a kernel, by the kernel's name."""


def reference() -> str:
    """The text, about 9 KB."""
    functions = [f"`{row.signature}` {row.meaning}" for row in FUNCTIONS.values()]
    sections = (
        _HEAD,
        "## Stages\n" + _rows((f"`{op.usage}`", op.meaning) for op in OPS.values()),
        _TORCH,
        "## Views (free)\n" + "\n".join(f"- {usage}" for _, _, usage in VIEWS.values()),
        "## Chain links, behind all stages but cast and torch: `>> link`\n"
        + "\n".join(f"- {doc}" for _, doc in LINKS.values())
        + "\n- every function of one tensor, without it: `>> relu() >> leaky_relu(0.2) >> clamp(0, 6)` (or min=, max=)",
        "## Functions, in map(…) and expr(…), with + - * / and numbers\n" + "; ".join(functions),
        "## Element types\n" + ", ".join(DType),
        _knobs(),
        "## Rules\n" + _RULES,
    )
    return "\n\n".join(sections) + "\n"


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in pairs)


def _knobs() -> str:
    parts = []
    for target, by_op in KNOBS.items():
        for rows, ops in _grouped(by_op).items():
            shown = ", ".join(_KERNELS.get(op, op) for op in ops)
            head = f"## Knobs of {shown} on {target}: `stage(…).knob(value)`"
            lines = [f"- `{row.name}({row.legal})` {row.doc}; default: {row.default}" for row in rows]
            parts.append("\n".join([head, *lines]))
    return "\n\n".join(parts)


def _grouped(by_op: dict[str, tuple[KnobRow, ...]]) -> dict[tuple[KnobRow, ...], list[str]]:
    groups: dict[tuple[KnobRow, ...], list[str]] = {}
    for op, rows in by_op.items():
        groups.setdefault(rows, []).append(op)
    return groups
