"""Counts and bounds worked out by hand: each test's first lines hold the arithmetic, to be checked with a pencil.

The card is an H100 SXM: 132 SMs; 2,048 TF32 and 4,096 BF16 FLOP a clock and SM; 1.83 GHz for steering and 1.98 GHz for
the floor; 3.35 TB/s; 50 MiB (52,428,800 B) of cache. FP32 has 4 bytes, BF16 2. Policy tf32 unless another is named.
"""

from __future__ import annotations

import pytest

from kernels.targets import Policy
from sol.bounds import Bounds, Work
from tests.sol.modules import worked

TF32 = 132 * 2048 * 1.83e9
"""494.7 TFLOP/s."""
TF32_HIGHEST = 132 * 2048 * 1.98e9
"""535.3 TFLOP/s."""
MEMORY = 3.35e12
CACHE = 52_428_800


def holds(name: str, matrix: int, moved: int, policy: Policy = Policy.TF32) -> tuple[Work, Bounds]:
    """A module's matrix FLOPs and compulsory bytes are these, and nothing of it is unknown."""
    work, bounds = worked(name, policy)
    assert (work.matrix_flops, work.bytes, work.unknown_ops) == (matrix, moved, ())
    return work, bounds


def memory_bound(bounds: Bounds, moved: int) -> None:
    """Both bounds are these bytes over the memory's rate, the floor without what the cache may hold."""
    assert bounds.bound_class == "memory"
    assert bounds.steering_s == pytest.approx(moved / MEMORY)
    assert bounds.floor_s == pytest.approx((moved - CACHE) / MEMORY)


# --- matrix products: the shapes of KernelBench's level 1, 1 to 18 ---------------------------------------------------
def test_square_in_bf16() -> None:
    """2·4096³ = 137,438,953,472 FLOP = 137.4 GFLOP; ÷ (132·4096·1.83e9 = 989.4 TFLOP/s) = 0.1389 ms ≥ 0.138 ms.
    3·4096²·2 B = 100,663,296 B = 100.7 MB; ÷ 3.35 TB/s = 0.03005 ms ≥ 0.030 ms."""
    _, bounds = holds("square_bf16", 137_438_953_472, 100_663_296)
    assert bounds.compute_s == pytest.approx(0.1389e-3, rel=1e-3)
    assert bounds.compute_s >= 0.138e-3
    assert bounds.memory_s == pytest.approx(0.03005e-3, rel=1e-3)
    assert bounds.memory_s >= 0.030e-3


def test_square() -> None:
    """1: 2·4096³ = 137,438,953,472; ÷ 494.7e12 = 277.8 µs; floor ÷ 535.3e12 = 256.8 µs. 3·4096²·4 = 201,326,592 B."""
    _, bounds = holds("square", 137_438_953_472, 201_326_592)
    assert bounds.steering_s == pytest.approx(277.8e-6, rel=1e-3)
    assert bounds.floor_s == pytest.approx(256.8e-6, rel=1e-3)
    assert bounds.ridge == pytest.approx(147.7, rel=1e-3)


def test_standard() -> None:
    """2: 2·2048·4096·8192 = 137,438,953,472. (2048·8192 + 8192·4096 + 2048·4096)·4 = 234,881,024 B."""
    _, bounds = holds("standard", 137_438_953_472, 234_881_024)
    assert bounds.steering_s == pytest.approx(137_438_953_472 / TF32)


def test_batched() -> None:
    """3: 128·2·512·2048·1024 = 274,877,906,944, 0.5556 ms. 128·(512·1024 + 1024·2048 + 512·2048)·4 = 1,879,048,192 B,
    0.5609 ms: the memory, by a hair."""
    _, bounds = holds("batched", 274_877_906_944, 1_879_048_192)
    assert bounds.compute_s == pytest.approx(0.5556e-3, rel=1e-3)
    memory_bound(bounds, 1_879_048_192)


