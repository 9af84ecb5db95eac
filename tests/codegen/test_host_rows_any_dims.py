"""Row stages of the host along any dimensions, against torch."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from kernels.codegen.host import emit_stage
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage, Value
from kernels.targets import Target
from tests.codegen.row_cases import REDUCTIONS, SOFTMAXES, F, Tensors, rms_norm, row_stage, tensor
from tests.codegen.running import Runner

SHAPES = [(3, 5, 7), (2, 40, 33), (1, 9, 130), (70, 3, 1), (4, 1, 300)]


def run(runner: Runner, call: str, tensors: Tensors, given: dict[str, Any], channels_last: bool = False) -> Any:
    """The stage's result, in the layout that it says."""
    made = row_stage(call, tensors, Target.HOST, channels_last)
    storages = {value.storage: _flat(given[value.storage]) for value in _read(made)}
    flat = runner.run(made, storages).reshape(-1)
    return torch.as_strided(flat, made.result.shape, made.result.strides)


def _read(made: Stage) -> list[Value]:
    return [*made.operands, *chain_values(made.chain)]


def _flat(data: Any) -> Any:
    return torch.as_strided(data, (data.numel(),), (1,))


def near(found: Any, wanted: Any, tolerance: float = 5e-5) -> None:
    if found.dtype is torch.int64:
        assert torch.equal(found, wanted)
    else:
        torch.testing.assert_close(found.double(), wanted.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("kind", [*REDUCTIONS, *SOFTMAXES])
@pytest.mark.parametrize("dims", [(1,), (0,), (0, 2)])
def test_every_kind_means_what_torch_means(kind: str, dims: tuple[int, ...], runner: Runner) -> None:
    function = {**REDUCTIONS, **SOFTMAXES}[kind]
    for shape in SHAPES:
        if kind in ("var", "std") and math.prod(shape[dim] for dim in dims) < 2:
            continue
        x = tensor(shape)
        x = x.sign() * (1 + x / 100) if kind == "prod" else x
        dim = f"dim={dims[0]}" if len(dims) == 1 else f"dim={dims}"
        call = f"reduce(x, {kind}, {dim})" if kind in REDUCTIONS else f"{kind}(x, {dim}).threads(2)"
        near(run(runner, call, {"x": ("f32", shape)}, {"x": x}), function(x.double(), list(dims)))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_side_by_side(dtype: str, runner: Runner) -> None:
    x = tensor((9, 50), dtype)
    tolerance = 4e-3 if dtype == "f16" else 3e-2
    near(run(runner, "softmax(x, dim=0)", {"x": (dtype, x.shape)}, {"x": x}), x.double().softmax(0), tolerance)
    near(run(runner, "reduce(x, mean, dim=0)", {"x": (dtype, x.shape)}, {"x": x}), x.double().mean(0), tolerance)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["sum", "argmin", "logsumexp", "var", "softmax", "log_softmax"])
def test_threads_that_share_long_rows_side_by_side_give_the_same(kind: str, threads: int, runner: Runner) -> None:
    x = tensor((5000, 21))
    reduces = kind in REDUCTIONS
    call = f"reduce(x, {kind}, dim=0).threads({threads})" if reduces else f"{kind}(x, dim=0).threads({threads})"
    wanted = {**REDUCTIONS, **SOFTMAXES}[kind](x.double(), [0])
    near(run(runner, call, {"x": ("f32", x.shape)}, {"x": x}), wanted)


@pytest.mark.parametrize("seed", range(12))
def test_any_dimensions_of_any_layout_with_a_chain(seed: int, runner: Runner) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 5, 8, 19]) for _ in range(rng.choice([3, 4, 5])))
    channels_last = rng.random() < 0.5
    dims = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape) - 1))))
    x = tensor(shape, "f32", seed, channels_last)
    kept = tuple(extent if rng.random() < 0.6 else 1 for extent in shape)
    t = tensor(kept, "f32", seed + 1)
    dim = f"dim={dims[0]}" if len(dims) == 1 else f"dim={dims}"
    tensors: Tensors = {"x": ("f32", shape), "t": ("f32", kept)}
    found = run(runner, f"softmax(x, {dim}) >> add(t)", tensors, {"x": x, "t": t}, channels_last)
    near(found, SOFTMAXES["softmax"](x.double(), dims) + t)
    flat = tuple(1 if axis in dims else extent for axis, extent in enumerate(kept))
    t = tensor(flat, "f32", seed + 2)
    tensors = {"x": ("f32", shape), "t": ("f32", flat)}
    call = f"reduce(x, norm1, {dim}, keepdim=true) >> mul(t)"
    found = run(runner, call, tensors, {"x": x, "t": t}, channels_last)
    near(found, x.double().abs().sum(dims, keepdim=True) * t)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("image", [(4, 8), (3, 5)])
