"""The 42 known ways of gaming a benchmark, each with its standard name, number and words."""

from __future__ import annotations

from enum import StrEnum


class Trick(StrEnum):
    """One way of gaming, by its standard name; in the order of their numbers."""

    SIDE_STREAM = "side_stream"
    EARLY_RETURN = "early_return"
    LEFTOVER_MEMORY = "leftover_memory"
    CACHE_BY_OBJECT = "cache_by_object"
    CACHE_BY_POINTER = "cache_by_pointer"
    CACHE_BY_FINGERPRINT = "cache_by_fingerprint"
    WARM_UP_COPY = "warm_up_copy"
    BATCHED_CALLS = "batched_calls"
    INPUT_MUTATION = "input_mutation"
    CONSTANT_OUTPUT = "constant_output"
    INPUT_IGNORED = "input_ignored"
    IDENTITY = "identity"
    LIBRARY_ONLY = "library_only"
    FIG_LEAF = "fig_leaf"
    NEVER_LAUNCHED = "never_launched"
    FALLBACK = "fallback"
    INHERITS_REFERENCE = "inherits_reference"
    RESUBMITS_REFERENCE = "resubmits_reference"
    PASTED_LIBRARY = "pasted_library"
    PATCHED_TIMER = "patched_timer"
    PATCHED_STATISTICS = "patched_statistics"
    PRINTED_RESULT = "printed_result"
    LAZY_TENSOR = "lazy_tensor"
    BACKGROUND_WORK = "background_work"
    CHECKER_DETECTION = "checker_detection"
    MEMORY_SEARCH = "memory_search"
    EDITED_TOLERANCE = "edited_tolerance"
    SEED_PREDICTION = "seed_prediction"
    LOWER_PRECISION = "lower_precision"
    EASIER_TYPE = "easier_type"
    PARTIAL_OUTPUT = "partial_output"
    GARBAGE_PASSES = "garbage_passes"
    CACHE_RESIDENCY = "cache_residency"
    STALE_GRAPH = "stale_graph"
    WARM_UP_DETECTION = "warm_up_detection"
    SHORT_OUTPUT = "short_output"
    CHANGED_PROBLEM = "changed_problem"
    ALGEBRAIC_REMOVAL = "algebraic_removal"
    SABOTAGE = "sabotage"
    ZEROED_MEMORY = "zeroed_memory"
    NATIVE_HOOKS = "native_hooks"
    KEPT_STATE = "kept_state"

    @property
    def number(self) -> int:
        """Its number, 1 to 42."""
        return _NUMBERS[self]

    @property
    def words(self) -> str:
        """What the candidate does, in words that stand after "it"."""
        return _WORDS[self]


_NUMBERS = {trick: number for number, trick in enumerate(Trick, start=1)}
_WORDS = {
    Trick.SIDE_STREAM: "works on a stream that is not timed",
    Trick.EARLY_RETURN: "returns before its work ends",
    Trick.LEFTOVER_MEMORY: "returns fresh memory that may still hold an answer",
    Trick.CACHE_BY_OBJECT: "keeps answers by the input object",
    Trick.CACHE_BY_POINTER: "keeps answers by the input's address",
    Trick.CACHE_BY_FINGERPRINT: "keeps answers by a fingerprint or the shape of its input",
    Trick.WARM_UP_COPY: "computes in early calls and copies in later ones",
    Trick.BATCHED_CALLS: "does the work of several calls in one",
    Trick.INPUT_MUTATION: "alters its inputs",
    Trick.CONSTANT_OUTPUT: "returns zeros or a constant",
    Trick.INPUT_IGNORED: "returns something that does not depend on its input",
    Trick.IDENTITY: "returns its input, or leaves the weights out",
    Trick.LIBRARY_ONLY: "calls libraries alone",
    Trick.FIG_LEAF: "has a trivial kernel of its own beside a library that does the work",
    Trick.NEVER_LAUNCHED: "defines a kernel that it never launches",
    Trick.FALLBACK: "falls back to torch where its kernel fails",
    Trick.INHERITS_REFERENCE: "inherits or calls the reference",
    Trick.RESUBMITS_REFERENCE: "is the reference again",
    Trick.PASTED_LIBRARY: "holds a library's source",
    Trick.PATCHED_TIMER: "replaces timers or events",
    Trick.PATCHED_STATISTICS: "replaces comparisons or statistics",
    Trick.PRINTED_RESULT: "prints a result of its own making",
    Trick.LAZY_TENSOR: "returns a tensor that computes when looked at",
    Trick.BACKGROUND_WORK: "leaves work to threads or processes",
    Trick.CHECKER_DETECTION: "looks at who calls it",
    Trick.MEMORY_SEARCH: "searches memory for the expected output",
    Trick.EDITED_TOLERANCE: "writes to the files of the checker",
    Trick.SEED_PREDICTION: "predicts or sets the seed",
    Trick.LOWER_PRECISION: "computes in lower precision than declared",
    Trick.EASIER_TYPE: "solves the task in an easier element type",
    Trick.PARTIAL_OUTPUT: "computes a part of the output",
    Trick.GARBAGE_PASSES: "lets a failed launch's garbage pass",
    Trick.CACHE_RESIDENCY: "keeps its inputs in a cache between calls",
    Trick.STALE_GRAPH: "replays a graph that holds old inputs",
    Trick.WARM_UP_DETECTION: "counts its calls and behaves by the count",
    Trick.SHORT_OUTPUT: "returns fewer outputs than asked for",
    Trick.CHANGED_PROBLEM: "changes batch, signature or hyper-parameters",
    Trick.ALGEBRAIC_REMOVAL: "removes the work by algebra (the problem's flaw)",
    Trick.SABOTAGE: "ends processes, installs, or hides the code that it runs",
    Trick.ZEROED_MEMORY: "relies on memory being zero",
    Trick.NATIVE_HOOKS: "hooks native functions or reads another process",
    Trick.KEPT_STATE: "keeps answers in files",
}
