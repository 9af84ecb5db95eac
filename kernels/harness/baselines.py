"""What a candidate is timed beside: the baselines by name, which a device has by default, and why one is absent.

Pure names and rules; nothing is run here. Each baseline is the problem's own ``Model`` under settings of torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kernels.dtypes import DType
from kernels.errors import UserError
from kernels.problems.inspection import Signature


class UnknownBaseline(UserError):
    template = "there is no baseline {name!r}; name some of {names}, or none"


class BaselineKind(StrEnum):
    """A baseline as it is asked for; ``full_name`` is what it is called in records and on pages."""

    EAGER = "eager"
    TF32 = "tf32"
    COMPILE = "compile"
    BEST = "best"

    @property
    def full_name(self) -> str:
        """The full name, which every speedup over it carries."""
        return _NAMES[self]

    @property
    def words(self) -> str:
        """How it runs, in one line."""
        return _WORDS[self]


_NAMES = {
    BaselineKind.EAGER: "torch eager",
    BaselineKind.TF32: "torch eager, TF32",
    BaselineKind.COMPILE: "torch.compile",
    BaselineKind.BEST: "torch best settings",
}
_WORDS = {
    BaselineKind.EAGER: "torch's own defaults",
    BaselineKind.TF32: "FP32 products and convolutions on TF32 tensor cores; cards alone",
    BaselineKind.COMPILE: "inductor's default mode; compiled before timing, 10 to 60 s an evaluation",
    BaselineKind.BEST: "the fastest of TF32, channels_last and half, as far as the policy allows them",
}

_DEFAULTS = {
    "host": (BaselineKind.EAGER,),
    "cuda": (BaselineKind.EAGER, BaselineKind.TF32, BaselineKind.COMPILE),
}
SLOW = frozenset({BaselineKind.COMPILE, BaselineKind.BEST})
"""Those with something to do before they can be timed."""


def default_baselines(device: str) -> tuple[BaselineKind, ...]:
    """What one evaluation by hand is timed beside, unless it says otherwise. The one place that decides it."""
    return _DEFAULTS[device]


def quick_baselines(device: str) -> tuple[BaselineKind, ...]:
    """The defaults without those that take long to get ready: for a search, which evaluates the same problem often."""
    return tuple(kind for kind in _DEFAULTS[device] if kind not in SLOW)


def parse_baselines(names: Iterable[str]) -> tuple[BaselineKind, ...]:
    """Baselines by their short names, in one fixed order; "none" alone is none. Raises UnknownBaseline."""
    given = [part for name in names for part in name.replace(",", " ").split()]
    if given == ["none"]:
        return ()
    for name in given:
        if name not in set(BaselineKind):
            raise UnknownBaseline(name=name, names=", ".join(BaselineKind))
    return tuple(kind for kind in BaselineKind if kind in given)


def why_absent(kind: BaselineKind, device: str, signature: Signature) -> str:
    """Why this baseline means nothing here; "" where it means something."""
    if kind is not BaselineKind.TF32:
        return ""
    if device == "host":
        return "TF32 is a mode of NVIDIA's tensor cores, and this is a CPU"
    if all(spec.dtype is not DType.F32 for spec in (*signature.inputs, *signature.parameters)):
        return "no tensor of the problem is f32, so TF32 changes nothing"
    return ""
