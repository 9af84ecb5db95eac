"""Streams of the candidate's own, and work that nobody waits for."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.record import Flag, Place, Severity
from sol.audit.tricks import Trick

_PY_STREAMS = frozenset({"torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream", "torch.cuda.set_stream",
                         "torch.cuda.streams.Stream", "cupy.cuda.Stream"})  # fmt: skip
_PY_JOINS = frozenset({"wait_stream", "wait_event", "synchronize"})
_CXX_STREAMS = ("cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority", "cuStreamCreate",
                "getStreamFromPool", "cudaStreamPerThread")  # fmt: skip
_CXX_JOINS = ("cudaStreamSynchronize", "cudaStreamWaitEvent", "cudaDeviceSynchronize", "cudaEventSynchronize",
              "cuStreamSynchronize", "cuStreamWaitEvent", "synchronize", "cudaStreamEndCapture")  # fmt: skip


class Streams(SourceDetector):
    """A stream that is made and never joined is not timed; one that is joined is legal."""

    name = "streams"
    tricks = (Trick.SIDE_STREAM, Trick.EARLY_RETURN)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Streams of torch and copies that do not wait."""
        joined = any(call.last in _PY_JOINS for call in code.calls)
        made = [c for c in code.calls if c.name in _PY_STREAMS]
        if made:
            yield self._stream(joined, made[0].name, *(head(call.node) for call in made))
        for call in code.calls:
            keyword = call.keyword("non_blocking")
            to_host = call.last == "cpu" or any(getattr(a, "value", None) == "cpu" for a in call.node.args)
            if keyword is not None and to_host and not joined and code.runs_in_call(call.node):
                words = "a copy to the host that nothing waits for"
                yield self.flag(Trick.EARLY_RETURN, Severity.SUSPECT, 0.5, words, head(call.node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Streams of the CUDA runtime, and host functions that go on by themselves."""
        joined = bool(unit.called(*_CXX_JOINS))
        made = unit.called(*_CXX_STREAMS)
        if made:
            yield self._stream(joined, made[0].last, *(line(call.line) for call in made))
        elif "cudaStreamPerThread" in unit.words:
            yield self._stream(joined, "cudaStreamPerThread", line(unit.words["cudaStreamPerThread"]))
        started = unit.called("async")
        waited = started and unit.called("get", "wait")
        for call in started:
            if call.name.endswith("std::async") and not waited:
                words = "std::async without a get or wait: the work may end after the call"
                yield self.flag(Trick.EARLY_RETURN, Severity.SEVERE, 0.8, words, line(call.line))
        for call in unit.called("cudaLaunchHostFunc", "cudaStreamAddCallback"):
            words = f"{call.last}: work on the host behind the stream's"
            yield self.flag(Trick.EARLY_RETURN, Severity.SUSPECT, 0.5, words, line(call.line))

    def _stream(self, joined: bool, what: str, *places: Place) -> Flag:
        if joined:
            words = f"{what}: a stream of its own, which is waited for"
            return self.flag(Trick.SIDE_STREAM, Severity.INFO, 0.3, words, *places)
        words = f"{what}: a stream of its own, and nothing waits for it"
        return self.flag(Trick.SIDE_STREAM, Severity.SEVERE, 0.85, words, *places)