def test_matrix_vector() -> None:
    """4: 2·2048·1048576 = 4,294,967,296. (2048·1048576 + 1048576 + 2048)·4 = 8,594,137,088 B."""
    _, bounds = holds("matrix_vector", 4_294_967_296, 8_594_137_088)
    memory_bound(bounds, 8_594_137_088)


def test_matrix_times_scalar() -> None:
    """5: no product of matrices; 65536·16384 = 1,073,741,824 multiplications; 2·4 B each = 8,589,934,592 B."""
    work, bounds = holds("scaled", 0, 8_589_934_592)
    assert work.vector_flops == 1_073_741_824
    memory_bound(bounds, 8_589_934_592)


def test_large_k() -> None:
    """6: 2·256·256·524288 = 68,719,476,736, 0.1389 ms. (2·256·524288 + 256²)·4 = 1,074,003,968 B, 0.3206 ms."""
    _, bounds = holds("large_k", 68_719_476_736, 1_074_003_968)
    memory_bound(bounds, 1_074_003_968)


def test_small_k() -> None:
    """7: 2·32768²·64 = 137,438,953,472, 0.2778 ms. (2·32768·64 + 32768²)·4 = 4,311,744,512 B, 1.2871 ms."""
    _, bounds = holds("small_k", 137_438_953_472, 4_311_744_512)
    memory_bound(bounds, 4_311_744_512)


def test_irregular() -> None:
    """8: 2·8205·5921·2949 = 286,535,485,890. (8205·2949 + 2949·5921 + 8205·5921)·4 = 360,957,516 B."""
    _, bounds = holds("irregular", 286_535_485_890, 360_957_516)
    assert bounds.bound_class == "compute"
    assert bounds.floor_s == pytest.approx(286_535_485_890 / TF32_HIGHEST)


def test_tall_and_skinny() -> None:
    """9: 2·32768²·32 = 68,719,476,736. (2·32768·32 + 32768²)·4 = 4,303,355,904 B: intensity 15.97 under ridge 147.7."""
    _, bounds = holds("tall_skinny", 68_719_476_736, 4_303_355_904)
    assert bounds.intensity == pytest.approx(15.97, rel=1e-3)
    memory_bound(bounds, 4_303_355_904)


def test_three_axes() -> None:
    """10: 2·(16·1024)·768·2048 = 51,539,607,552. (16·1024·2048 + 2048·768 + 16·1024·768)·4 = 190,840,832 B."""
    holds("three_axes", 51_539_607_552, 190_840_832)


def test_four_axes_by_einsum() -> None:
    """11: 2·(8·256·512)·768·256 = 412,316,860,416. (8·256·512·256 + 256·768 + 8·256·512·768)·4 = 4,295,753,728 B."""
    holds("four_axes", 412_316_860_416, 4_295_753_728)


def test_diagonal_as_rows_scaled() -> None:
    """12: 4096² = 16,777,216 multiplications; (4096 + 2·4096²)·4 = 134,234,112 B: one read, one write."""
    work, bounds = holds("diagonal_scale", 0, 134_234_112)
    assert work.vector_flops == 16_777_216
    memory_bound(bounds, 134_234_112)


def test_diagonal_as_a_product() -> None:
    """12 written as ``diag(a) @ B``: as written 2·4096³ = 137,438,953,472. Of the left factor 1 in 4096 elements is no
    zero: 137,438,953,472 ÷ 4096 = 33,554,432 are left, 0.06 µs. One read and one write, (4096 + 2·4096²)·4 =
    134,234,112 B, bind the floor: (134,234,112 − 52,428,800) ÷ 3.35e12 = 24.42 µs."""
    _, bounds = holds("diagonal_product", 137_438_953_472, 134_234_112)
    assert bounds.floor_flops == 33_554_432
    assert bounds.floor_bytes == 134_234_112
    assert bounds.floor_s == pytest.approx(24.42e-6, rel=1e-3)


