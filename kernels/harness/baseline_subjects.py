"""The baselines of one evaluation as child processes: which run, which came to nothing, and why.

Runs in the supervisor. A baseline that fails is absent from the record with its reason; the candidate is measured
all the same. No torch at the top: the first baseline is started while torch is still being imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kernels.harness import arena
from kernels.harness.baselines import SLOW, BaselineKind, why_absent
from kernels.harness.evaluation import EvaluationRequest, Limits
from kernels.harness.failures import SubjectFailed
from kernels.harness.subject import Subject

if TYPE_CHECKING:
    from kernels.harness.reference import Reference

PREPARE_SECONDS = 180.0
"""What compiling or a search of settings may take beyond the limit of any subject."""
_PROCESS_BYTES = {"host": 400 * 2**20, "cuda": 700 * 2**20}
"""What a process with torch takes beside its tensors: on a card, the memory of its context there."""


class Load(Protocol):
    """Fills in a subject's parameters and has it load a form; it is told so, and its answer is still to be heard."""

    def __call__(
        self, subject: Subject, reference: Reference, what: dict[str, Any], *, copies_outputs: bool
    ) -> None: ...


def free_bytes(device: str) -> int:
    """Memory that new processes may take: the card's, or this machine's within the limit of its control group."""
    if device == "cuda":
        import torch

        try:
            return int(torch.cuda.mem_get_info()[0])
        except RuntimeError:
            # What is wrong with the card is said where it is used.
            return 0
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
    available = int(fields["MemAvailable"].split()[0]) * 1024
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text("ascii"))
        return min(available, limit - int((group / "memory.current").read_text("ascii")))
    except (OSError, ValueError):
        return available


@dataclass(slots=True)
class Baseline:
    """One baseline. ``settings`` is what it found best, where it searched; ``told``: it has been told to load."""

    kind: BaselineKind
    subject: Subject
    settings: str = ""
    told: bool = False


class Baselines:
    """Baselines in the order of the request. Those for which memory is short wait until the others are done."""

    def __init__(
        self, request: EvaluationRequest, layout: arena.Layout, start: Callable[[str, Limits], Subject], load: Load
    ) -> None:
        self._request = request
        self._layout = layout
        self._start = start
        self._load = load
        self._started: list[Baseline] = []
        self.live: list[Baseline] = []
        self.waiting: list[BaselineKind] = []
        self.absent: dict[str, str] = {}
        for kind in request.baselines:
            why = why_absent(kind, request.device, request.signature)
            if why:
                self.absent[kind.full_name] = why
            else:
                self.waiting.append(kind)

    def start_first(self) -> None:
        """Start the first one at once: it imports torch while the supervisor does."""
        if self.waiting:
            self._begin(self.waiting.pop(0))

    def start_others(self, free: Callable[[str], int] = free_bytes) -> None:
        """Start as many of the rest as fit beside each other; the candidate and the first are there already."""
        if not self.waiting:
            return
        need = _PROCESS_BYTES[self._request.device] + 2 * self._layout.total_bytes
        room = int(free(self._request.device) * 0.8) - 2 * need
        while self.waiting and room >= need:
            self._begin(self.waiting.pop(0))
            room -= need

    def load_aside(self, reference: Reference) -> None:
        """Have all that were started load while the candidate is looked at; ``load`` waits for them."""
        for baseline in list(self._started):
            try:
                self._tell(baseline, reference)
            except SubjectFailed as failed:
                self._started.remove(baseline)
                self.lose(baseline, failed.detail)

    def load(self, reference: Reference) -> None:
        """Load and prepare all that were started. Raises ProblemFailed."""
        while self._started:
            self._ready(self._started.pop(0), reference)

    def next_one(self, reference: Reference) -> Baseline | None:
        """One of those that waited, loaded; the live ones must be closed by then. None where none is left."""
        while self.waiting:
            self._begin(self.waiting.pop(0))
            self.load(reference)
            if self.live:
                return self.live[-1]
        return None

    def close(self) -> None:
        """End all that live."""
        for baseline in self.live:
            baseline.subject.close()
        self.live = []

    def lose(self, baseline: Baseline, why: str) -> None:
        """A baseline that came to nothing: it is absent from now on."""
        self.absent[baseline.kind.full_name] = why
        baseline.subject.close()
        if baseline in self.live:
            self.live.remove(baseline)

    def _begin(self, kind: BaselineKind) -> None:
        limits = self._request.limits
        if kind in SLOW:
            limits = replace(limits, seconds=limits.seconds + PREPARE_SECONDS)
        self._started.append(Baseline(kind, self._start(kind.full_name, limits)))

    def _tell(self, baseline: Baseline, reference: Reference) -> None:
        baseline.subject.wait_ready()
        # On a CPU what lies between two calls is part of the caches' state, so it is the candidate's: a copy.
        copies = self._request.device == "host"
        self._load(baseline.subject, reference, self._form(baseline), copies_outputs=copies)
        baseline.told = True

    def _ready(self, baseline: Baseline, reference: Reference) -> None:
        subject = baseline.subject
        try:
            if not baseline.told:
                self._tell(baseline, reference)
            subject.hear("load")
            if baseline.kind in SLOW:
                # Inputs as those that will be timed: what is compiled or chosen may depend on them.
                for shared, tensor in zip(subject.arena.inputs[0], reference.inputs(), strict=True):
                    shared.copy_(tensor)
                subject.ask({"do": "fetch", "sets": [0], "slots": []})
                answer = subject.ask({"do": "prepare", "set": 0})
                baseline.settings = f"{answer['settings']} (ready in {float(answer['seconds']):.1f} s)"
        except SubjectFailed as failed:
            self.lose(baseline, failed.detail)
        else:
            self.live.append(baseline)

    def _form(self, baseline: Baseline) -> dict[str, Any]:
        """What the child is told to load."""
        return {
            "kind": "baseline",
            "baseline": baseline.kind.value,
            "policy": self._request.policy.value,
            "path": baseline.subject.seen(self._request.problem_path),
            "size": self._request.size,
            "constants": {str(position): value for position, value in self._request.signature.constants.items()},
        }
