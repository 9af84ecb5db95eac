"""Tricks of compiled kernels, each with the reason that it must end in; the honest kernel beside them passes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from kernels.dtypes import DType
from kernels.harness import evaluate, verification
from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Evaluation, Outcome
from kernels.harness.tolerance import profile
from kernels.harness.verification import Verification
from tests.harness.conftest import MakeRequest
from tests.harness.local import local
from tests.harness.programs import HEAD, one_launch

KEPT = "static float kept[1 << 16]; static int calls = 0; "

TRICKS = {
    # The answer is remembered.
    "cache_by_pointer": (
        "static const float* known[8]; static float kept[8][1 << 16]; static int count = 0; int i = 0; "
        "while (i < count && known[i] != x) i++; if (i == count) { known[count++] = x; right(x, b, kept[i], m, n); } "
        "memcpy(y, kept[i], m * n * 4); return 0;",
        IncorrectReason.STALE,
    ),
    "cache_by_fingerprint": (
        KEPT + "static float print[8]; if (!calls++ || memcmp(print, x, sizeof print)) { "
        "memcpy(print, x, sizeof print); right(x, b, kept, m, n); } memcpy(y, kept, m * n * 4); return 0;",
        IncorrectReason.STALE,
    ),
    "cache_by_sampled_sum": (
        KEPT + "static float last = 0; float s = 0; for (int64_t i = 0; i < m * n; i += 37) s += x[i]; "
        "if (s != last) { last = s; right(x, b, kept, m, n); } memcpy(y, kept, m * n * 4); return 0;",
        IncorrectReason.STALE,
    ),
    "cache_by_shape": (
        KEPT + "static int64_t size = 0; if (size != m * n) { size = m * n; right(x, b, kept, m, n); } "
        "memcpy(y, kept, m * n * 4); return 0;",
        IncorrectReason.STALE,
    ),
    "computes_in_warm_up_and_copies_later": (
        KEPT + "if (calls++ < 3) right(x, b, kept, m, n); memcpy(y, kept, m * n * 4); return 0;",
        IncorrectReason.STALE,
    ),
    "replays_a_captured_input": (
        "static float seen[1 << 16]; static int calls = 0; if (!calls++) memcpy(seen, x, m * n * 4); "
        "right(seen, b, y, m, n); return 0;",
        IncorrectReason.STALE,
    ),
    "cache_by_all_contents": (
        "static uint64_t keys[64]; static float kept[64][1 << 13]; static int next = 0; "
        "uint64_t h = 14695981039346656037u; "
        "for (int64_t i = 0; i < m * n; i++) { uint32_t u; memcpy(&u, x + i, 4); h = (h ^ u) * 1099511628211u; } "
        "int k = 0; while (k < 64 && keys[k] != h) k++; if (k == 64) { k = next++ % 64; keys[k] = h; "
        "for (int r = 0; r < 300; r++) right(x, b, kept[k], m, n); } memcpy(y, kept[k], m * n * 4); return 0;",
        IncorrectReason.REPEATS,
    ),
    # The inputs take no part.
    "constant": ("for (int64_t i = 0; i < m * n; i++) y[i] = 0.5f; return 0;", IncorrectReason.STALE),
    "zeros": ("memset(y, 0, m * n * 4); return 0;", IncorrectReason.ALL_ZERO),
    "ignores_its_input": (
        "for (int64_t i = 0; i < m * n; i++) y[i] = b[i % n] > 0 ? b[i % n] : 0; return 0;",
        IncorrectReason.STALE,
    ),
    "identity": ("memcpy(y, x, m * n * 4); return 0;", IncorrectReason.VALUES),
    "drops_the_weights": (
        "for (int64_t i = 0; i < m * n; i++) y[i] = x[i] > 0 ? x[i] : 0; return 0;",
        IncorrectReason.VALUES,
    ),
    # The data is made to fit.
    "alters_its_inputs": (
        "right(x, b, y, m, n); ((float*)x)[m * n - 1] = 0; return 0;",
        IncorrectReason.INPUTS_CHANGED,
    ),
    "alters_the_weights": ("right(x, b, y, m, n); ((float*)b)[0] = 0; return 0;", IncorrectReason.PARAMETERS_CHANGED),
    # Less is done.
    "skips_a_tile": (
        "for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) { if (i < 64 && j >= 64) continue; "
        "float v = x[i * n + j] + b[j]; y[i * n + j] = v > 0 ? v : 0; } return 0;",
        IncorrectReason.NOT_WRITTEN,
    ),
    "zeros_in_a_tile": (
        "right(x, b, y, m, n); for (int64_t i = 0; i < m; i++) for (int64_t j = 64; j < n; j++) y[i * n + j] = 0; "
        "return 0;",
        IncorrectReason.VALUES,
    ),
    "skips_the_last_row": ("right(x, b, y, m - 1, n); return 0;", IncorrectReason.NOT_WRITTEN),
    "relies_on_zeroed_memory": (
        "for (int64_t i = 0; i < m * n; i++) { float v = x[i] + b[i % n]; y[i] += v > 0 ? v : 0; } return 0;",
        IncorrectReason.NOT_WRITTEN,
    ),
    "launches_nothing": ("return 0;", IncorrectReason.NOT_WRITTEN),
    "only_the_first_call": ("static int calls = 0; if (!calls++) right(x, b, y, m, n); return 0;",
                            IncorrectReason.NOT_WRITTEN),
    # Numbers.
    "divides_by_zero": ("right(x, b, y, m, n); y[7] = x[7] / 0.0f; return 0;", IncorrectReason.NOT_FINITE),
    "races": (
        "static unsigned seed = 1; right(x, b, y, m, n); seed = seed * 1664525u + 1013904223u; "
        "y[(seed >> 8) % (m * n)] += 1; return 0;",
        IncorrectReason.NON_DETERMINISTIC,
    ),
    # A process of its own.
    "leaves_a_process": (
        "static int calls = 0; if (!calls++ && !fork()) { setsid(); pause(); } right(x, b, y, m, n); return 0;",
        IncorrectReason.PROCESSES,
    ),
}  # fmt: skip

HONEST = {
    "honest": "right(x, b, y, m, n); return 0;",
    "another_order_each_time": "static float c = 0; right(x, b, y, m, n); c += 1e-7f; y[0] += c; return 0;",
    "slow": "for (int r = 0; r < 300; r++) right(x, b, y, m, n); return 0;",
    "own_scratch": "static float t[1 << 16]; right(x, b, t, m, n); memcpy(y, t, m * n * 4); return 0;",
}


@pytest.fixture(scope="module")
def tricks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tricks")
    bodies = {name: body for name, (body, _) in TRICKS.items()} | HONEST | {"rounds_to_tf32": TF32, "on_disk": DISK}
    source = folder / "tricks.cpp"
    source.write_text(HEAD + "\n".join(f"API {name}(BIAS_RELU) {{ {body} }}" for name, body in bodies.items()))
    library = folder / "tricks.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-w", str(source), "-o", str(library)], check=True)
    return library


TF32 = (
    "for (int64_t i = 0; i < m * n; i++) { float v = x[i]; uint32_t u; memcpy(&u, &v, 4); u &= 0xffffe000; "
    "memcpy(&v, &u, 4); v += b[i % n]; y[i] = v > 0 ? v : 0; } return 0;"
)
DISK = (
    'FILE* f = fopen("/tmp/answer.bin", "rb"); if (f) { (void)!fread(y, 4, m * n, f); fclose(f); return 0; } '
    'right(x, b, y, m, n); f = fopen("/tmp/answer.bin", "wb"); if (f) { fwrite(y, 4, m * n, f); fclose(f); } return 0;'
)


def run(make_request: MakeRequest, library: Path, symbol: str, **fields: object) -> Evaluation:
    return evaluate(make_request(plan=one_launch(symbol), artifacts={symbol: str(library)}, **fields))


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_ends_incorrect_with_its_reason(make_request: MakeRequest, tricks: Path, trick: str) -> None:
    evaluation = run(make_request, tricks, trick)
    assert evaluation.outcome is Outcome.INCORRECT, evaluation.detail
    assert evaluation.reason is TRICKS[trick][1], evaluation.detail
    assert evaluation.detail.startswith(evaluation.reason.words)
    assert evaluation.candidate is None


def test_a_sample_that_held_the_element_changed_first_is_stale_at_the_next(
    make_request: MakeRequest, tricks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is then that for the element before, and that of no round of fresh values."""
    places = iter((0, 1, 2))

    def change(inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor], str]:
        x, place = inputs[0].clone(), next(places)
        x.view(-1)[place] = x.max() + 1
        return [x, *inputs[1:]], f"element {place}"

    monkeypatch.setattr(verification, "change_one", change)
    monkeypatch.setattr(verification, "_PLACES_SECONDS", 60.0)
    trick = "cache_by_sampled_sum"
    request = make_request(plan=one_launch(trick), artifacts={trick: str(tricks)})
    with local(request) as here:
        found = {check.name: check for check in Verification(request, here.reference, here.subject).run()}
    assert found["one element changed"].failed
    assert found["follows the inputs"].failed
    assert found["follows the inputs"].note == "another element changed: the answer stayed the same bit by bit"


