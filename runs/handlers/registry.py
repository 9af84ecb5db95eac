"""Which handler does which kind of job. A handler does its long work outside any transaction and settles once."""

from __future__ import annotations

from collections.abc import Callable

from runs.handlers.advance import handle_advance
from runs.handlers.ask import handle_ask
from runs.handlers.build import handle_build
from runs.handlers.cross_build import handle_cross_build
from runs.handlers.disassemble import handle_disassemble
from runs.handlers.evaluate import handle_evaluate
from runs.handlers.inspect import handle_inspect
from runs.handlers.peaks import handle_peaks
from runs.handlers.prepare import handle_prepare
from runs.handlers.profile import handle_profile
from runs.jobs import Lease
from runs.models import Job
from runs.states import JobKind

Handler = Callable[[Job, Lease], None]

_HANDLERS: dict[str, Handler] = {
    JobKind.PEAKS: handle_peaks,
    JobKind.INSPECT: handle_inspect,
    JobKind.PREPARE: handle_prepare,
    JobKind.ADVANCE: handle_advance,
    JobKind.ASK: handle_ask,
    JobKind.BUILD: handle_build,
    JobKind.EVALUATE: handle_evaluate,
    JobKind.CROSS_BUILD: handle_cross_build,
    JobKind.DISASSEMBLE: handle_disassemble,
    JobKind.PROFILE: handle_profile,
}


def handler_of(kind: str) -> Handler:
    """The handler of a job kind; KeyError for a kind that nobody does."""
    return _HANDLERS[kind]
