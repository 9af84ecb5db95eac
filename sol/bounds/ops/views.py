"""Operations that only look at memory in another way: no arithmetic, no bytes."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, rule

RESHAPES = names("view _unsafe_view reshape flatten unflatten alias detach lift_fresh_copy view_as")
PERMUTES = names("permute transpose t numpy_T swapaxes movedim")
"""Packet names that keep all elements: reshapes keep their order, permutes do not."""


_OTHERS = names(
    "select slice narrow squeeze unsqueeze expand expand_as broadcast_to split split_with_sizes chunk unbind diagonal "
    "unfold as_strided view_as_real view_as_complex real imag mT lift atleast_1d atleast_2d atleast_3d tensor_split"
)


@rule(*RESHAPES, *PERMUTES, *_OTHERS)
def count(call: Call) -> Cost:
    """Nothing moves."""
    return Cost("none", 0, "a view: nothing moves", 0, 0)


@rule(
    "sym_size", "sym_numel", "sym_stride", "_assert_async", "_assert_tensor_metadata", "_assert_scalar", "getitem"
)
def metadata(call: Call) -> Cost:
    """Shapes and checks: nothing of the data."""
    return Cost("none", 0, "metadata: nothing moves", 0, 0)
