"""How an answer looks, in words; the schema says the same to a server that can hold a model to it."""

from __future__ import annotations

from agent.prompts.scene import Scene
from kernels.languages import Language

_CANDIDATE = """\
- text: the whole program, from its first line to its last; no excerpt, no diff, no Markdown around it
- change: what is new, {change}
- hypothesis: why that should be faster, in one sentence with its cause
- predicted: the speedup over the program you start from that you expect (1.3: a third faster), or null
- tool: the name of the feedback tool whose advice you follow, or null"""
_CHANGES = {
    Language.MU: "in the language's words, as `y.tile(128, 256, 64)` or `fuse z into y`",
    Language.PY: "in a few words",
    Language.CU: "in a few words",
    Language.CPP: "in a few words",
}


def candidates(scene: Scene) -> str:
    """The fields of an answer of programs."""
    fields = _CANDIDATE.replace("{change}", _CHANGES[scene.language])
    return (
        f"## Answer\nOne JSON object with a list `candidates`, and nothing around it. Each candidate has\n{fields}"
    )


def how_many(scene: Scene) -> str:
    """The demand for programs that ends a user message."""
    count = scene.ask.count
    if count == 1:
        return "Answer with exactly one candidate."
    return f"Answer with exactly {count} candidates that differ in what they try, the most promising first."
