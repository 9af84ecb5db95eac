"""The labelled corpus: cheats and honest candidates, each with its trick and what it is audited beside.

The files below ``corpus`` are data: nothing imports, compiles or runs them. Those of ``tests/harness/cheats`` belong
to it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.dtypes import DType
from kernels.languages import language_of
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy
from sol.audit import Flag, Severity, Subject, Trick, audit
from tests.harness.cheats import CHEATS

FOLDER = Path(__file__).resolve().parent / "corpus"
_HARNESS_TRICKS = {
    "pointer_cache": Trick.CACHE_BY_POINTER,
    "fingerprint_cache": Trick.CACHE_BY_FINGERPRINT,
    "skipped_work": Trick.WARM_UP_COPY,
    "stolen_output": Trick.MEMORY_SEARCH,
    "patched_comparison": Trick.PATCHED_STATISTICS,
    "patched_timer": Trick.PATCHED_TIMER,
    "lazy_tensor": Trick.LAZY_TENSOR,
    "lower_precision": Trick.LOWER_PRECISION,
    "zeros": Trick.CONSTANT_OUTPUT,
    "skipped_rows": Trick.PARTIAL_OUTPUT,
    "side_stream": Trick.SIDE_STREAM,
    "stale_graph": Trick.STALE_GRAPH,
}


def _spec(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DType.F32, shape)


SIGNATURES = {
    "linear": Signature(
        (_spec("x", 512, 512),),
        (_spec("linear.weight", 512, 512), _spec("linear.bias", 512)),
        (_spec("out", 512, 512),),
        {},
    ),
    "linear_sum": Signature(
        (_spec("x", 512, 512),),
        (_spec("linear.weight", 512, 512), _spec("linear.bias", 512)),
        (_spec("out", 512, 1),),
        {},
    ),
    "rows_relu": Signature((_spec("x", 512, 1024),), (_spec("bias", 1024),), (_spec("out", 512, 1024),), {}),
    "bias_relu": Signature((_spec("x", 512, 1024),), (_spec("bias", 1024),), (_spec("out", 512, 1024),), {}),
    "softmax": Signature((_spec("x", 16, 262144),), (), (_spec("out", 16, 262144),), {}),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """``trick`` is None for an honest one; ``static`` is whether the text alone shows it."""

    path: Path
    problem: Path
    signature: Signature
    policy: Policy
    trick: Trick | None
    static: bool = True

    @property
    def name(self) -> str:
        """Its file's folder and name."""
        return f"{self.path.parent.name}/{self.path.name}"

    def subject(self) -> Subject:
        """The candidate beside its problem, not evaluated."""
        return Subject(
            text=self.path.read_text("utf-8"),
            language=language_of(self.path),
            problem_text=self.problem.read_text("utf-8"),
            signature=self.signature,
            policy=self.policy,
        )


def samples() -> list[Sample]:
    """All of the manifest, then those of the harness's tests."""
    found = []
    for entry in json.loads((FOLDER / "manifest.json").read_text("utf-8")):
        found.append(
            Sample(
                path=FOLDER / entry["file"],
                problem=FOLDER / "problems" / f"{entry['problem']}.py",
                signature=SIGNATURES[entry["problem"]],
                policy=Policy(entry["policy"]),
                trick=Trick(entry["trick"]) if entry["trick"] else None,
                static=entry["static"],
            )
        )
    for cheat in CHEATS:
        trick = _HARNESS_TRICKS.get(cheat.name)
        found.append(Sample(cheat.path, cheat.problem_path, SIGNATURES[cheat.problem], Policy.TF32, trick))
    return found


@dataclass(frozen=True, slots=True)
class Result:
    """A sample with what was found in it."""

    sample: Sample
    flags: tuple[Flag, ...]

    @property
    def found(self) -> bool:
        """Whether anything beyond info was."""
        return any(flag.severity is not Severity.INFO for flag in self.flags)

    @property
    def severe(self) -> bool:
        """Whether anything severe was."""
        return any(flag.severity is Severity.SEVERE for flag in self.flags)

    @property
    def named(self) -> frozenset[Trick]:
        """The tricks of the gravest flags: those of the highest severity that occurs."""
        worst = max((flag.severity.rank for flag in self.flags), default=0)
        return frozenset(flag.trick for flag in self.flags if flag.severity.rank == worst) if worst else frozenset()

    @property
    def first(self) -> Trick | None:
        """The trick of the gravest flag, by severity and then by confidence."""
        flags = [flag for flag in self.flags if flag.severity is not Severity.INFO]
        return max(flags, key=lambda flag: flag.gravity).trick if flags else None


def results(chosen: Sequence[Sample] | None = None) -> list[Result]:
    """The static audit of all samples, or of some."""
    return [Result(sample, audit(sample.subject())) for sample in (samples() if chosen is None else chosen)]
