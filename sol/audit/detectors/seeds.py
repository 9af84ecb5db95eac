"""Random numbers: seeds that are set or read, so that somebody else's numbers come out again."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_SEEDS = frozenset({"torch.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.set_rng_state",
                    "torch.cuda.set_rng_state", "torch.random.manual_seed", "random.seed", "numpy.random.seed",
                    "torch.random.fork_rng", "torch.random.set_rng_state"})  # fmt: skip
_READS = frozenset({"torch.initial_seed", "torch.get_rng_state", "torch.cuda.get_rng_state", "torch.seed",
                    "torch.cuda.initial_seed", "random.getstate", "torch.random.get_rng_state"})  # fmt: skip
_CXX = ("mt19937", "mt19937_64", "default_random_engine", "srand", "srand48", "minstd_rand")


class Seeds(SourceDetector):
    """In the call a seed is severe; where weights are made it is a habit of many, and only noted."""

    name = "seeds"
    tricks = (Trick.SEED_PREDICTION,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """torch's, numpy's and Python's generators."""
        problem = reading.problem
        random = problem is not None and any("dropout" in c.last.lower() for c in problem.calls)
        for call in code.calls:
            generator = call.last == "manual_seed" and call.name not in _SEEDS
            if call.name in _READS:
                words = f"{call.name}: the generator's state is read"
                yield self.flag(Trick.SEED_PREDICTION, Severity.SEVERE, 0.85, words, head(call.node))
            elif call.name in _SEEDS or generator:
                inside = code.runs_in_call(call.node) and not random
                severity = Severity.SEVERE if inside else Severity.INFO
                words = "a seed is set in the call" if inside else "a seed is set outside of the call"
                yield self.flag(Trick.SEED_PREDICTION, severity, 0.85 if inside else 0.3, words, head(call.node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Generators of C and C++."""
        words_used = unit.words
        for name in _CXX:
            if name in words_used:
                words = f"{name}: numbers are drawn from a seed"
                yield self.flag(Trick.SEED_PREDICTION, Severity.SUSPECT, 0.7, words, line(words_used[name]))
                return
