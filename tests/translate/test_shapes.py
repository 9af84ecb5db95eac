"""Operands of a tail in the shape of the product it follows."""

from __future__ import annotations

import pytest

from kernels.translate.shapes import carried, groups

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("operand", "tail", "product", "expected"),
    [
        ((16,), (2, 3, 16), (6, 16), (16,)),
        ((2, 3, 16), (2, 3, 16), (6, 16), (6, 16)),
        ((), (2, 3, 16), (6, 16), ()),
        ((1, 1, 1), (2, 3, 16), (6, 16), ()),
        ((2, 3, 1), (2, 3, 16), (6, 16), (6, 1)),
        ((3, 1), (2, 3, 16), (6, 16), None),
        ((1, 6, 1, 1), (2, 6, 5, 7), (2, 6, 35), (6, 1)),
        ((6, 1, 7), (2, 6, 5, 7), (2, 6, 35), None),
        ((4, 16), (4, 16), (4, 16), (4, 16)),
        ((8, 4), (8, 4, 1), (8, 4), None),
        ((4, 1), (8, 4, 1), (8, 4), (4,)),
    ],
)
def test_an_operand_is_carried_whole_or_not_at_all(
    operand: Shape, tail: Shape, product: Shape, expected: Shape | None
) -> None:
    assert carried(operand, tail, product) == expected


def test_groups_pair_neighbouring_extents_of_equal_size() -> None:
    assert groups((2, 3, 4, 5), (6, 20)) == [((2, 3), (6,)), ((4, 5), (20,))]
    assert groups((2, 6), (3, 4)) == [((2, 6), (3, 4))]
    assert groups((2, 3), (7,)) is None
    assert groups((5, 1), (5,)) == [((5,), (5,)), ((1,), ())]
