"""The language on two pages, for a prompt: generated from the tables that the checker reads, so that both agree."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.knobs import KNOBS, KnobRow
from kernels.dsl.links import LINKS
from kernels.dsl.ops import OPS
from kernels.dsl.reducing import DOC as REDUCE
from kernels.dsl.resources import ACCUMULATORS_SM90A, SHARED_MEMORY_SM90A
from kernels.dsl.views import VIEWS
from kernels.dtypes import DType
from kernels.targets import Target

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
- reduce, softmax and the norms take row-major or channels-last tensors (copy others), sum in f32, give x's type (and,
  but for reduce, layout); weight and bias have it too. An expression as in map may stand for x, computed in the same
  pass: `reduce((p - t) * (p - t), mean, dims=2)`; one of its tensors has its whole shape and type, and is dense.
- Policy strict: f32 data keeps f32's error: math f32, bf16x6 (2^-23) or tf32x3 (2^-21). tf32: also bf16x3 (2^-15) and
  tf32 (2^-11). half: also f16, bf16 and casts to them. f8 is there for problems whose own tensors are f8.
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
- sm_90a math(f32): a plain kernel that reads tile alone: m·n 2,048 to 32,768, (m + n + 8)·k up to 12,288. What is
  copied (math f16, bf16, x3, x6) counts as K-major and aligned: only N of the result must be.
- sm_90a conv, tensor cores: x and w channels_last (relayout), C and K multiples of 16 bytes (pad), one group, a
  transposed stride of 1 (w in any layout); the result is channels_last, tile as gemm's. math(f16), math(bf16) of f32
  data copy any layout in front. All else takes math(f32), the default there: tile m, n 16 to 256, m·n 4,096, 8,192 or
  16,384, k <= 32.
- sm_90a f8 (gemm, bmm): K-major, extents multiples of 16. grouped_gemm: no streamk, no math(f32); first operands all of
  one majorness, second ones too; tf32 K-major.
- sm_80: any extents; those that are no multiple of 16 bytes are loaded in smaller pieces. m and n of tile are 32, 64,
  128 or 256, k is 64 or 128 bytes; a warp has at least 16×32 of it, and a thread a load of 16 bytes of each operand.
  stages·(m + n)·k·bytes <= shared; f32 takes 3 stages or more, f16 and bf16 of odd rows take 2.
- A knob of another target is ignored with a caution, so that one program can serve several."""


_KERNELS = {"softmax": "softmax, log_softmax", "norm": "the norms"}
"""Stages that share a kernel, by the kernel's name."""


def reference(target: Target | None = None) -> str:
    """The text, up to 16 KB; of one ``target`` alone without the knobs and rules of the others."""
    functions = [f"`{row.signature}` {row.meaning}" for row in FUNCTIONS.values()]
    sections = (
        _HEAD,
        "## Stages\n" + _rows((f"`{op.usage}`", op.meaning) for op in OPS.values() if op.meaning),
        _TORCH,
        "## Views (free)\n" + "\n".join(f"- {usage}" for _, _, usage in VIEWS.values()),
        "## Chain links, behind all stages but cast, relayout, pad and torch: `>> link`\n"
        + "\n".join(f"- {doc}" for _, doc in LINKS.values())
        + f"\n- {REDUCE}"
        + "\n- every function of one tensor, without it: `>> relu() >> leaky_relu(0.2) >> clamp(0, 6)` (or min=, max=)",
        "## Functions, in map(…) and expr(…), with + - * / and numbers\n" + "; ".join(functions),
        "## Element types\n" + ", ".join(DType),
        _knobs(target),
        "## Rules\n" + _rules(target),
    )
    return "\n\n".join(sections) + "\n"


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in pairs)


def _rules(target: Target | None) -> str:
    """All rules, or those that name no other target at their start."""
    others = () if target is None else tuple(other.value for other in Target if other is not target)
    return "\n- ".join(rule for rule in _RULES.split("\n- ") if not rule.removeprefix("- ").startswith(others))


def _knobs(target: Target | None) -> str:
    """One part for each set of knobs, whoever has it; a knob that was told in an earlier part is only named."""
    parts = ["## Knobs: `stage(…).knob(value)`"]
    told: dict[KnobRow, str] = {}
    for rows, places in _grouped(target).items():
        new = [row for row in rows if row not in told]
        lines = [f"- `{row.name}({row.legal})` {row.doc}; default: {row.default}" for row in new]
        again: dict[str, list[str]] = {}
        for row in rows:
            if row in told:
                again.setdefault(told[row], []).append(f"`{row.name}`")
        lines += [f"- {', '.join(names)} as of {place}" for place, names in again.items()]
        first, ops = next(iter(places.items()))
        told |= dict.fromkeys(new, f"{ops[0]} on {first}")
        owners = "; ".join(f"{', '.join(ops)} on {place}" for place, ops in places.items())
        parts.append("\n".join([f"### {owners}", *lines]))
    return "\n\n".join(parts)


def _grouped(target: Target | None) -> dict[tuple[KnobRow, ...], dict[Target, list[str]]]:
    groups: dict[tuple[KnobRow, ...], dict[Target, list[str]]] = {}
    for place, by_op in KNOBS.items():
        for op, rows in by_op.items() if target in (None, place) else ():
            groups.setdefault(rows, {}).setdefault(place, []).append(_KERNELS.get(op, op))
    return groups
