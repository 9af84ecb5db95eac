"""The prompts of the phases, one file each."""

from __future__ import annotations

from agent.phases import Phase
from agent.prompts.phase_prompt import PhasePrompt
from agent.prompts.phases import analyze, attempt, expand, implement, mantis, nominate, seed, summarize

PROMPTS: dict[Phase, PhasePrompt] = {
    Phase.ATTEMPT: attempt.PROMPT,
    Phase.SEED: seed.PROMPT,
    Phase.EXPAND: expand.PROMPT,
    Phase.MANTIS: mantis.PROMPT,
    Phase.ANALYZE: analyze.PROMPT,
    Phase.NOMINATE: nominate.PROMPT,
    Phase.IMPLEMENT: implement.PROMPT,
    Phase.SUMMARIZE: summarize.PROMPT,
}