def test_norms_over_several_dimensions(image: tuple[int, ...], channels_last: bool, runner: Runner) -> None:
    shape = (3, 6, *image)
    x, w, b = tensor(shape, "f32", 1, channels_last), tensor((6,), "f32", 2), tensor((6,), "f32", 3)
    all_w, r = tensor(shape[1:], "f32", 4), tensor((6, 1, image[1]), "f32", 5)
    tensors: Tensors = {
        "x": ("f32", shape), "w": ("f32", (6,)), "b": ("f32", (6,)), "a": ("f32", shape[1:]), "r": ("f32", r.shape),
    }  # fmt: skip
    given = {"x": x, "w": w, "b": b, "a": all_w, "r": r}
    wanted = {
        "layer_norm(x, a, dims=3)": F.layer_norm(x, shape[1:], all_w),
        "group_norm(x, 3, w, b)": F.group_norm(x, 3, w, b),
        "group_norm(x, 6)": F.group_norm(x, 6),
        "instance_norm(x, w, b)": F.instance_norm(x, weight=w, bias=b),
        "batch_norm(x, w, b)": F.batch_norm(x, None, None, w, b, True),
        "rms_norm(x, w, dim=1)": rms_norm(x, 1, w.reshape(-1, 1, 1)),
    }
    for call, exact in wanted.items():
        near(run(runner, f"{call} >> add(r)", tensors, given, channels_last), exact + r)


def test_a_batch_norm_of_a_table(runner: Runner) -> None:
    x, w, b = tensor((300, 37)), tensor((37,), seed=1), tensor((37,), seed=2)
    given: Tensors = {"x": ("f32", x.shape), "w": ("f32", w.shape), "b": ("f32", b.shape)}
    found = run(runner, "batch_norm(x, w, b) >> relu()", given, {"x": x, "w": w, "b": b})
    near(found, F.batch_norm(x.double(), None, None, w.double(), b.double(), True).relu())


def test_the_first_of_equal_elements_is_named_and_nan_before_all(runner: Runner) -> None:
    nan = math.nan
    x = torch.tensor([[1, 3, 3, 2], [3, nan, 3, nan], [-1, -1, -1, -1], [math.inf, 0, math.inf, -math.inf]])
    for kind, dim in (("argmax", 1), ("argmax", 0), ("argmin", 1), ("argmin", 0)):
        found = run(runner, f"reduce(x, {kind}, dim={dim})", {"x": ("f32", (4, 4))}, {"x": x})
        near(found, getattr(x, kind)(dim))


def test_places_in_long_rows(runner: Runner) -> None:
    x = tensor((2, 40_003))
    x[0, 39_000] = x[0, 4_500] = 99
    near(run(runner, "reduce(x, argmax).threads(3)", {"x": ("f32", x.shape)}, {"x": x}), x.argmax(1))
    near(run(runner, "reduce(x, argmin, dims=2)", {"x": ("f32", x.shape)}, {"x": x}), x.argmin())


@pytest.mark.parametrize("dim", [0, 1])
def test_infinities_give_what_they_give_in_torch_side_by_side_too(dim: int, runner: Runner) -> None:
    x = tensor((6, 40))
    x[0, 0], x[1, 1], x[2, 2] = math.nan, math.inf, -math.inf
    x[3] = -math.inf
    x[:, 7] = -math.inf
    for call, function in (("softmax(x", SOFTMAXES["softmax"]), ("reduce(x, logsumexp", REDUCTIONS["logsumexp"])):
        near(run(runner, f"{call}, dim={dim})", {"x": ("f32", (6, 40))}, {"x": x}), function(x, [dim]))


def test_stages_that_differ_in_sizes_share_a_unit() -> None:
    sizes = ((4, 5, 6), (9, 100, 33))
    made = [row_stage("softmax(x, dim=1)", {"x": ("f32", shape)}, Target.HOST) for shape in sizes]
    assert len({emit_stage(stage, None).unit.symbol for stage in made}) == 1
