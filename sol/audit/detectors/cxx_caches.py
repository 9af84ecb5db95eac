"""Answers kept in static memory of a compiled kernel, and answers given by the number of a call."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import names, texts, until
from sol.audit.cxx.tokens import Token
from sol.audit.cxx.unit import Call, Function, Unit, calls_in, conditions_in
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_COPIES = ("memcpy", "cudaMemcpyAsync", "cudaMemcpy", "copy", "copy_n", "memmove", "copy_")
_PRINTS = frozenset({"memcmp", "hash", "equal", "allclose", "crc32", "accumulate"})


class CxxCaches(SourceDetector):
    """A copy out of memory that outlives the call, where a look at the inputs or a count decides about the work."""

    name = "static-memory"
    tricks = (Trick.CACHE_BY_POINTER, Trick.CACHE_BY_FINGERPRINT, Trick.CACHE_BY_OBJECT, Trick.WARM_UP_COPY,
              Trick.WARM_UP_DETECTION, Trick.BATCHED_CALLS)  # fmt: skip

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """In functions that run on the host."""
        kept = unit.persistent
        if not kept:
            return
        for function in unit.reachable:
            if function.kernel:
                continue
            yield from self._function(unit, function, set(kept))

    def _function(self, unit: Unit, function: Function, kept: set[str]) -> Iterator[Flag]:
        tests = [test for test in conditions_in(function.body) if names(test) & kept]
        finds = [c for c in calls_in(function.body) if c.last in ("find", "count", "at", "contains") and c.member]
        if not tests and not finds:
            return
        sources = kept | ({"second"} if finds else set())
        copy = next((call for call in calls_in(function.body) if _copies_out(call, sources)), None)
        counted = _counted(function.body) & kept
        test = tests[0] if tests else finds[0].arguments[0] if finds[0].arguments else ()
        place = line(test[0].line if test else function.place.first)
        if copy is None and not _returns_kept(function, kept, finds):
            if any(names(test) & counted for test in tests):
                words = "a count of calls decides about the work"
                yield self.flag(Trick.WARM_UP_DETECTION, Severity.SEVERE, 0.7, words, place)
            return
        places = (place, *((line(copy.line),) if copy is not None else ()))
        trick, words = _by_what(function, tests, finds, kept, counted)
        yield self.flag(trick, Severity.SEVERE, 0.85, words, *places)


def _copies_out(call: Call, kept: set[str]) -> bool:
    """``memcpy(y, kept, n)``: its source outlives the call and its destination does not."""
    if call.last not in _COPIES or len(call.arguments) < 2:
        return False
    if call.last in ("copy", "copy_n"):
        return bool(names(call.arguments[0]) & kept) and not names(call.arguments[-1]) & kept
    return bool(names(call.arguments[1]) & kept) and not names(call.arguments[0]) & kept


def _returns_kept(function: Function, kept: set[str], finds: Sequence[Call]) -> bool:
    """``return cache[k];`` or ``return it->second;``."""
    words = texts(function.body)
    for index, word in enumerate(words):
        if word == "return":
            end = until(words, ";", index)
            part = words[index + 1 : end]
            if (
                set(part) & kept
                and ("[" in part or len(part) == 1)
                and "tensor" in "".join(texts(function.header)).lower()
            ):
                return True
            if finds and "second" in part:
                return True
    return False


def _counted(body: Sequence[Token]) -> set[str]:
    """Variables that are counted up."""
    found: set[str] = set()
    words = texts(body)
    found |= {
        words[i] for i in range(len(words) - 2) if words[i + 1] in (".", "->") and words[i + 2] == "fetch_add"
    }
    for before, token, after in zip(["", *texts(body)], body, [*texts(body)[1:], ""], strict=False):
        if token.text == "++":
            found |= {before, after}
        elif token.text == "+=":
            found.add(before)
    return found


def _by_what(
    function: Function, tests: Sequence[Sequence[Token]], finds: Sequence[Call], kept: set[str], counted: set[str]
) -> tuple[Trick, str]:
    body = function.body
    looked = {name for test in tests for name in names(test)} | {
        n for c in finds for a in c.arguments for n in names(a)
    }
    followed = looked | _sources(body, looked - kept)
    inputs = _inputs(function)
    pointers = inputs & looked
    if "memcmp" in {c.last for test in tests for c in calls_in(test)} or followed & _PRINTS:
        return (
            Trick.CACHE_BY_FINGERPRINT,
            "a comparison of the input's values decides whether a kept answer is copied",
        )
    if followed & _OBJECTS or _whole_array(tests, looked):
        return Trick.CACHE_BY_OBJECT, "the identity of an argument decides whether a kept answer is copied"
    if "data_ptr" in followed or (pointers and not _elements(body, looked - kept, inputs)):
        return Trick.CACHE_BY_POINTER, "an address decides whether a kept answer is copied"
    if _by_turns(body, counted):
        return Trick.BATCHED_CALLS, "answers are made several at a time and given out by the number of a call"
    asks_nothing = not looked - counted - kept
    if asks_nothing and not _assigned_from_inputs(body, looked & kept, inputs):
        return Trick.WARM_UP_COPY, "an answer of an early call is kept and copied in later ones"
    return Trick.CACHE_BY_FINGERPRINT, "values or sizes of the input decide whether a kept answer is copied"


_OBJECTS = frozenset({"unsafeGetTensorImpl", "getIntrusivePtr", "is_same", "TensorImpl"})


def _whole_array(tests: Sequence[Sequence[Token]], looked: set[str]) -> bool:
    """Whether a condition compares the array of inputs itself, not what stands in it."""
    return "inputs" in looked and any(
        token.text == "inputs" and [t.text for t in test[at + 1 : at + 2]] != ["["]
        for test in tests
        for at, token in enumerate(test)
    )


def _by_turns(body: Sequence[Token], counted: set[str]) -> bool:
    """``calls % 8``, ``calls & 7``: a count that begins anew."""
    words = texts(body)
    near = [i for i, word in enumerate(words[:-1]) if word == "%" or (word == "&" and words[i + 1].isdigit())]
    return any(counted & set(words[max(0, i - 3) : i]) for i in near)


def _inputs(function: Function) -> set[str]:
    """Pointers to const, and tensors, among the parameters; of a launch by its ABI what is made of ``inputs``."""
    found = {name for name in function.parameter_names if name}
    words = texts(function.body)
    for index, word in enumerate(words):
        if word == "=" and index and set(words[index : index + 14]) & ({"inputs"} & found):
            found.add(words[index - 1])
    return found - {"inputs", "outputs", "workspace", "stream"}


def _sources(body: Sequence[Token], wanted: set[str]) -> set[str]:
    """Names in the statements that give the wanted ones their values."""
    found: set[str] = set()
    words = texts(body)
    for index, word in enumerate(words):
        if word in ("=", "+=", "^=") and index and words[index - 1] in wanted:
            end = until(words, ";", index)
            found |= set(words[index + 1 : end])
    return found


def _elements(body: Sequence[Token], wanted: set[str], inputs: set[str]) -> bool:
    """Whether an element of an input, as ``x[i]``, goes into one of the wanted names."""
    words = texts(body)
    for index, word in enumerate(words):
        if word in ("=", "+=", "^=") and index and words[index - 1] in wanted:
            end = until(words, ";", index)
            part = words[index + 1 : end]
            if any(a in inputs and b == "[" for a, b in itertools.pairwise(part)):
                return True
    return False


def _assigned_from_inputs(body: Sequence[Token], kept: set[str], inputs: set[str]) -> bool:
    words = texts(body)
    for index, word in enumerate(words):
        if word == "=" and index and words[index - 1] in kept:
            end = until(words, ";", index)
            if set(words[index + 1 : end]) & inputs:
                return True
    return False