@pytest.mark.parametrize("name", ["upper", "lower"])
def test_triangles(name: str) -> None:
    """14, 15: as written 137,438,953,472. The result's triangle has 4096·4097/2 = 8,390,656 of 16,777,216 elements; a
    third of each one's products is no zero where both factors are triangles too (2·n³/6 in all):
    137,438,953,472 · 8,390,656/16,777,216 / 3 = 22,912,084,650.7. Half of A and B is read (2·8,390,656·4), all of the
    result is written, zeros included (67,108,864): 134,234,112 B."""
    _, bounds = holds(name, 137_438_953_472, 201_326_592)
    assert bounds.floor_flops == pytest.approx(22_912_084_650.67)
    assert bounds.floor_bytes == 134_234_112
    assert bounds.floor_s == pytest.approx(22_912_084_650.67 / TF32_HIGHEST)


def test_a_triangular_factor() -> None:
    """``tril(A) @ B``: 137,438,953,472 · 8,390,656/16,777,216 = 68,736,253,952 are left; of A 8,390,656·4 B are read:
    33,562,624 + 67,108,864 + 67,108,864 = 167,780,352 B."""
    _, bounds = holds("lower_factor", 137_438_953_472, 167_780_352)
    assert bounds.floor_flops == pytest.approx(68_736_253_952)


@pytest.mark.parametrize("name", ["transposed_a", "transposed_b", "transposed_both"])
def test_transposed_factors_are_only_looked_at_in_another_way(name: str) -> None:
    """16 to 18: 2·2048·4096·8192 = 137,438,953,472 and 234,881,024 B, as without the transposes."""
    _, bounds = holds(name, 137_438_953_472, 234_881_024)
    assert bounds.unfused_bytes == 234_881_024


@pytest.mark.parametrize(("policy", "rate"), [(Policy.STRICT, 256), (Policy.TF32, 2048), (Policy.HALF, 4096)])
def test_the_policy_names_the_rate(policy: Policy, rate: int) -> None:
    """137,438,953,472 ÷ (132·256·1.83e9 = 61.84e12) = 2.222 ms; ÷ (·2048) = 0.2778 ms; ÷ (·4096) = 0.1389 ms."""
    _, bounds = holds("square", 137_438_953_472, 201_326_592, policy)
    assert bounds.steering_s == pytest.approx(137_438_953_472 / (132 * rate * 1.83e9))


# --- attention -------------------------------------------------------------------------------------------------------
def test_attention() -> None:
    """Two products of 8·16 heads, 2·128·2048²·64 each: 4·128·2048²·64 = 137,438,953,472. 4·(8·16·2048·64)·4 =
    268,435,456 B: the scores stay on the chip."""
    work, bounds = holds("attention", 137_438_953_472, 268_435_456)
    assert work.vector_flops == 6 * 128 * 2048**2
    assert bounds.floor_flops == 137_438_953_472


@pytest.mark.parametrize("name", ["causal_attention", "written_causal_attention"])
def test_causal_attention(name: str) -> None:
    """2048·2049/2 = 2,098,176 of 4,194,304 scores are used: 137,438,953,472 · 2,098,176/4,194,304 = 68,753,031,168.
    Every row of q, k and v is still read: 268,435,456 B."""
    _, bounds = holds(name, 137_438_953_472, 268_435_456)
    assert bounds.floor_flops == pytest.approx(68_753_031_168)
    assert bounds.floor_bytes == 268_435_456


# --- algebra that collapses a product: the ideas of level 2, 14, 18, 51 and 80 ---------------------------------------
def test_a_sum_over_columns_makes_a_matrix_vector_product() -> None:
    """As written 2·1024·8192² = 137,438,953,472. Σ_n x·w_n = x·(Σ_n w_n): 2·1024·8192 = 16,777,216 are left. x, w and
    1024 sums: (1024·8192 + 8192² + 1024)·4 = 301,993,984 B; floor (301,993,984 − 52,428,800) ÷ 3.35e12 = 74.50 µs."""
    _, bounds = holds("linear_sum", 137_438_953_472, 301_993_984)
    assert bounds.floor_flops == pytest.approx(16_777_216)
    assert bounds.floor_s == pytest.approx(74.50e-6, rel=1e-3)


