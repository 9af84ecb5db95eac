"""Which of a device's rates work runs at: the policy's own for steering, the fastest thinkable for the floor."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import DType
from kernels.targets import Policy
from sol.bounds import devices
from sol.bounds.record import Device

EMULATED_F32 = {"tf32": 3, "f16": 3, "bf16": 6}
"""Products of a narrower type that make one of FP32's error class: split operands, the smallest terms left out.

3xTF32 (CUTLASS example 27), two halves of FP16 (H. Ootomo and R. Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", 2022), three of BF16 (G. Henry, P. Tang and
A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019).
"""

EMULATED_TF32 = {"bf16": 3}
"""The same for TF32's error class: two halves of BF16 hold sixteen bits, one holds too few."""


_MARGIN = 1.1
"""What a measured peak may fall short of the true one by: clocks wander, neighbours take time slices."""


@dataclass(frozen=True, slots=True)
class Rate:
    """FLOP/s or bytes/s, and a person's words for where it comes from."""

    value: float
    words: str


def steering_matrix(device: Device, dtype: DType, policy: Policy) -> Rate:
    """The matrix rate of one element type. FP32 data: strict f32, tf32 its own or f32, half the faster half type."""
    if dtype is DType.F32 and policy is Policy.HALF:
        halves = [name for name in device.matrix_flops if name in ("f16", "bf16")]
        if halves:
            half = max(halves, key=lambda each: (device.matrix_flops[each], each))
            return Rate(device.matrix_flops[half], f"{half}, {device.source}")
    wanted = {DType.F32: ["tf32"] if policy is not Policy.STRICT else []}.get(dtype, _own_names(dtype))
    for name in (*wanted, "f32"):
        if name in device.matrix_flops:
            return Rate(device.matrix_flops[name], f"{name}, {device.source}")
    name = max(device.matrix_flops, key=lambda each: device.matrix_flops[each])
    return Rate(device.matrix_flops[name], f"{name}, {device.source}")


def _own_names(dtype: DType) -> list[str]:
    if dtype in (DType.F8E4M3, DType.F8E5M2):
        return ["f8", "f16", "bf16"]
    return [dtype.value]


def steering_vector(device: Device, dtype: DType) -> Rate:
    """The vector rate of one element type, FP32's where it has none of its own."""
    rates = device.vector_flops or device.matrix_flops
    for name in (dtype.value, "f32"):
        if name in rates:
            return Rate(rates[name], f"{name} vector, {device.source}")
    return Rate(max(rates.values()), f"vector, {device.source}")


def floor_matrix(device: Device, dtype: DType, policy: Policy) -> Rate:
    """The fastest rate that can give the policy's error class, at the highest clock known for the card."""
    rates, words = _ceiling(device)
    options = {name: rates[name] for name in _allowed(dtype, policy) if name in rates}
    if dtype is DType.F32:
        emulated = {Policy.STRICT: EMULATED_F32, Policy.TF32: EMULATED_TF32 | {"f16": 3}}.get(policy, {})
        for name, products in emulated.items():
            if name in rates:
                options[f"{products} products of {name}"] = rates[name] / products
    if not options:
        options = rates
    name = max(options, key=lambda each: (options[each], each))
    return Rate(options[name], f"{name}, {words}")


def _allowed(dtype: DType, policy: Policy) -> list[str]:
    if dtype is DType.F32:
        return {
            Policy.STRICT: ["f32"], Policy.TF32: ["f32", "tf32"], Policy.HALF: ["f32", "tf32", "f16", "bf16"],
        }[policy]  # fmt: skip
    if dtype in (DType.F16, DType.BF16):
        return ["f32", "tf32", "f16", "bf16"]
    if dtype is DType.F64:
        return ["f64"]
    # Integers are products of any type that holds them exactly; FP8 data may stay FP8.
    return ["f32", "tf32", "f16", "bf16", "f8"]


def _ceiling(device: Device) -> tuple[dict[str, float], str]:
    """Matrix rates that nothing exceeds: a card's specification at its highest clock, or what was measured if more."""
    card = devices.specification(device)
    if card is None:
        rates = {name: rate * _MARGIN for name, rate in device.matrix_flops.items()}
        return rates, f"{device.source}, and a tenth more"
    clocks = {key: float(card.facts[key]) for key in ("boost_clock_ghz", "max_clock_ghz") if key in card.facts}
    scale = clocks.get("max_clock_ghz", 1.0) / clocks["boost_clock_ghz"] if len(clocks) == 2 else 1.0
    rates = {
        name: max(rate * scale, device.matrix_flops.get(name, 0.0)) for name, rate in card.matrix_flops.items()
    }
    words = f"specification at {clocks['max_clock_ghz']:g} GHz" if len(clocks) == 2 else "specification"
    return rates, words


def floor_memory(device: Device) -> tuple[Rate, Rate | None, int]:
    """Rate to and from memory, rate of the cache (None where not known) and the cache's bytes."""
    card = devices.specification(device)
    margin = _MARGIN if card is None else 1.0
    memory = Rate(
        device.copy_bytes_s * margin, f"copy, {device.source}{', and a tenth more' if card is None else ''}"
    )
    if card is not None and card.copy_bytes_s > memory.value:
        memory = Rate(card.copy_bytes_s, "memory, specification")
    cache = (device.cache_bytes_s or 0.0) * margin
    size = device.cache_bytes or 0
    if card is not None:
        cache, size = max(cache, card.cache_bytes_s or 0.0), max(size, card.cache_bytes or 0)
    if cache <= memory.value or not size:
        return memory, None, 0
    return memory, Rate(cache, "cache"), size
