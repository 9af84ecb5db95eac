"""Row stages of the sm_90a target along any dimensions, run on the CPU by the emulation, against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kernels.codegen.cuda.row_schedule import schedule_lanes, schedule_rows, space_of
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.ir import Stage
from kernels.targets import Target
from tests.codegen.row_cases import REDUCTIONS, SOFTMAXES, F, Tensors, rms_norm, row_stage, tensor
from tests.codegen.sm90a_emulation import Emulated


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built."""
    return tmp_path_factory.mktemp("built")


def stage(call: str, tensors: Tensors, channels_last: bool = False) -> Stage:
    return row_stage(call, tensors, Target.SM90A, channels_last)


def run(made: Stage, given: dict[str, Any], folder: Path) -> Any:
    """The stage's result, laid out as it says."""
    dtype = getattr(torch, made.result.dtype.torch_name)
    result = torch.empty_strided(made.result.shape, made.result.strides, dtype=dtype)
    result.fill_(-1 if dtype is torch.int64 else math.nan)
    code = emit_stage(made, None)
    names = [name.split(".expand")[0] for name in code.pointers]
    Emulated(code, folder)([given[name] for name in names], result)
    return result


def near(found: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    if found.dtype is torch.int64:
        assert torch.equal(found, wanted)
    else:
        torch.testing.assert_close(found.double(), wanted.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


def along(dims: tuple[int, ...]) -> str:
    return f"dim={dims[0]}" if len(dims) == 1 else f"dim={dims}"


@pytest.mark.parametrize("kind", [*REDUCTIONS, *SOFTMAXES])
@pytest.mark.parametrize("dims", [(1,), (0, 2)])
def test_every_kind_means_what_torch_means(kind: str, dims: tuple[int, ...], built: Path) -> None:
    x = tensor((5, 9, 12))
    call = f"reduce(x, {kind}, {along(dims)})" if kind in REDUCTIONS else f"{kind}(x, {along(dims)})"
    function = {**REDUCTIONS, **SOFTMAXES}[kind]
    near(run(stage(call, {"x": ("f32", x.shape)}), {"x": x}, built), function(x.double(), list(dims)), 1e-4)


@pytest.mark.parametrize("dims", [(0,), (2,), (3,), (0, 1), (0, 2, 3), (1, 3), (0, 3), (0, 1, 2)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_any_dimensions_of_any_layout(dims: tuple[int, ...], channels_last: bool, built: Path) -> None:
    x = tensor((3, 8, 4, 5), channels_last=channels_last)
    given = {"x": ("f32", x.shape), "c": ("f32", (8, 1, 1))}
    c = tensor((8, 1, 1), seed=1)
    made = stage(f"softmax(x, {along(dims)}) >> add(c)", given, channels_last)
    near(run(made, {"x": x, "c": c}, built), SOFTMAXES["softmax"](x.double(), dims) + c)
    made = stage(f"reduce(x, mean, {along(dims)}, keepdim=true) >> abs()", given, channels_last)
    near(run(made, {"x": x}, built), x.double().mean(dims, keepdim=True).abs())


@pytest.mark.parametrize(
    ("kind", "shape", "dtype"),
    [
        ("sum", (20000, 12), "f32"),
        ("argmax", (9000, 48), "f16"),
        ("log_softmax", (20000, 12), "f32"),
        ("var", (20000, 10), "f16"),
    ],
)
def test_few_long_rows_side_by_side_are_spread_over_the_card(
    kind: str, shape: tuple[int, ...], dtype: str, built: Path
) -> None:
    x = tensor(shape, dtype)
    call = f"reduce(x, {kind}, dim=0)" if kind in REDUCTIONS else f"{kind}(x, dim=0)"
    made = stage(call, {"x": (dtype, shape)})
    assert schedule_lanes(made).splits > 8
    function = {**REDUCTIONS, **SOFTMAXES}[kind]
    near(run(made, {"x": x}, built), function(x.double(), [0]), 5e-5 if dtype == "f32" else 4e-3)


@pytest.mark.parametrize("kind", ["softmax", "log_softmax", "argmin", "std"])
@pytest.mark.parametrize("shape", [(5, 1027), (300, 4101), (3, 40003)])
def test_rows_that_begin_between_vectors_give_up_elements_at_both_ends(
    kind: str, shape: tuple[int, ...], built: Path
) -> None:
    x, r, w = tensor(shape), tensor(shape, seed=1), tensor(shape[1:], seed=2)
    reduces = kind in REDUCTIONS
    call = f"reduce(x, {kind})" if reduces else f"{kind}(x) >> mul(w) >> add(r)"
    made = stage(call, {"x": ("f32", shape), "r": ("f32", shape), "w": ("f32", shape[1:])})
    schedule = schedule_rows(made)
    assert (schedule.ragged, schedule.lanes) == (True, 4)
    wanted = {**REDUCTIONS, **SOFTMAXES}[kind](x.double(), [1])
    near(run(made, {"x": x, "r": r, "w": w}, built), wanted if reduces else wanted * w + r, 5e-5)


NORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "layer_norm(x, w, b, dims=3)": lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b),
    "layer_norm(x, dims=2)": lambda x, w, b: F.layer_norm(x, x.shape[2:]),
    "group_norm(x, 3, w, b)": lambda x, w, b: F.group_norm(x, 3, w, b),
    "group_norm(x, 6)": lambda x, w, b: F.group_norm(x, 6),
    "instance_norm(x, w, b)": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
    "batch_norm(x, w)": lambda x, w, b: F.batch_norm(x, None, None, w, None, True),
    "rms_norm(x, w, dim=1)": lambda x, w, b: rms_norm(x, 1, w.reshape(-1, 1, 1)),
}


@pytest.mark.parametrize("call", NORMS)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(("image", "dtype"), [((4, 8), "f32"), ((3, 5), "f32"), ((4, 4), "f16")])
def test_norms_over_several_dimensions(
    call: str, channels_last: bool, image: tuple[int, ...], dtype: str, built: Path
) -> None:
    shape = (3, 6, *image)
    vector = shape[1:] if "dims=3" in call else (6,)
    x, w, b = tensor(shape, dtype, 1, channels_last), tensor(vector, dtype, 2), tensor(vector, dtype, 3)
    r = tensor((6, 1, image[-1]), "f32", 4)
    given = {"x": (dtype, shape), "w": (dtype, vector), "b": (dtype, vector), "r": ("f32", r.shape)}
    made = stage(f"{call} >> add(r)", given, channels_last)
    assert made.result.channels_last == channels_last
    wanted = NORMS[call](x.double(), w.double(), b.double()) + r
    near(run(made, {"x": x, "w": w, "b": b, "r": r}, built), wanted, 5e-5 if dtype == "f32" else 8e-3)


@pytest.mark.parametrize("call", ["batch_norm(x)", "group_norm(x, 2)"])
def test_few_long_rows_of_several_dimensions_are_spread_over_the_card(call: str, built: Path) -> None:
    x = tensor((8, 4, 128, 80))
    made = stage(call, {"x": ("f32", x.shape)})
    assert schedule_rows(made).splits > 1
    wanted = F.batch_norm(x, None, None, training=True) if "batch" in call else F.group_norm(x, 2)
    near(run(made, {"x": x}, built), wanted)


def test_the_first_of_equal_elements_is_named_and_nan_before_all(built: Path) -> None:
    nan = math.nan
    x = torch.tensor([[1, 3, 3, 2], [3, nan, 3, nan], [-1, -1, -1, -1], [math.inf, 0, math.inf, -math.inf]])
    for kind, dim in (("argmax", 1), ("argmax", 0), ("argmin", 1), ("argmin", 0)):
        made = stage(f"reduce(x, {kind}, dim={dim})", {"x": ("f32", (4, 4))})
        near(run(made, {"x": x}, built), getattr(x, kind)(dim))


@pytest.mark.parametrize("dim", [0, 1])
def test_infinities_give_what_they_give_in_torch_side_by_side_too(dim: int, built: Path) -> None:
    x = tensor((6, 40))
    x[0, 0], x[1, 1], x[2, 2] = math.nan, math.inf, -math.inf
    x[3] = -math.inf
    x[:, 7] = -math.inf
    for call, function in (("softmax(x", SOFTMAXES["softmax"]), ("reduce(x, logsumexp", REDUCTIONS["logsumexp"])):
        made = stage(f"{call}, dim={dim})", {"x": ("f32", (6, 40))})
        near(run(made, {"x": x}, built), function(x, [dim]))


def test_a_softmax_that_fits_into_registers_computes_each_exponential_once() -> None:
    source = emit_stage(stage("softmax(x)", {"x": ("f32", (4096, 1024))}), None).unit.source
    assert "its exponential" in source
    assert source.count("exponential(held") == 1


def test_rows_lie_in_pieces_or_side_by_side() -> None:
    given = {"x": ("f32", (6, 5, 8, 8))}
    around = space_of(stage("batch_norm(x)", given))
    assert (around.adjacent, around.rows) == (False, 5)
    assert [(group.extent, group.step) for group in around.reduced] == [(6, 320), (64, 1)]
    assert space_of(stage("softmax(x, dim=1)", given)).adjacent
    assert not space_of(stage("group_norm(x, 5)", given)).adjacent


def test_a_batch_norm_with_a_chain(golden: Callable[[str], None]) -> None:
    given: Tensors = {"x": ("f32", (64, 64, 512, 512)), "w": ("f32", (64,)), "b": ("f32", (64,))}
    golden(emit_stage(stage("batch_norm(x, w, b) >> relu()", given), None).unit.source)


def test_a_softmax_along_the_middle(golden: Callable[[str], None]) -> None:
    given: Tensors = {"x": ("f16", (16, 64, 1024)), "t": ("f16", (64, 1))}
    golden(emit_stage(stage("softmax(x, dim=1) >> add(t)", given), None).unit.source)


def test_a_sum_of_long_rows_side_by_side(golden: Callable[[str], None]) -> None:
    golden(emit_stage(stage("reduce(x, sum, dim=0) >> neg()", {"x": ("f32", (1 << 20, 64))}), None).unit.source)
