"""Findings as text for a prompt or a terminal, the gravest first, cut to a length with a note of what was cut."""

from __future__ import annotations

from collections.abc import Sequence

from agent.feedback.record import Advice, Finding

MOST_ADVICE = 3
"""So many ways out a finding; they are ranked."""


def words(findings: Sequence[Finding], limit_chars: int = 4000) -> str:
    """At most ``limit_chars`` characters: whole findings, then how many were left out. Empty for none."""
    texts = [finding_words(finding) for finding in ranked(findings)]
    for kept in range(len(texts), -1, -1):
        left = len(texts) - kept
        note = [f"({left} of {len(texts)} findings left out, the least grave)"] if left else []
        text = "\n".join([*texts[:kept], *note])
        if len(text) <= limit_chars:
            return text
    return ""


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first, then what promises most; otherwise in their order."""
    return sorted(findings, key=lambda finding: (finding.severity.rank, -(finding.gain or 1.0)))


def finding_words(finding: Finding) -> str:
    """One finding in a few lines."""
    where = f" in {finding.stage}" if finding.stage else ""
    lines = [f"- [{finding.severity.value}] {finding.tool}{where}: {finding.cause}"]
    if finding.evidence:
        lines.append(f"  seen: {'; '.join(finding.evidence)}")
    if finding.gain is not None:
        lines.append(f"  expected: {finding.gain:.2f}x ({finding.arithmetic})")
    lines += [f"  try: {advice_words(advice)}" for advice in finding.advice[:MOST_ADVICE]]
    return "\n".join(lines)


def advice_words(advice: Advice) -> str:
    """``y.tile(128, 256, 64): …``, or the words alone."""
    return f"{advice.text}: {advice.words}" if advice.text else advice.words