def test_it_does_behind_reductions_over_one_element() -> None:
    """The maximum, mean and logsumexp of one element are that element: 16,777,216 again; 8192·4 B of bias more."""
    _, bounds = holds("linear_reductions", 137_438_953_472, 302_026_752)
    assert bounds.floor_flops == pytest.approx(16_777_216)


def test_a_mean_does_so_beside_a_residual() -> None:
    """2·2048·8192² = 274,877,906,944 → 2·2048·8192 = 33,554,432. x, w, bias, s and the sum with x:
    (2·2048·8192 + 8192² + 2·8192)·4 = 402,718,720 B."""
    _, bounds = holds("linear_mean_residual", 274_877_906_944, 402_718_720)
    assert bounds.floor_flops == pytest.approx(33_554_432)
    assert bounds.floor_s == pytest.approx((402_718_720 - CACHE) / MEMORY)


def test_a_value_minus_its_own_mean_is_nothing() -> None:
    """The mean of one element is that element: the output is gelu(0) = 0, 1024·4 B of zeros."""
    _, bounds = worked("row_minus_itself")
    assert (bounds.floor_flops, bounds.floor_bytes) == (0, 4096)


def test_a_mean_of_what_a_group_norm_centred_is_a_constant() -> None:
    """2·16·24·62²·8·9 = 212,557,824 as written; the mean over all of a sample is the bias's: 16·4 B are left."""
    work, bounds = worked("group_norm_mean")
    assert work.matrix_flops == 212_557_824
    assert (bounds.floor_flops, bounds.floor_bytes) == (0, 64)


# --- convolutions ----------------------------------------------------------------------------------------------------
def test_conv2d() -> None:
    """2·16·128·256²·64·9 = 154,618,822,656. (16·64·256² + 128·64·9 + 16·128·256²)·4 = 805,601,280 B. Floor: F(4, 3)
    leaves 6/12 along each axis; of 768 row taps 2 meet padding, (766/768)² = 0.99480:
    154,618,822,656 · 0.99480 / 4 = 38,453,641,216."""
    _, bounds = holds("conv2d", 154_618_822_656, 805_601_280)
    assert bounds.floor_flops == pytest.approx(38_453_641_216)
    assert bounds.bound_class == "compute"
    assert bounds.floor_s == pytest.approx((805_601_280 - CACHE) / MEMORY)


def test_depthwise_conv() -> None:
    """One input channel a group: 2·16·64·510²·9 = 4,794,163,200. (16·64·512² + 64·9 + 16·64·510²)·4 = 2,139,113,728."""
    _, bounds = holds("depthwise", 4_794_163_200, 2_139_113_728)
    memory_bound(bounds, 2_139_113_728)


def test_strided_pointwise_conv_reads_a_quarter() -> None:
    """2·8·256·28²·64 = 205,520,896. Every other pixel of every other row: (8·64·28² + 256·64 + 8·256·28²)·4 =
    8,093,696 B, not 8·64·56²·4 = 6,422,528 B of input alone."""
    _, bounds = holds("strided_pointwise", 205_520_896, 8_093_696)
    assert bounds.floor_flops == 205_520_896


def test_transposed_conv() -> None:
    """From the input's pixels: 2·8·64·1024²·64·9 = 618,475,290,624. (8·64·1024² + 64·64·9 + 8·64·1026²)·4 =
    4,303,511,552 B. Floor F(4, 3) twice: a quarter, 154,618,822,656."""
    _, bounds = holds("transposed_conv", 618_475_290_624, 4_303_511_552)
    assert bounds.floor_flops == pytest.approx(154_618_822_656)
    memory_bound(bounds, 4_303_511_552)


