"""``mucutlass evaluate --batch``: many evaluations from a file of JSON lines, one result line each, in their order.

Builds run ahead, a bounded number at a time; candidates are measured one after the other. A line that is no request
gives an error line, and the rest goes on. A killed batch leaves whole lines, and ``--resume`` does what is missing.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
from argparse import Namespace
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType

from kernels.errors import UserError
from kernels.evaluation_form import EvaluationForm
from kernels.harness.evaluation import Outcome
from kernels.toolchain import Cache
from mucutlass_web.cli.batch_lines import Line, Source, read_lines
from mucutlass_web.cli.batch_results import Results, result_form
from mucutlass_web.cli.errors import LineFailed
from mucutlass_web.cli.evaluating import Preparation, Prepared, measure
from mucutlass_web.cli.evaluation_report import summary
from mucutlass_web.cli.inputs import read_source

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""

Settled = tuple[Line, EvaluationForm | None, UserError | None]
"""A line with what came of it: a form, or why there is none."""


def batch_command(options: Namespace, store: Cache) -> int:
    """Exit status 0 where every request of this call passed, 1 where one did not, 130 where it was interrupted."""
    source = read_source(options.batch)
    lines = list(read_lines(source.text, Source(options.batch, options.batch.parent)))
    results = Results(options.output, resume=options.resume)
    try:
        waiting = [line for line in lines if line.id not in results.done or line.error is not None]
        with interruption() as stopped:
            batch = Batch(store, stopped, max(1, options.jobs_build))
            return _report(batch, waiting, len(lines), results, as_json=options.json)
    finally:
        results.close()


def _report(batch: Batch, lines: Sequence[Line], count: int, results: Results, *, as_json: bool) -> int:
    passed = done = 0
    for line, form, error in batch.run(lines):
        result = result_form(line, form, error)
        results.write(result)
        if as_json:
            print(json.dumps(result, ensure_ascii=False, separators=(",", ":")), flush=True)
        else:
            print(f"{line.id}: {summary(form) if form else f'error: {error}'}", flush=True)
        done += 1
        passed += form is not None and form.outcome is Outcome.PASSED
    skipped = f", {count - len(lines)} were done before" if count > len(lines) else ""
    print(f"{done} of {len(lines)} requests done, {passed} passed{skipped}", file=sys.stderr)
    if batch.stopped.is_set():
        return INTERRUPTED
    return 0 if passed == len(lines) else 1


class Batch:
    """Evaluations in the order of their lines. ``stopped`` ends what is under way; its line is not given."""

    def __init__(self, store: Cache, stopped: threading.Event, jobs: int) -> None:
        self.stopped = stopped
        self._jobs = jobs
        self._preparation = Preparation(store, stopped.is_set)

    def run(self, lines: Sequence[Line]) -> Iterator[Settled]:
        """Each line with its form or its error, as soon as it and all before it are settled."""
        ahead: deque[tuple[Line, Future[Prepared] | None]] = deque()
        rest = iter(lines)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="prepare") as pool:
            while not self.stopped.is_set():
                # One more than can be built at once, so that no builder waits for the measuring to end.
                while len(ahead) <= self._jobs and (line := next(rest, None)) is not None:
                    wanted = line.wanted
                    ahead.append((line, None if wanted is None else pool.submit(self._preparation.prepare, wanted)))
                if not ahead:
                    return
                line, future = ahead.popleft()
                settled = self._settle(line, future)
                if not self.stopped.is_set():
                    yield settled
            for _, future in ahead:
                if future is not None:
                    future.cancel()

    def _settle(self, line: Line, future: Future[Prepared] | None) -> Settled:
        if future is None:
            return line, None, line.error
        try:
            prepared = future.result()
        except UserError as error:
            return line, None, error
        except Exception as error:  # noqa: BLE001 - one candidate's trouble must not end the others
            return line, None, LineFailed(kind=type(error).__name__, said=str(error) or "nothing")
        return line, measure(prepared, self.stopped.is_set), None


@contextlib.contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, instead of an exception in the middle of something."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
