"""``mucutlass sol`` and ``mucutlass peaks``: bounds of problems on a device, and what this machine can do.

Bounds need no card and no weights: problems are traced without memory, several at a time.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernels.errors import UserError
from kernels.problems.files import locate
from kernels.problems.inspect import LIMITS, inspect_many
from kernels.problems.inspection import Inspection
from kernels.records import to_json
from kernels.targets import Target
from mucutlass_web.cli.inputs import named_problems, size_of
from mucutlass_web.cli.peaks import device_named, measure_and_keep
from sol.bounds import Bounds, Device, bound, count
from sol.bounds.devices import specification
from sol.bounds.form import bounds_form
from sol.bounds.record import Work
from sol.bounds.table import rows
from sol.bounds.units import amount

_PATIENT = replace(LIMITS, seconds=180.0)
"""On a machine that others keep busy too, tracing the largest problems takes minutes."""


def add_arguments(verb: ArgumentParser) -> None:
    """What ``sol`` takes beside policy and size."""
    verb.add_argument("path", type=Path, nargs="+", help="problem files and folders of them")
    verb.add_argument("--device", default="host", help="host, cuda (the card here), or a card such as h100")
    verb.add_argument("--ops", action="store_true", help="every operation too, with its formula")
    verb.add_argument("--workers", type=int, default=_processors(), help="problems traced at a time (%(default)s)")


def add_peaks_arguments(verb: ArgumentParser) -> None:
    """What ``peaks`` takes."""
    verb.add_argument("--device", choices=["host", "cuda"], default="host", help="this machine, or its first card")


def _processors() -> int:
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One problem of the command line: how it is called here, its file and the size to look at."""

    name: str
    path: Path
    size: str


class _InOrder:
    """Passes answers on in the problems' order, each as soon as all before it are there."""

    def __init__(self, show: Callable[[int, Inspection | Exception], None]) -> None:
        self.show = show
        self.waiting: dict[int, Inspection | Exception] = {}
        self.next = 0

    def __call__(self, place: int, answer: Inspection | Exception) -> None:
        self.waiting[place] = answer
        while self.next in self.waiting:
            self.show(self.next, self.waiting.pop(self.next))
            self.next += 1


def sol_command(options: Namespace) -> int:
    """Bound problems or folders of them; with ``--json`` one line a problem, failed ones too."""
    device, failed = device_named(options.device), 0
    target = Target.HOST if options.device == "host" else Target.SM90A
    asked, unreadable = _asked(options, target)
    for name, error in unreadable:
        failed += 1
        _show_error(name, error, as_json=options.json)

    def show(place: int, answer: Inspection | Exception) -> None:
        nonlocal failed
        if isinstance(answer, UserError):
            failed += 1
            _show_error(asked[place].name, answer, as_json=options.json)
        elif isinstance(answer, Exception):
            raise answer
        else:
            _show(asked[place], answer, device, options)

    paths, sizes = [item.path for item in asked], [item.size for item in asked]
    workers = max(1, min(options.workers, len(paths)))
    inspect_many(paths, sizes, limits=_PATIENT, seen=_InOrder(show), workers=workers)
    return 1 if failed else 0


def _asked(options: Namespace, target: Target) -> tuple[list[_Asked], list[tuple[str, UserError]]]:
    asked, unreadable = [], []
    for given in options.path:
        for name, path in named_problems(given):
            try:
                asked.append(_Asked(name, path, size_of(path, options.size, target)))
            except UserError as error:
                unreadable.append((name, error))
    return asked, unreadable


def _show_error(name: str, error: UserError, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"problem": name, "error": f"{error.slug()}: {error}"}, ensure_ascii=False), flush=True)
    print(f"{name}: {error.slug()}: {error}", file=sys.stderr)


def _show(asked: _Asked, inspection: Inspection, device: Device, options: Namespace) -> None:
    work = count(inspection)
    bounds = bound(work, inspection, device, options.policy)
    if options.json:
        form = json_form(asked.name, asked.path, inspection, work, bounds)
        if options.ops:
            form["ops"] = [to_json(row) for row in rows(work, inspection)]
        print(json.dumps(form, ensure_ascii=False, separators=(",", ":")), flush=True)
        return
    times = f"{bounds.steering_s * 1e3:.4g} ms, floor {bounds.floor_s * 1e3:.4g} ms"
    print(f"{asked.name}: {times}, {bounds.bound_class}-bound")
    for line in bounds.arithmetic:
        print(f"  {line}")
    for row in rows(work, inspection) if options.ops else ():
        moved = f"{row.bytes_read:,} B read, {row.bytes_written:,} B written"
        print(f"  {row.node} ({row.pipe}, {row.dtype}): {row.formula}; {moved}")


def json_form(name: str, path: Path, inspection: Inspection, work: Work, bounds: Bounds) -> dict[str, Any]:
    """One problem as a line of JSON (``sol.bounds.form``)."""
    place = locate(path)
    return bounds_form(name, place.name, place.level, place.number, inspection, work, bounds)


def peaks_command(options: Namespace) -> int:
    """Measure this machine or its card, and keep the result for ``sol --device host`` or ``--device cuda``."""
    device = measure_and_keep(options.device)
    if options.json:
        print(json.dumps(to_json(device), ensure_ascii=False, separators=(",", ":")))
        return 0
    print(f"{device.name}, {device.measured_at}")
    told = specification(device)
    for name, rate in device.matrix_flops.items():
        print(
            f"  {name}: {amount(rate, 'FLOP/s')}{_beside(told.matrix_flops.get(name) if told else None, 'FLOP/s')}"
        )
    print(f"  copy: {amount(device.copy_bytes_s, 'B/s')}{_beside(told.copy_bytes_s if told else None, 'B/s')}")
    if device.cache_bytes_s:
        print(f"  cache: {amount(device.cache_bytes_s, 'B/s')} within {device.cache_bytes or 0:,} B")
    if "clock_ghz" in device.facts:
        print(f"  clock: {device.facts['clock_ghz']} GHz under load")
    return 0


def _beside(value: float | None, unit: str) -> str:
    return "" if value is None else f" (specification {amount(value, unit)})"
