"""The loops of a pooling kernel as CUDA text: how elements join, the three ways to read them, the divisor of a mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JOINS = {
    "max": """
constexpr float Neutral = -INFINITY;
// NaN stays, as in torch.
__device__ __forceinline__ float join(float sum, float x) { return x > sum || x != x ? x : sum; }
""",
    "avg": """
constexpr float Neutral = 0;
__device__ __forceinline__ float join(float sum, float x) { return sum + x; }
""",
}
"""By kind."""


def _outer(dims: int, count: int) -> tuple[list[str], str, str]:
    """Loops over the first ``count`` dimensions of a window, the index of a row of x within them, and the indent."""
    rows, indent = [], "    "
    for axis in range(count):
        rows.append(f"{indent}for (int k{axis} = 0; k{axis} < Kernel{axis}; ++k{axis}) {{")
        indent += "  "
        rows.append(f"{indent}Index i{axis} = o{axis} * Stride{axis} - Padding{axis} + k{axis} * Dilation{axis};")
        rows.append(f"{indent}if (i{axis} < 0 || i{axis} >= p.in{axis}) {{ continue; }}")
    place = ""
    for axis in range(count):
        place = f"({place}) * Index(p.in{axis}) + i{axis}" if place else f"{{n}} * Index(p.in{axis}) + i{axis}"
    return rows, place or "{n}", indent


def _closed(rows: list[str], count: int) -> str:
    return "\n".join([*rows, *("  " * depth + "    }" for depth in range(count - 1, -1, -1))])


def reads_vectors(dims: int) -> str:
    """Channels-last: one vector of channels for each element of a window."""
    rows, place, indent = _outer(dims, dims)
    place = place.format(n="n")
    rows += [
        f"{indent}auto in = *reinterpret_cast<Vector<Element> const*>(x + ({place}) * Index(p.channels) + c);",
        "#pragma unroll",
        f"{indent}for (int i = 0; i < Lanes; ++i) {{ sum[i] = join(sum[i], float(in.lane[i])); }}",
    ]
    return _closed(rows, dims)


def reads_row(dims: int, wide: int, seen: int) -> str:
    """Row-major: ``seen`` elements of each row in registers, ``wide`` at once, from which the windows are joined."""
    last = dims - 1
    rows, place, indent = _outer(dims, last)
    place = place.format(n="(n * Index(p.channels) + c)")
    rows = [
        f"    constexpr int Wide = {wide}, Seen = {seen}, Shift = (Wide - Padding{last} % Wide) % Wide;",
        # A group's windows begin a whole number of vectors behind the border.
        f"    Index start = o{last} * Stride{last} - Padding{last} - Shift;",
        *rows,
        f"{indent}Element const* row = x + ({place}) * Index(p.in{last});",
        f"{indent}float seen[Seen];",
        "#pragma unroll",
        f"{indent}for (int part = 0; part < Seen; part += Wide) {{",
        f"{indent}  bool inside = start + part >= 0 && start + part < p.in{last};",
        f"{indent}  Vector<Element, Wide> in;",
        f"{indent}  if (inside) {{ in = *reinterpret_cast<Vector<Element, Wide> const*>(row + start + part); }}",
        "#pragma unroll",
        f"{indent}  for (int j = 0; j < Wide; ++j) {{ seen[part + j] = inside ? float(in.lane[j]) : Neutral; }}",
        f"{indent}}}",
        "#pragma unroll",
        f"{indent}for (int i = 0; i < Lanes; ++i) {{",
        "#pragma unroll",
        f"{indent}  for (int k = 0; k < Kernel{last}; ++k) {{",
        f"{indent}    sum[i] = join(sum[i], seen[Shift + i * Stride{last} + k * Dilation{last}]);",
        f"{indent}  }}",
        f"{indent}}}",
    ]
    return _closed(rows, last)


def reads_windows(dims: int) -> str:
    """Row-major, windows too wide for registers: one element after the other."""
    last = dims - 1
    rows, place, indent = _outer(dims, last)
    place = place.format(n="(n * Index(p.channels) + c)")
    rows += [
        f"{indent}Element const* row = x + ({place}) * Index(p.in{last});",
        f"{indent}for (int k = 0; k < Kernel{last}; ++k) {{",
        "#pragma unroll",
        f"{indent}  for (int i = 0; i < Lanes; ++i) {{",
        f"{indent}    Index j = (o{last} + i) * Stride{last} - Padding{last} + k * Dilation{last};",
        f"{indent}    if (j >= 0 && j < p.in{last}) {{ sum[i] = join(sum[i], float(row[j])); }}",
        f"{indent}  }}",
        f"{indent}}}",
    ]
    return _closed(rows, last)


def divisor_text(attributes: Mapping[str, Any], channels_last: bool) -> list[str]:
    """Declares ``divisor``, how many elements a window counts as torch counts them.

    Row-major that is without the last dimension, whose share for lane ``i`` is ``counted(i)``.
    """
    dims = attributes["dims"]
    counted = range(dims if channels_last else dims - 1)
    rows, parts = [], []
    for axis in counted:
        if _counts_all(attributes, axis):
            parts.append(f"Kernel{axis}")
            continue
        rows.append(f"Index begin{axis} = o{axis} * Stride{axis} - Padding{axis};")
        rows.append(f"Index end{axis} = begin{axis} + Kernel{axis};")
        rows += [f"{line};" for line in _clipped(attributes, axis)]
        parts.append(f"(end{axis} - begin{axis})")
    rows.append(f"float divisor = {' * '.join(f'float({part})' for part in parts) or '1'};")
    if not channels_last:
        rows += _lane_counts(attributes, dims - 1)
    return rows


def _lane_counts(attributes: Mapping[str, Any], axis: int) -> list[str]:
    if _counts_all(attributes, axis):
        return [f"auto counted = [](int) {{ return float(Kernel{axis}); }};"]
    return [
        "auto counted = [&](int i) {",
        f"  Index begin{axis} = (o{axis} + i) * Stride{axis} - Padding{axis}, end{axis} = begin{axis} + Kernel{axis};",
        *(f"  {line};" for line in _clipped(attributes, axis)),
        f"  return float(end{axis} - begin{axis});",
        "};",
    ]


def _counts_all(attributes: Mapping[str, Any], axis: int) -> bool:
    """Whether every window along ``axis`` counts all its elements."""
    kernel, stride, padding = (attributes[name][axis] for name in ("kernel", "stride", "padding"))
    end = (attributes["output"][axis] - 1) * stride - padding + kernel
    border = padding if attributes["count_include_pad"] else 0
    return bool(border == padding and end <= attributes["input"][axis] + border)


def _clipped(attributes: Mapping[str, Any], axis: int) -> list[str]:
    limit = f"Index(p.in{axis})" + (f" + Padding{axis}" if attributes["count_include_pad"] else "")
    rows = [f"end{axis} = end{axis} < {limit} ? end{axis} : {limit}"]
    if not attributes["count_include_pad"]:
        rows.append(f"begin{axis} = begin{axis} > 0 ? begin{axis} : 0")
    return rows