def test_strided_transposed_conv_writes_its_zeros() -> None:
    """2·16·32·64·128·64·9 = 4,831,838,208. Stride 5: rows 63·5 + 3 = 318, columns 127·5 + 3 = 638; all of them are
    written: (16·32·64·128 + 32·64·9 + 16·64·318·638)·4 = 847,863,808 B. No window meets another: nothing to save."""
    _, bounds = holds("strided_transposed_conv", 4_831_838_208, 847_863_808)
    assert bounds.floor_flops == 4_831_838_208
    memory_bound(bounds, 847_863_808)


# --- recurrent layers, losses and the rest ---------------------------------------------------------------------------
def test_gru() -> None:
    """Gates: layer one 3·256·(128 + 256) = 294,912 weights, layer two 3·256·(256 + 256) = 393,216; 2·512·10·688,128 =
    7,046,430,720. Bytes: x 512·10·128, weights 688,128, biases 2·2·768 and zeros for h made on the way, output
    512·10·256: (655,360 + 688,128 + 3,072 + 1,310,720)·4 = 10,629,120 B."""
    _, bounds = holds("gru", 7_046_430_720, 10_629_120)
    assert bounds.floor_flops == 7_046_430_720
    assert bounds.bound_class == "compute"


def test_the_last_step_of_an_lstm_needs_all_before_it() -> None:
    """4·256·(128 + 256) = 393,216 weights; 2·10·512·393,216 = 4,026,531,840. Only 10·256 numbers are written:
    (10·512·128 + 393,216 + 2·1024 + 10·256)·4 = 4,212,736 B."""
    _, bounds = holds("lstm_last_step", 4_026_531_840, 4_212_736)
    assert bounds.floor_flops == 4_026_531_840


def test_cross_entropy() -> None:
    """Five a logit and one a target: 5·32768·4096 + 32768 = 671,121,408. Logits, 8 B a target, one number:
    536,870,912 + 262,144 + 4 = 537,133,060 B."""
    work, bounds = holds("cross_entropy", 0, 537_133_060)
    assert work.vector_flops == 671_121_408
    memory_bound(bounds, 537_133_060)


def test_softmax() -> None:
    """Five an element: 5·4096·393216 = 8,053,063,680; one read, one write: 2·4096·393216·4 = 12,884,901,888 B."""
    work, bounds = holds("softmax", 0, 12_884_901_888)
    assert work.vector_flops == 8_053_063_680
    memory_bound(bounds, 12_884_901_888)


def test_layer_norm() -> None:
    """Seven an element: 7·16·64·256² = 469,762,048. x, weight, bias, y: (2·16·64·256² + 2·64·256²)·4 = 570,425,344."""
    work, bounds = holds("layer_norm", 0, 570_425_344)
    assert work.vector_flops == 469_762_048
    memory_bound(bounds, 570_425_344)


def test_cumulative_sum() -> None:
    """One addition an element: 32768² = 1,073,741,824; one read, one write: 8,589,934,592 B."""
    work, bounds = holds("cumsum", 0, 8_589_934_592)
    assert work.vector_flops == 1_073_741_824
    memory_bound(bounds, 8_589_934_592)


def test_max_pool() -> None:
    """32·64·128² windows of 16: 536,870,912 comparisons. (32·64·512² + 32·64·128²)·4 = 2,281,701,376 B."""
    work, bounds = holds("max_pool", 0, 2_281_701_376)
    assert work.vector_flops == 536_870_912
    memory_bound(bounds, 2_281_701_376)


def test_embedding() -> None:
    """64·512 rows of 768 read and written, 8 B an index: 2·100,663,296 + 262,144 = 201,588,736 B. Floor: the indices
    may all be one: 768·4 + 262,144 + 100,663,296 = 100,928,512 B."""
    work, bounds = holds("embedding", 0, 201_588_736)
    assert work.flops == 0
    assert bounds.floor_bytes == 100_928_512


def test_sort() -> None:
    """log2 65536 = 16 comparisons an element: 16·1024·65536 = 1,073,741,824; 2·1024·65536·4 = 536,870,912 B."""
    work, bounds = holds("sort", 0, 536_870_912)
    assert work.vector_flops == 1_073_741_824
    memory_bound(bounds, 536_870_912)
