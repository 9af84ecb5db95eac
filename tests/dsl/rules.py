"""Every rule of the checker with a program that trips it and one, as near as can be, that passes."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target
from tests.dsl.programs import linear, linear_of, signature

HOST, SM90A, SM80 = Target.HOST, Target.SM90A, Target.SM80
LINEAR_OF = "program p(x: {0}[M, K], w: {0}[N, K]) -> {0}[M, N]\n"
DEEP = "(" * 20_000


@dataclass(frozen=True)
class Rule:
    """``trips`` earns exactly the error ``name``, ``passes`` none; both are bodies for ``linear()`` or programs."""

    name: str
    trips: str
    passes: str
    target: Target = HOST
    policy: Policy = Policy.HALF
    problem: Signature | None = None
    tripping_problem: Signature | None = None


def gemm(knobs: str = "", chain: str = "") -> str:
    """A body that is one linear layer."""
    return f"  y = gemm(x, w.T){knobs}{chain}\n  return y"


ODD = linear(n=1022)
HUGE = signature("x f32 4 1", "w f32 8388481 1", "out f32 4 8388481")
WIDE = signature("x f32 4 1", "w f32 8388480 1", "out f32 4 8388480")
HALF = linear_of("f16")
EMPTY = signature("x f32 0", "", "out f32 0")
ONE = signature("x f32 1", "", "out f32 1")
THIN = "program p(x: f32[M, K], w: f32[N, K]) -> f32[M, N]\n" + gemm()
SAME = "program p(x: f32[N]) -> f32[N]\n  y = map(x + 1)\n  return y"
PLAIN = signature("x f32 512 256", "w f32 256 1024", "out f32 512 1024")
NN = "program p(x: f32[M, K], w: f32[K, N]) -> f32[M, N]\n"
TN = "program p(x: f32[K, M], w: f32[K, N]) -> f32[M, N]\n"
TURNED = signature("x f32 256 512", "w f32 256 1024", "out f32 512 1024")
CUBE = signature("x f32 64 64 64", "", "out f32 64 64")

WHOLE = ".tile(128, 128, 32)"
REDUCED = signature("x f32 512 256", "w f32 1024 256", "out f32 512")

BATCH = signature("x f32 4 6 8", "w f32 8; b f32 8; h f16 8; s f32 4", "out f32 4 6 8")


def reduced(knobs: str = "", tail: str = " >> reduce(sum)\n  return y") -> str:
    """A linear layer whose columns are summed."""
    return f"program p(x: f32[M, K], w: f32[N, K]) -> f32[M]\n  y = gemm(x, w.T){knobs}{tail}"


def rows(body: str) -> str:
    """A program that ends in one stage on the rows of x[4, 6, 8]."""
    head = "program p(x: f32[A, B, C], w: f32[C], b: f32[C], h: f16[C], s: f32[A]) -> f32[A, B, C]\n"
    return f"{head}  y = {body}\n  return y"


def row_rule(name: str, trips: str, passes: str, target: Target = HOST) -> Rule:
    """A rule about row stages."""
    return Rule(name, rows(trips), rows(passes), target, problem=BATCH)


RULES = (
    Rule("syntax", "  y = gemm(x, w.T\n  return y", gemm()),
    Rule("source-size", "#" * 40_961, gemm() + "#" * 40_000),
    Rule("nesting-depth", f"  y = map({DEEP}x", f"  y = gemm({'(' * 60}x{')' * 60}, w.T)\n  return y"),
    Rule("number-range", gemm(chain=" >> scale(1e400)"), gemm(chain=" >> scale(1e300)")),
    Rule("stage-form", "  y = x + 1\n  return y", gemm()),
    Rule("unknown-name", "  y = gemm(x, weight.T)\n  return y", gemm()),
    Rule("unknown-stage", "  y = matmul(x, w.T)\n  return y", gemm()),
    Rule("unknown-function", gemm(chain=" >> rely()"), gemm(chain=" >> relu()")),
    Rule("use-before-assign", "  y = map(z + 1)\n  z = gemm(x, w.T)\n  return y", gemm(chain=" >> add(1)")),
    Rule(
        "redefinition",
        "  y = gemm(x, w.T)\n  y = map(y + 1)\n  return y",
        "  y = gemm(x, w.T)\n  z = map(y + 1)\n  return z",
    ),
    Rule("argument-error", gemm(chain=" >> relu(3)"), gemm(chain=" >> leaky_relu(3)")),
    Rule(
        "unknown-type",
        "  h = cast(x, fp16)\n  y = gemm(x, w.T)\n  return y",
        "  h = cast(x, f16)\n  y = gemm(x, w.T)\n  return y",
    ),
    Rule(
        "signature",
        "program p(x: f32[M, K], v: f32[N, K]) -> f32[M, 1024]\n  y = gemm(x, v.T)\n  return y",
        "program p(x: f32[M, K], w: f32[N, K]) -> f32[M, N]\n" + gemm(),
    ),
    Rule(
        "symbol",
        "program p(x: f32[M, K], w: f32[M, K]) -> f32[512, 1024]\n" + gemm(),
        "program p(x: f32[M, K], w: f32[L, K]) -> f32[M, L]\n" + gemm(),
    ),
    Rule("shape-mismatch", "  y = gemm(x, w)\n  return y", gemm()),
    Rule("view", "  y = gemm(x.permute(0, 0), w.T)\n  return y", "  y = gemm(x.permute(0, 1), w.T)\n  return y"),
    Rule("output-type", gemm(".out(f16)"), gemm(".out(f32)")),
    Rule(
        "torch-result",
        "  y = torch.nn.functional.linear(x, w, b)\n  return y",
        "  y = torch.nn.functional.linear(x, w, b) -> f32[M, N]\n  return y",
    ),
    Rule(
        "torch-function",
        '  y = torch.load("f") -> f32[M, N]\n  return y',
        "  y = torch.matmul(x, w.T) -> f32[M, N]\n  return y",
    ),
    Rule("unknown-knob", gemm(".tiles(96, 512, 256)"), gemm(".tile(96, 512, 256)")),
    Rule("repeated-knob", gemm(".stages(2).stages(3)"), gemm(".stages(2).split(3)")),
    Rule("knob-value", gemm(".stages(4)"), gemm(".stages(3)")),
    Rule(
        "target",
        LINEAR_OF.format("f64") + gemm(),
        LINEAR_OF.format("f64") + "  y = torch.matmul(x, w.T) -> f64[M, N]\n  return y",
        SM80,
        problem=linear_of("f64"),
    ),
    Rule("tile", gemm(".tile(128, 260, 32)"), gemm(".tile(128, 192, 32)"), SM90A),
    Rule("tile", gemm(".micro(6, 24)"), gemm(".micro(6, 16)")),
    Rule(
        "tile",
        NN + "  y = gemm(x, w).tile(128, 128, 48)\n  return y",
        NN + "  y = gemm(x, w).tile(128, 128, 64)\n  return y",
        SM90A,
        problem=PLAIN,
    ),
    Rule(
        "tile",
        TN + "  y = gemm(x.T, w).tile(128, 16, 32)\n  return y",
        TN + "  y = gemm(x.T, w).tile(128, 32, 32)\n  return y",
        SM90A,
        problem=TURNED,
    ),
    Rule("cluster", gemm(".cluster(8, 4)"), gemm(".cluster(4, 4)"), SM90A),
    Rule(
        "cluster",
        NN + "  y = gemm(x, w).tile(128, 96, 32).cluster(8, 1)\n  return y",
        NN + "  y = gemm(x, w).tile(128, 96, 32).cluster(4, 1)\n  return y",
        SM90A,
        problem=PLAIN,
    ),
    Rule(
        "cluster",
        NN + "  y = gemm(x, w).tile(128, 8, 32).cluster(2, 1)\n  return y",
        NN + "  y = gemm(x, w).tile(128, 16, 32).cluster(2, 1)\n  return y",
        SM90A,
        problem=PLAIN,
    ),
    Rule("shared-memory", gemm(".tile(128, 256, 32).stages(5)"), gemm(".tile(128, 256, 32).stages(4)"), SM90A),
    Rule("shared-memory", gemm(".tile(256, 128, 128)"), gemm(".tile(256, 128, 64)"), SM90A),
    Rule(
        "schedule",
        gemm(".tile(64, 128, 32).schedule(cooperative)"),
        gemm(".tile(128, 128, 32).schedule(cooperative)"),
        SM90A,
    ),
    Rule("registers", gemm(".tile(256, 256, 32)"), gemm(".tile(256, 192, 32)"), SM90A),
    Rule("registers", gemm(".micro(15, 32)"), gemm(".micro(14, 32)")),
    Rule("grid", THIN, THIN, SM90A, Policy.STRICT, WIDE, HUGE),
    Rule("alignment", gemm(), gemm(".math(f32)"), SM90A, Policy.TF32, ODD),
    Rule(
        "layout",
        "program p(x: f32[A, B, C]) -> f32[A, C]\n  a = x.permute(0, 2, 1).select(0, 0)\n  s = x.select(2, 0)\n"
        "  y = gemm(s, a)\n  return y",
        "program p(x: f32[A, B, C]) -> f32[A, C]\n  a = x.permute(0, 2, 1).select(0, 0)\n  s = map(x.select(2, 0))\n"
        "  y = gemm(s, a)\n  return y",
        SM90A,
        problem=CUBE,
    ),
    Rule(
        "major-ness",
        NN + "  y = gemm(x, w).stages(3)\n  return y",
        NN + "  y = gemm(x, w).stages(auto)\n  return y",
        SM90A,
        problem=PLAIN,
    ),
    Rule("tensor-size", SAME, SAME, problem=ONE, tripping_problem=EMPTY),
    Rule(
        "epilogue",
        "  c = cast(x, f32) >> relu()\n  y = gemm(c, w.T)\n  return y",
        "  c = map(x) >> relu()\n  y = gemm(c, w.T)\n  return y",
    ),
    Rule(
        "epilogue",
        "  i = cast(b, i32)\n" + gemm(chain=" >> mul(i)"),
        "  i = cast(b, f16)\n" + gemm(chain=" >> mul(i)"),
        SM90A,
    ),
    Rule("math", gemm(".acc(f16)"), gemm(".acc(f16).math(f16)"), SM90A),
    Rule(
        "precision",
        "  y = gemm(x, w.T)\n  h = cast(y, f16)\n  z = map(y + h)\n  return z",
        "  y = gemm(x, w.T)\n  h = cast(y, f64)\n  z = cast(h, f32)\n  return z",
        policy=Policy.TF32,
    ),
    Rule("precision", gemm(".math(tf32)"), gemm(".math(f32)"), SM90A, Policy.STRICT),
    row_rule("argument-error", "softmax(x, 1)", "softmax(x)"),
    row_rule("argument-error", "softmax(x, dim=3)", "log_softmax(x, dim=2)"),
    row_rule("argument-error", "layer_norm(x, w, weight=w)", "layer_norm(x, weight=w)"),
    row_rule("argument-error", "layer_norm(weight=w)", "layer_norm(x, weight=w, bias=b)"),
    row_rule("argument-error", "layer_norm(x, bias=b)", "layer_norm(x, w, bias=b)"),
    row_rule("argument-error", "rms_norm(x, w, b)", "rms_norm(x, w)"),
    row_rule("argument-error", "rms_norm(x, w, eps=-1e-5)", "rms_norm(x, w, eps=0)"),
    row_rule("argument-error", "layer_norm(x, eps=inf)", "layer_norm(x, eps=1e-3)"),
    row_rule("argument-error", "map(x + 0)\n  r = reduce(x)", "map(x + 0)\n  r = reduce(x, sum)"),
    row_rule("argument-error", "map(x)\n  r = reduce(x, add)", "map(x)\n  r = reduce(x, sumsq)"),
    row_rule("argument-error", "map(x)\n  r = reduce(x, max, dims=4)", "map(x)\n  r = reduce(x, max, dims=3)"),
    row_rule("argument-error", "map(x)\n  r = reduce(x, max, dims=0)", "map(x)\n  r = reduce(x, max, dims=1)"),
    row_rule(
        "argument-error", "map(x)\n  r = reduce(x, sum, keepdim=1)", "map(x)\n  r = reduce(x, sum, keepdim=true)"
    ),
    row_rule("argument-error", "map(x)\n  r = reduce(x, sum, 2)", "map(x)\n  r = reduce(x, kind=sum, dims=2)"),
    row_rule(
        "shape-mismatch",
        "map(x)\n  r = reduce(s, sum)\n  q = softmax(r)",
        "map(x)\n  r = reduce(s, sum, keepdim=true)\n  q = softmax(r)",
    ),
    row_rule("shape-mismatch", "layer_norm(x, s)", "layer_norm(x, w)"),
    row_rule("shape-mismatch", "layer_norm(x, w, h)", "layer_norm(x, w, b)"),
    row_rule("shape-mismatch", "softmax(x) >> bias(s)", "softmax(x) >> bias(b)"),
    row_rule(
        "shape-mismatch",
        "map(x)\n  r = reduce(x, sum) >> add(x)",
        "map(x)\n  r = reduce(x, sum) >> add(s.unsqueeze(1))",
    ),
    row_rule("layout", "map(x)\n  r = softmax(x.permute(2, 1, 0))", "map(x)\n  r = softmax(x.T)"),
    row_rule("layout", "layer_norm(x, w, b.slice(0, 0, 1).expand(8))", "layer_norm(x, w, b.slice(0, 0, 8))"),
    row_rule(
        "target",
        "map(x)\n  i = cast(x, i32)\n  r = reduce(i, sum)",
        "map(x)\n  i = cast(x, f16)\n  r = reduce(i, sum)",
    ),
    row_rule(
        "target",
        "map(x)\n  d = cast(x, f64)\n  r = softmax(d)",
        "map(x)\n  d = cast(x, bf16)\n  r = softmax(d)",
        SM90A,
    ),
    row_rule("knob-value", "softmax(x).threads(48)", "softmax(x).threads(64).vector(4)", SM90A),
    row_rule("unknown-knob", "softmax(x).tile(4)", "softmax(x).threads(auto)"),
    row_rule("once", "softmax(x) @once", "map(x)\n  r = reduce(w, sumsq) >> sqrt() @once"),
    row_rule(
        "once",
        "map(x)\n  r = reduce(w, sum) >> mul(x.select(0, 0).select(0, 0).select(0, 0)) @once",
        "map(x)\n  r = reduce(w, sum) >> mul(s.select(0, 0)) @once",
    ),
    Rule("epilogue", reduced(), reduced(tail="\n  r = reduce(y, sum)\n  return r"), SM80, problem=REDUCED),
    Rule("epilogue", reduced(".math(f32)"), reduced(".math(tf32)"), SM90A, problem=REDUCED),
    Rule(
        "knob-value",
        reduced(f"{WHOLE}.schedule(streamk)"),
        reduced(f"{WHOLE}.schedule(pingpong)"),
        SM90A,
        problem=REDUCED,
    ),
    Rule("once", gemm().replace("w.T)", "w.T) @once"), "  v = map(w * 2) @once\n  y = gemm(x, v.T)\n  return y"),
)
