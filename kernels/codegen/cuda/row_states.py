"""What a thread gathers of a row, as CUDA text: how elements are taken in, how two states are joined, what comes of it.

A state is joined in any order (within a warp, a block, or over blocks through the workspace), so a row is read once:
softmax keeps its largest element so far and the sum relative to it, the norms counts, means and squared deviations
(Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances").
"""

from __future__ import annotations

from dataclasses import dataclass

_BYTES = {"float": 4, "int64_t": 8}


@dataclass(frozen=True, slots=True)
class RowState:
    """``fields`` (name, value in an empty row); ``take`` fills ``made`` from N elements; ``join`` takes in ``b``.

    ``get(k)`` is an element in ``take``; ``place(k)``, where ``places`` says so, its index in the row, and the
    field ``place`` an ``int64_t``.
    """

    fields: tuple[tuple[str, str], ...]
    take: str
    join: str
    places: bool = False

    def _type(self, name: str) -> str:
        return "int64_t" if self.places and name == "place" else "float"

    @property
    def bytes(self) -> int:
        """The size of a state in memory."""
        sizes = [_BYTES[self._type(name)] for name, _ in self.fields]
        return len(sizes) * max(sizes)

    def text(self) -> str:
        """``struct State``. It has no constructors, since it lies in shared memory too."""
        members = "\n".join(f"  {self._type(name)} {name};" for name, _ in self.fields)
        empty = ", ".join(value for _, value in self.fields)
        across = ", ".join(f"__shfl_xor_sync(~0u, {name}, step)" for name, _ in self.fields)
        more = (", class Place", ", Place const& place") if self.places else ("", "")
        return f"""
struct State {{
{members}
  __device__ __forceinline__ static State none() {{ return State{{{empty}}}; }}
  // The state of N elements.
  template <int N, class Get{more[0]}>
  __device__ __forceinline__ static State of(Get const& get{more[1]}) {{
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
    return f"#pragma unroll\nfor (int k = 0; k < N; ++k) {{ {body} }}"


def _single(name: str, empty: str, body: str, join: str) -> RowState:
    return RowState(((name, empty),), _each(f"float x = get(k); {body}"), join)


_LARGER = "{0} != {0} ? {0} : ({0} > {1} ? {0} : {1})"
_SMALLER = "{0} != {0} ? {0} : ({0} < {1} ? {0} : {1})"

_SUM = _single("sum", "0.0f", "made.sum += x;", "sum += b.sum;")
_SIZES = _single("sum", "0.0f", "made.sum += ::fabs(x);", "sum += b.sum;")
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


def _place(sign: str) -> RowState:
    """The first place of the largest element (``sign`` "<": what b must be more than) or of the smallest."""
    return RowState(
        (("most", "0.0f"), ("place", "-1")),
        _each("made.join(State{get(k), place(k)});"),
        f"""
// NaN goes before all numbers, and an empty state behind them; of equal elements the first one stays.
bool same = most == b.most || (most != most && b.most != b.most);
bool better = same ? b.place < place : most == most && (b.most != b.most || most {sign} b.most);
if (b.place >= 0 && (place < 0 || better)) {{ *this = b; }}""",
        places=True,
    )


# fmaxf passes over NaN, which the sum keeps. Equal infinities weigh one; what is made of the row tells them apart.
_EXPONENTIALS = RowState(
    (("most", "-INFINITY"), ("sum", "0.0f")),
    _each("made.most = fmaxf(made.most, get(k));") + "\n" + _each("made.sum += weight(get(k), made.most);"),
    """
float larger = fmaxf(most, b.most);
sum = sum * weight(most, larger) + b.sum * weight(b.most, larger);
most = larger;""",
)
_WEIGHT = """
// exp(x - most); the hardware's exponential has base two.
__device__ __forceinline__ float exponential(float x, float most) { return exp2f((x - most) * 1.44269504f); }
__device__ __forceinline__ float weight(float x, float most) { return x == most ? 1.0f : exponential(x, most); }"""

_MOMENTS = RowState(
    (("count", "0.0f"), ("mean", "0.0f"), ("squares", "0.0f")),
    _each("made.mean += get(k);")
    + "\nmade.mean *= 1.0f / N;\n"
    + _each("float off = get(k) - made.mean; made.squares = fmaf(off, off, made.squares);")
    + "\nmade.count = N;",
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

    @property
    def exponential(self) -> bool:
        """Whether rows that are held are gone over twice: for the largest element, then for the exponentials' sum."""
        return self.state is _EXPONENTIALS and bool(self.numbers)

    def definitions(self) -> str:
        """The state and what it calls."""
        return (_WEIGHT.strip("\n") + "\n" if self.state is _EXPONENTIALS else "") + self.state.text().strip("\n")


# The softmax of an infinity is NaN, and so is that of minus infinities alone: x - most is NaN there.
_SCALED = (("most", "row.most"), ("scale", "row.most == INFINITY ? NAN : 1.0f / row.sum"))
_SHIFTED = (("most", "row.most"), ("total", "row.most == INFINITY ? NAN : ::log(row.sum)"))
_NORMALISED = (("mean", "row.mean"), ("scale", "::rsqrt(row.squares / float(p.columns) + Eps)"))
_NORM = RowKind(_MOMENTS, "(x - mean) * scale", _NORMALISED)

KINDS: dict[str, RowKind] = {
    "sum": RowKind(_SUM, "row.sum"),
    "mean": RowKind(_SUM, "row.sum / float(p.columns)"),
    "prod": RowKind(_PRODUCT, "row.product"),
    "max": RowKind(_MOST, "row.most"),
    "min": RowKind(_LEAST, "row.least"),
    "sumsq": RowKind(_SQUARES, "row.squares"),
    "norm1": RowKind(_SIZES, "row.sum"),
    "norm2": RowKind(_SQUARES, "::sqrt(row.squares)"),
    "var": RowKind(_MOMENTS, "row.squares / float(p.columns - 1)"),
    "std": RowKind(_MOMENTS, "::sqrt(row.squares / float(p.columns - 1))"),
    "argmax": RowKind(_place("<"), "row.place"),
    "argmin": RowKind(_place(">"), "row.place"),
    "logsumexp": RowKind(_EXPONENTIALS, "row.most + ::log(row.sum)"),
    "softmax": RowKind(_EXPONENTIALS, "exponential(x, most) * scale", _SCALED),
    "log_softmax": RowKind(_EXPONENTIALS, "x - most - total", _SHIFTED),
    "layer_norm": _NORM,
    "group_norm": _NORM,
    "instance_norm": _NORM,
    "batch_norm": _NORM,
    "rms_norm": RowKind(_SQUARES, "x * scale", (("scale", "::rsqrt(row.squares / float(p.columns) + Eps)"),)),
}
"""By the attribute ``kind`` of the stage. The maths is torch's: NaN spreads, infinities give what torch gives."""
