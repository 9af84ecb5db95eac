from __future__ import annotations

import pytest
import torch

from kernels.dsl.views import VIEWS, ViewRefused, broadcast_shapes, broadcast_to, fresh
from kernels.dtypes import DType

BASE = fresh("x", DType.F32, (4, 6, 10))
VECTOR = fresh("v", DType.F32, (10,))


def like_torch(text: str) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides and offset that torch gives for a view of ``BASE``, written as in the language."""
    x = torch.empty(4, 6, 10)
    x_t = x.transpose(-1, -2)
    views = {
        "T": lambda: x_t,
        "reshape(24, 10)": lambda: x.reshape(24, 10),
        "reshape(-1, 5)": lambda: x.reshape(-1, 5),
        "permute(2, 0, 1)": lambda: x.permute(2, 0, 1),
        "permute(-1, 0, 1)": lambda: x.permute(-1, 0, 1),
        "slice(1, 2, 5)": lambda: x[:, 2:5],
        "slice(-1, -4, -1)": lambda: x[:, :, -4:-1],
        "select(0, 3)": lambda: x[3],
        "select(2, -1)": lambda: x[:, :, -1],
        "unsqueeze(0)": lambda: x.unsqueeze(0),
        "unsqueeze(3)": lambda: x.unsqueeze(3),
        "unsqueeze(-2)": lambda: x.unsqueeze(-2),
        "expand(2, 4, 6, 10)": lambda: x.expand(2, 4, 6, 10),
        "expand(4, -1, 10)": lambda: x.expand(4, -1, 10),
    }
    view = views[text]()
    return tuple(view.shape), tuple(view.stride()), view.storage_offset()


@pytest.mark.parametrize(
    "text",
    [
        "T",
        "reshape(24, 10)",
        "reshape(-1, 5)",
        "permute(2, 0, 1)",
        "permute(-1, 0, 1)",
        "slice(1, 2, 5)",
        "slice(-1, -4, -1)",
        "select(0, 3)",
        "select(2, -1)",
        "unsqueeze(0)",
        "unsqueeze(3)",
        "unsqueeze(-2)",
        "expand(2, 4, 6, 10)",
        "expand(4, -1, 10)",
    ],
)
def test_views_have_the_shape_strides_and_offset_of_torch(text: str) -> None:
    name, _, numbers = text.removesuffix(")").partition("(")
    args = [int(number) for number in numbers.split(",") if number]
    view = VIEWS[name][0](BASE, *args)
    assert (view.shape, view.strides, view.offset) == like_torch(text)
    assert view.storage == "x"
    assert view.name.startswith(f"x.{name}")


def test_views_of_views_keep_the_storage_and_name_their_way() -> None:
    view = VIEWS["select"][0](VIEWS["T"][0](BASE), 0, 1)
    assert view.name == "x.T.select(0, 1)"
    assert (view.offset, view.storage) == (60, "x")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("reshape", (5, 5)),
        ("reshape", (-1, -1)),
        ("reshape", (-2, 120)),
        ("reshape", (-1, 7)),
        ("permute", (0, 1)),
        ("permute", (0, 1, 3)),
        ("permute", (0, 1, 1)),
        ("slice", (0, 2, 2)),
        ("slice", (0, 0, 5)),
        ("slice", (3, 0, 1)),
        ("select", (0, 4)),
        ("select", (0, -5)),
        ("squeeze", (0,)),
        ("unsqueeze", (5,)),
        ("expand", (6, 10)),
        ("expand", (4, 6, 11)),
        ("expand", (-1, 4, 6, 10)),
    ],
)
def test_it_refuses_views_that_torch_refuses(name: str, args: tuple[int, ...]) -> None:
    with pytest.raises(ViewRefused) as refused:
        VIEWS[name][0](BASE, *args)
    assert refused.value.what
    assert refused.value.mend


def test_a_reshape_that_would_copy_is_refused() -> None:
    with pytest.raises(ViewRefused, match="row-major"):
        VIEWS["reshape"][0](VIEWS["T"][0](BASE), 240)


def test_t_takes_two_dimensions() -> None:
    with pytest.raises(ViewRefused, match="1 dimension"):
        VIEWS["T"][0](VECTOR)


def test_a_squeeze_drops_an_extent_of_one() -> None:
    assert VIEWS["squeeze"][0](VIEWS["unsqueeze"][0](VECTOR, 0), 0).shape == (10,)


def test_broadcasting_repeats_with_stride_zero() -> None:
    wide = broadcast_to(VECTOR, (4, 6, 10))
    assert (wide.shape, wide.strides) == ((4, 6, 10), (0, 0, 1))
    assert broadcast_to(BASE, (4, 6, 10)) is BASE


def test_shapes_broadcast_as_in_torch() -> None:
    assert broadcast_shapes((4, 1, 10), (6, 1)) == (4, 6, 10)
    assert broadcast_shapes((), (3,)) == (3,)
    assert broadcast_shapes((0,), (1,)) == (0,)
    assert broadcast_shapes((4,), (3,)) is None
