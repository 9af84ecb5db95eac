"""A gap as text, for prompts and reports: one line a factor, the numbers with what they rest on."""

from __future__ import annotations

from sol.gap.record import REMAINDER_TITLE, Gap


def gap_words(gap: Gap | None) -> str:
    """The factors with their evidence, the largest first, then what is not known; a sentence where there is no gap."""
    if gap is None:
        return "What the gap is made of is not known: there is no time or no bound."
    lines = [f"The measured time is {_times(gap.gap)} the steering bound, made of:"]
    for factor in sorted(gap.known, key=lambda factor: -(factor.value or 0.0)):
        lines.append(f"- {factor.title}: {_times(factor.value or 0.0)} ({factor.words}; from the {factor.seen_in})")
    lines.append(f"- {REMAINDER_TITLE}: {_times(gap.remainder)} ({remainder_words(gap)})")
    lines += [f"- {factor.title}: not known: {factor.words}" for factor in gap.unknown]
    return "\n".join(lines)


def remainder_words(gap: Gap) -> str:
    """Why there is a remainder."""
    if gap.remainder < 1:
        return "below 1: some time is counted under two factors, or the kernels did less than the bound assumes"
    missing = [factor.title[0].lower() + factor.title[1:] for factor in gap.unknown]
    if missing:
        return f"holds what is not known: {', '.join(missing)}"
    return "what no record here splits"


def _times(value: float) -> str:
    return f"{value:.3g}×"
