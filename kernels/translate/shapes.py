"""Reshapes between a product's own shape and the shape its tail is written in.

A tail such as ``gelu(linear(x))`` over a batch of sequences is elementwise on [B, L, N] while the product is
[B·L, N]. Here an operand that broadcasts in the one shape gets its shape in the other.
"""

from __future__ import annotations

Shape = tuple[int, ...]


def groups(left: Shape, right: Shape) -> list[tuple[Shape, Shape]] | None:
    """The finest pairs of neighbouring extents with equal products, outermost first; None where sizes differ."""
    pairs: list[tuple[Shape, Shape]] = []
    i, j = 0, 0
    while i < len(left) and j < len(right):
        start_i, start_j = i, j
        product_left, product_right = left[i], right[j]
        i, j = i + 1, j + 1
        while product_left != product_right:
            if product_left < product_right and i < len(left):
                product_left, i = product_left * left[i], i + 1
            elif product_right < product_left and j < len(right):
                product_right, j = product_right * right[j], j + 1
            else:
                return None
        pairs.append((left[start_i:i], right[start_j:j]))
    # Only extents of one may be left over.
    if any(extent != 1 for extent in (*left[i:], *right[j:])):
        return None
    if i < len(left) or j < len(right):
        pairs.append((left[i:], right[j:]))
    return pairs


def carried(operand: Shape, tail: Shape, product: Shape) -> Shape | None:
    """The shape in which an operand that broadcasts to ``tail`` broadcasts to ``product``; None where there is none.

    Each group of extents must be there as a whole or not at all: [1, O, 1, 1] beside [B, O, H, W] becomes
    [1, O, 1] beside [B, O, H·W]; [1, L, 1] beside [B, L, N] has no form beside [B·L, N].
    """
    if tail == product:
        return operand
    pairs = groups(tail, product)
    if pairs is None or len(operand) > len(tail):
        return None
    wide = (1,) * (len(tail) - len(operand)) + operand
    shape: list[int] = []
    at = 0
    for mine, theirs in pairs:
        part = wide[at : at + len(mine)]
        at += len(mine)
        if part == mine:
            shape += theirs
        elif all(extent == 1 for extent in part):
            shape += [1] * len(theirs)
        else:
            return None
    while shape and shape[0] == 1:
        del shape[0]
    return tuple(shape)
