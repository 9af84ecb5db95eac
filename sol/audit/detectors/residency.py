"""Windows of the cache that persist between calls."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_WINDOWS = ("cudaStreamAttributeAccessPolicyWindow", "cudaLaunchAttributeAccessPolicyWindow",
            "cudaLimitPersistingL2CacheSize", "accessPolicyWindow", "cudaAccessPropertyPersisting",
            "CU_LIMIT_PERSISTING_L2_CACHE_SIZE", "CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW")  # fmt: skip


class Residency(SourceDetector):
    """A persisting window outlives its call, so that the next one finds its inputs; where it is reset it is tuning."""

    name = "residency"
    tricks = (Trick.CACHE_RESIDENCY,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """The runtime's names through Python's bindings."""
        for node in code.nodes:
            if getattr(node, "attr", "") in _WINDOWS:
                words = "lines of the cache are made to persist between calls"
                yield self.flag(Trick.CACHE_RESIDENCY, Severity.SUSPECT, 0.65, words, head(node))
                return

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """The runtime's names."""
        used = unit.words
        found = [used[name] for name in _WINDOWS if name in used]
        if not found:
            return
        reset = bool(unit.called("cudaCtxResetPersistingL2Cache"))
        words = "lines of the cache are made to persist between calls"
        severity = Severity.INFO if reset else Severity.SUSPECT
        yield self.flag(Trick.CACHE_RESIDENCY, severity, 0.3 if reset else 0.65, words, line(min(found)))
