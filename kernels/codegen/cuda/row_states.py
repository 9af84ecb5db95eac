"""What a thread gathers of a row, as CUDA text: how a vector is taken in, how two are joined, what is made of it.

A state is joined in any order (within a warp, a block, or over blocks through the workspace), so a row is read once:
softmax keeps its largest element so far and the sum relative to it, layer_norm counts, means and squared deviations
(Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances").
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowState:
    """``fields`` with the values of an empty row; ``take`` sets ``made`` from ``v``; ``join`` takes in ``b``."""

    fields: tuple[tuple[str, str], ...]
    take: str
    join: str

    @property
    def bytes(self) -> int:
        """The size of a state in memory."""
        return 4 * len(self.fields)

    def text(self) -> str:
        """``struct State``. It has no constructors, since it lies in shared memory too."""
        names = [name for name, _ in self.fields]
        empty = ", ".join(value for _, value in self.fields)
        across = ", ".join(f"__shfl_xor_sync(~0u, {name}, step)" for name in names)
        return f"""
struct State {{
  float {", ".join(names)};
  __device__ __forceinline__ static State none() {{ return State{{{empty}}}; }}
  template <class V>
  __device__ __forceinline__ static State of(V const& v) {{
    State made = none();
{_indented(self.take, 4)}
    return made;
  }}
  __device__ __forceinline__ void join(State const& b) {{
{_indented(self.join, 4)}
  }}
  __device__ __forceinline__ State across(int step) const {{
    return State{{{across}}};
  }}
}};"""


def _indented(text: str, columns: int) -> str:
    rows = text.strip("\n").split("\n")
    return "\n".join(row if row.startswith("#") else " " * columns + row for row in rows)


def _each(body: str) -> str:
    return f"#pragma unroll\nfor (int i = 0; i < Lanes; ++i) {{ {body} }}"


def _single(name: str, empty: str, body: str, join: str) -> RowState:
    return RowState(((name, empty),), _each(f"float x = float(v.lane[i]); {body}"), join)


_LARGER = "{0} != {0} ? {0} : ({0} > {1} ? {0} : {1})"
_SMALLER = "{0} != {0} ? {0} : ({0} < {1} ? {0} : {1})"

_SUM = _single("sum", "0.0f", "made.sum += x;", "sum += b.sum;")
_SQUARES = _single("squares", "0.0f", "made.squares = fmaf(x, x, made.squares);", "squares += b.squares;")
_PRODUCT = _single("product", "1.0f", "made.product *= x;", "product *= b.product;")
_MOST = _single(
    "most", "-INFINITY", f"made.most = {_LARGER.format('x', 'made.most')};",
    f"most = {_LARGER.format('most', 'b.most')};",
)  # fmt: skip
_LEAST = _single(
    "least", "INFINITY", f"made.least = {_SMALLER.format('x', 'made.least')};",
    f"least = {_SMALLER.format('least', 'b.least')};",
)  # fmt: skip

# Elements of minus infinity weigh nothing, unless there is nothing else: then torch's softmax is NaN, as 0 / 0 is.
_EXPONENTIALS = RowState(
    (("most", "-INFINITY"), ("sum", "0.0f")),
    _each(f"float x = float(v.lane[i]); made.most = {_LARGER.format('x', 'made.most')};")
    + "\n"
    + _each("made.sum += weight(float(v.lane[i]), made.most);"),
    f"""
float larger = {_LARGER.format("most", "b.most")};
sum = sum * weight(most, larger) + b.sum * weight(b.most, larger);
most = larger;""",
)
_WEIGHT = """
__device__ __forceinline__ float weight(float x, float most) { return x == -INFINITY ? 0.0f : ::exp(x - most); }"""

_MOMENTS = RowState(
    (("count", "0.0f"), ("mean", "0.0f"), ("squares", "0.0f")),
    _each("made.mean += float(v.lane[i]);")
    + "\nmade.mean *= 1.0f / Lanes;\n"
    + _each("float off = float(v.lane[i]) - made.mean; made.squares = fmaf(off, off, made.squares);")
    + "\nmade.count = Lanes;",
    """
float all = count + b.count, off = b.mean - mean;
float part = b.count > 0.0f ? b.count / all : 0.0f;
mean = fmaf(off, part, mean);
squares += b.squares + off * off * count * part;
count = all;""",
)


@dataclass(frozen=True, slots=True)
class RowKind:
    """One kind of row stage: its state, and the numbers a row gives.

    ``numbers`` are declared once a row from ``row`` (the State) and ``p.columns``; ``element`` is computed from them,
    and from the element ``x`` unless the kind is a reduction.
    """

    state: RowState
    element: str
    numbers: tuple[tuple[str, str], ...] = ()

    def definitions(self) -> str:
        """The state and what it calls."""
        return (_WEIGHT.strip("\n") + "\n" if self.state is _EXPONENTIALS else "") + self.state.text().strip("\n")


_SCALED = (("most", "row.most"), ("scale", "1.0f / row.sum"))
_SHIFTED = (("most", "row.most"), ("total", "::log(row.sum)"))

KINDS: dict[str, RowKind] = {
    "sum": RowKind(_SUM, "row.sum"),
    "mean": RowKind(_SUM, "row.sum / float(p.columns)"),
    "prod": RowKind(_PRODUCT, "row.product"),
    "max": RowKind(_MOST, "row.most"),
    "min": RowKind(_LEAST, "row.least"),
    "sumsq": RowKind(_SQUARES, "row.squares"),
    "logsumexp": RowKind(_EXPONENTIALS, "row.most == INFINITY ? row.most : row.most + ::log(row.sum)"),
    "softmax": RowKind(_EXPONENTIALS, "::exp(x - most) * scale", _SCALED),
    "log_softmax": RowKind(_EXPONENTIALS, "x - most - total", _SHIFTED),
    "layer_norm": RowKind(
        _MOMENTS,
        "(x - mean) * scale",
        (("mean", "row.mean"), ("scale", "::rsqrt(row.squares / float(p.columns) + Eps)")),
    ),
    "rms_norm": RowKind(_SQUARES, "x * scale", (("scale", "::rsqrt(row.squares / float(p.columns) + Eps)"),)),
}
"""By the attribute ``kind`` of the stage. The maths is torch's: NaN spreads, infinities give what torch gives."""
