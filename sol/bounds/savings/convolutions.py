"""What a convolution can do without: products with padding, and those that Winograd's and FFT algorithms avoid.

F(m, r), m outputs of an r-tap filter, takes m + r - 1 multiplications instead of m·r (S. Winograd, "Arithmetic
Complexity of Computations", SIAM 1980; in two dimensions A. Lavin and S. Gray, "Fast Algorithms for Convolutional
Neural Networks", CVPR 2016). Here m is the larger of four and r, transforms cost nothing, and both axes save: more than
any known implementation reaches, FFT for long filters included.
"""

from __future__ import annotations

import math

import numpy as np

from sol.bounds.graph import Call
from sol.bounds.ops.convolution import Convolution, describe

_OUTPUTS = 4


def taps_in_data(conv: Convolution, axis: int) -> float:
    """The share of an axis's window positions that meet data, not padding (transposed: that land in the output)."""
    many, few = conv.spatial_out[axis], conv.spatial_in[axis]
    if conv.transposed:
        many, few = few, many
    starts = np.arange(many) * conv.stride[axis] - conv.padding[axis]
    taps = np.arange(conv.kernel[axis]) * conv.dilation[axis]
    if many * len(taps) > 2**22:
        return 1.0 - min(1.0, 2 * conv.padding[axis] / max(few, 1))
    places = starts[:, None] + taps[None, :]
    return float(((places >= 0) & (places < few)).mean()) if places.size else 1.0


def fast_algorithm(conv: Convolution) -> float:
    """The share of multiplications left by F(m, r) along every axis, r the taps that one phase of the stride meets."""
    share = 1.0
    for kernel, stride in zip(conv.kernel, conv.stride, strict=True):
        taps = math.ceil(kernel / stride)
        outputs = max(_OUTPUTS, taps)
        share *= (outputs + taps - 1) / (outputs * taps)
    return share


def saving(call: Call) -> list[tuple[float, str]]:
    """Factors on the FLOPs, each with its reason."""
    conv = describe(call)
    found = []
    data = math.prod(taps_in_data(conv, axis) for axis in range(len(conv.kernel)))
    if data < 1:
        found.append((data, f"{1 - data:.1%} of the taps meet padding"))
    fast = fast_algorithm(conv)
    if fast < 1:
        found.append((fast, f"a Winograd or FFT algorithm leaves {fast:.3g} of the multiplications"))
    return found
