"""What a problem's reference gives when it runs: the records of a sample, without torch.

A sample is a handful of forward passes from different seeds, looked at by their figures alone; no tensor leaves the
process that took it. A problem too large for the machine is run at a smaller extent of one constant of its file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a problem may be run: shares of its whole extent (0 to 1), and seconds for everything.

    ``small`` is what suffices where samples do not affect each other; ``large`` is the most that the machine can take,
    run only where a part says too little. ``gradients`` is False where a backward pass would not fit.
    """

    small: float
    large: float
    seconds: float
    gradients: bool = True


@dataclass(frozen=True, slots=True)
class Spread:
    """One output of one run: least, most, mean and standard deviation of its elements, and whether all are finite."""

    name: str
    least: float
    most: float
    mean: float
    deviation: float
    finite: bool

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(abs(self.least), abs(self.most))


@dataclass(frozen=True, slots=True)
class Run:
    """One forward pass: the seeds of its parameters and inputs, and each output's figures."""

    parameters: int
    inputs: int
    outputs: tuple[Spread, ...]


@dataclass(frozen=True, slots=True)
class Distance:
    """How far results are from others in their place: ``tolerance`` is the least value of both of
    ``torch.allclose``'s, rtol and atol, at which they pass; ``largest`` the largest difference."""

    tolerance: float
    largest: float

    @property
    def none(self) -> bool:
        """Whether they are the same to the last bit."""
        return self.largest == 0


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen. ``constant`` is the file's constant that was made smaller (``taken`` of ``whole``), "" for none.

    ``again``: the same parameters and inputs twice. ``others``: the same parameters, other inputs. ``coupled``: whether
    a sample's result depends on those beside it; ``trend``: largest magnitude over that at half the extent.
    ``inputs``: one input replaced, the others kept. ``ignored``: parameters whose gradient is zero and that, shifted,
    change no output by more than the distance. Where ``runs`` had to be larger than the rest, ``notes`` say so.
    None and missing keys were not measured; ``notes`` say why.
    """

    size: str
    constant: str
    taken: int
    whole: int
    seconds: float
    runs: tuple[Run, ...]
    again: Distance
    others: Distance
    coupled: bool | None
    trend: float | None
    inputs: dict[str, Distance]
    ignored: dict[str, Distance] | None
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it was run as the file states it."""
        return self.taken == self.whole