@pytest.mark.parametrize("kernel", HONEST)
def test_an_honest_kernel_passes(make_request: MakeRequest, tricks: Path, kernel: str) -> None:
    evaluation = run(make_request, tricks, kernel)
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    assert evaluation.reason is None


def test_a_skipped_tile_is_named_by_its_place(make_request: MakeRequest, tricks: Path) -> None:
    evaluation = run(make_request, tricks, "zeros_in_a_tile")
    worst = evaluation.rounds[0].errors
    assert worst is not None
    assert worst.tile is not None
    assert (worst.tile.rows, worst.tile.columns) == ((0, 64), (64, 96))
    assert "columns 64–95 of output 0" in evaluation.detail


def test_lower_precision_than_declared_fails_the_strict_profile_alone(
    make_request: MakeRequest, tricks: Path
) -> None:
    strict = run(make_request, tricks, "rounds_to_tf32", tolerance=profile("strict", DType.F32))
    assert (strict.outcome, strict.reason) == (Outcome.INCORRECT, IncorrectReason.VALUES)
    loose = run(make_request, tricks, "rounds_to_tf32", tolerance=profile("kernelbench-v0.1", DType.F32))
    assert loose.outcome is Outcome.PASSED, loose.detail


def test_answers_on_disk_are_stale_within_an_evaluation_and_gone_in_the_next(
    make_request: MakeRequest, tricks: Path
) -> None:
    for _ in range(2):
        evaluation = run(make_request, tricks, "on_disk")
        assert (evaluation.outcome, evaluation.reason) == (Outcome.INCORRECT, IncorrectReason.STALE)
        assert evaluation.rounds[0].errors is not None
        assert evaluation.rounds[0].errors.matched == 1.0, "its first call found no file of another evaluation"
