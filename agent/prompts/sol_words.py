"""A problem's speed of light in words, for prompts: the bounds with their arithmetic, and the heaviest operations.

Made once, when a trajectory is prepared. All figures are the bounds' own; nothing here was measured on a candidate.
"""

from __future__ import annotations

from sol.bounds.record import Bounds, Device, Work, WorkItem
from sol.bounds.units import amount, seconds

_LINES, _OPERATIONS, _LINE = 14, 8, 240
_TAIL = 4


def sol_words(bounds: Bounds, work: Work, device: Device) -> str:
    """A page of text: limits, how they come about, what fusing saves, which operations weigh most."""
    lines = [
        f"machine: {bounds.device}",
        f"steering bound (SOL): {seconds(bounds.steering_s)}, {bounds.bound_class}-bound "
        f"(compute {seconds(bounds.compute_s)}, memory {seconds(bounds.memory_s)}); "
        f"floor: {seconds(bounds.floor_s)}",
    ]
    if bounds.unfused_bytes and bounds.bytes:
        lines.append(
            f"fused, {bounds.bytes:,} B must move; the operations one by one move {bounds.unfused_bytes:,} B, "
            f"{bounds.unfused_bytes / bounds.bytes:.3g} times as many"
        )
    if bounds.steering_rests_on:
        lines.append(_line(f"rests on: {'; '.join(bounds.steering_rests_on)}"))
    lines += ["arithmetic:", *_shortened(bounds.arithmetic)]
    return "\n".join([*lines, *_heaviest(bounds, work, device)])


def _shortened(arithmetic: tuple[str, ...]) -> list[str]:
    """The lines, of many the first and the last."""
    cut = [_line(line) for line in arithmetic]
    if len(cut) <= _LINES:
        return cut
    return [*cut[: _LINES - _TAIL], f"({len(cut) - _LINES} lines left out)", *cut[-_TAIL:]]


def _line(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[:_LINE]}…"


def _heaviest(bounds: Bounds, work: Work, device: Device) -> list[str]:
    """The operations that would take longest, each by itself."""
    timed = [(_alone(item, bounds, device), item) for item in work.items]
    timed = sorted((entry for entry in timed if entry[0] > 0), key=lambda entry: (-entry[0], entry[1].node))
    total = sum(took for took, _ in timed)
    if not timed:
        return []
    lines = [
        f"- {item.node[:60]} ({item.op[:60]}): {seconds(took)}, {took / total:.0%}; {amount(item.flops, 'FLOP')}, "
        f"{item.bytes_read + item.bytes_written:,} B"
        for took, item in timed[:_OPERATIONS]
    ]
    more = [f"- and {len(timed) - _OPERATIONS} more"] if len(timed) > _OPERATIONS else []
    return ["operations, each by itself and unfused, at the slower of its arithmetic and its bytes:", *lines, *more]


def _alone(item: WorkItem, bounds: Bounds, device: Device) -> float:
    """Seconds at the rate of its pipe, or of its bytes at copy bandwidth."""
    rate = next((part.rate for part in bounds.pipes if part.pipe == item.pipe), None)
    compute = item.flops / rate if rate else 0.0
    return max(compute, (item.bytes_read + item.bytes_written) / device.copy_bytes_s)
