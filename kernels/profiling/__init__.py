"""One call of a candidate under Nsight Compute, as a typed record. No Django, and no torch outside the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels.profiling.record import Profile, ProfileRequest


def profile(request: ProfileRequest, *, cancelled: Callable[[], bool] | None = None) -> Profile:
    """Profile one candidate; see ``kernels.profiling.profiler.profile``.

    The import is inside because the profiled process imports this package too and needs none of it.
    """
    from kernels.profiling.profiler import profile as run

    return run(request, cancelled=cancelled)
