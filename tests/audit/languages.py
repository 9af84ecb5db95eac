"""In which languages each trick cannot be written, and why: the corpus has a sample of every other pair."""

from __future__ import annotations

from kernels.languages import Language
from sol.audit import Trick

_NO_STATE = "a program names no memory that outlives a call"
_NO_STATEMENTS = "a program has stages alone: no calls, files, threads or exceptions"
_NO_HOST = "a program says nothing of streams, launches or memory; they are generated"
_FIXED = "a program with other inputs, outputs or constants than the problem's is refused by the checker"
_NO_STREAMS = "the host has no streams, graphs or persisting caches"
_POINTERS = "the launch ABI hands over addresses; no tensor is returned"

_OF_PROGRAMS = {
    _NO_STATE: (
        Trick.CACHE_BY_OBJECT, Trick.CACHE_BY_POINTER, Trick.CACHE_BY_FINGERPRINT, Trick.WARM_UP_COPY,
        Trick.BATCHED_CALLS, Trick.WARM_UP_DETECTION, Trick.KEPT_STATE,
    ),
    _NO_STATEMENTS: (
        Trick.INPUT_MUTATION, Trick.FALLBACK, Trick.INHERITS_REFERENCE, Trick.RESUBMITS_REFERENCE,
        Trick.PASTED_LIBRARY, Trick.PATCHED_TIMER, Trick.PATCHED_STATISTICS, Trick.PRINTED_RESULT, Trick.LAZY_TENSOR,
        Trick.BACKGROUND_WORK, Trick.CHECKER_DETECTION, Trick.MEMORY_SEARCH, Trick.EDITED_TOLERANCE, Trick.SABOTAGE,
        Trick.NATIVE_HOOKS,
    ),
    _NO_HOST: (
        Trick.SIDE_STREAM, Trick.EARLY_RETURN, Trick.LEFTOVER_MEMORY, Trick.GARBAGE_PASSES, Trick.CACHE_RESIDENCY,
        Trick.STALE_GRAPH, Trick.ZEROED_MEMORY,
    ),
    _FIXED: (Trick.SHORT_OUTPUT, Trick.CHANGED_PROBLEM),
}  # fmt: skip

CANNOT: dict[tuple[Trick, Language], str] = {
    **{(trick, Language.MU): why for why, tricks in _OF_PROGRAMS.items() for trick in tricks},
    **{
        (trick, Language.CPP): _NO_STREAMS
        for trick in (Trick.SIDE_STREAM, Trick.CACHE_RESIDENCY, Trick.STALE_GRAPH)
    },
    (Trick.NEVER_LAUNCHED, Language.CPP): "the host launches nothing",
    (Trick.LAZY_TENSOR, Language.CU): _POINTERS,
    (Trick.LAZY_TENSOR, Language.CPP): _POINTERS,
    (
        Trick.SHORT_OUTPUT,
        Language.CU,
    ): "the harness allocates the outputs; one that is not written is leftover_memory",
    (
        Trick.SHORT_OUTPUT,
        Language.CPP,
    ): "the harness allocates the outputs; one that is not written is leftover_memory",
}
"""The reason by trick and language."""
