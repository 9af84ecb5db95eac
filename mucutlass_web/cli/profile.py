"""``mucutlass profile``: one warm call of a candidate under Nsight Compute, in words and as a record."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernels.harness import isolation
from kernels.harness.tolerance import PROFILES
from kernels.profiling import profile
from kernels.profiling.digest import digest
from kernels.profiling.record import FIXED, FULL, KernelProfile, Profile, ProfileOutcome, ProfileRequest
from kernels.profiling.tables import Row, launch_rows, limit_rows, memory_rows, occupancy_rows, speed_rows
from kernels.records import to_json
from kernels.targets import Policy, Target
from mucutlass_web.cli.batch import INTERRUPTED, interruption
from mucutlass_web.cli.commands import cache
from mucutlass_web.cli.errors import FileNotWritable, NothingToProfile
from mucutlass_web.cli.evaluating import Preparation, Prepared, Wanted

_CARDS = [target for target in Target if target.is_cuda]
_NAME_SHOWN = 100


def add_arguments(verb: ArgumentParser) -> None:
    """Everything that ``profile`` takes."""
    verb.add_argument("file", type=Path, help="a candidate: .mu, .py or .cu")
    verb.add_argument("--problem", type=Path, required=True, help="the problem that binds the sizes")
    verb.add_argument("--device", choices=["host", "cuda"], default="cuda", help="counters are a card's")
    verb.add_argument("--arch", type=Target, choices=_CARDS, default=Target.SM90A)
    verb.add_argument("--policy", type=Policy, choices=list(Policy), default=Policy.TF32)
    verb.add_argument("--size", help="which of the problem's sizes (by default the one for the target)")
    verb.add_argument(
        "--set", choices=[FIXED, FULL], default=FIXED, help="our metrics, or all of the profiler's too"
    )
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="keep the report (.ncu-rep) there")
    held = (
        "how the candidate is held; a card that gives counters only to a capability needs another than bubblewrap"
    )
    methods = [isolation.BUBBLEWRAP, isolation.UNSHARE, isolation.PROCESS]
    verb.add_argument("--isolation", choices=methods, help=held)


def profile_command(options: Namespace) -> int:
    """Exit status 0 where it was measured, 1 where not; the reason is in the record and on the page of words."""
    if options.output is not None and not options.output.absolute().parent.is_dir():
        raise FileNotWritable(path=options.output, why="its folder does not exist")
    wanted = Wanted(
        file=options.file, problem=options.problem, device=options.device, arch=options.arch, size=options.size,
        tolerance=PROFILES[0], policy=options.policy, baselines=(),
    )  # fmt: skip
    with interruption() as stopped:
        prepared = Preparation(cache(), stopped.is_set).prepare(wanted)
        found = profile(_request(prepared, options), cancelled=stopped.is_set)
        if stopped.is_set():
            return INTERRUPTED
    if options.json:
        print(json.dumps(to_json(found), ensure_ascii=False, separators=(",", ":")))
    else:
        print("\n".join(_lines(found, options.output)))
    return 0 if found.outcome is ProfileOutcome.MEASURED else 1


def _request(prepared: Prepared, options: Namespace) -> ProfileRequest:
    """What is asked of the profiler; NothingToProfile where the candidate did not come to be built."""
    request = prepared.request
    if request is None:
        raise NothingToProfile(file=options.file, why=f"{prepared.ended.outcome.value}: {prepared.ended.detail}")
    return ProfileRequest(
        problem_path=request.problem_path,
        size=request.size,
        signature=request.signature,
        candidate=request.candidate,
        device=request.device,
        metric_set=options.set,
        report=str(options.output.absolute()) if options.output is not None else None,
        isolation=options.isolation,
    )


def _lines(found: Profile, output: Path | None) -> Iterator[str]:
    if found.outcome is not ProfileOutcome.MEASURED or found.method is None:
        yield f"{found.outcome.value}: {found.detail}"
        return
    method, total = found.method, found.total_s
    cut = f", the first {method.launch_limit} of them" if method.cut else ""
    yield f"{method.tool} on {method.card or 'a card'}: {len(found.kernels)} launches{cut}, in {found.wall_s:.1f} s"
    yield f"clocks as found, caches flushed before each of the replays; read by {method.read_by}"
    for index, kernel in enumerate(found.kernels):
        yield f"{index + 1}. {_share(kernel, total)} {'own' if kernel.own else 'library'}  {kernel.name[:_NAME_SHOWN]}"
    shown = -1
    for line in digest(found):
        if line.kernel != shown:
            shown = line.kernel
            yield from ("", f"Launch {shown + 1}: {found.kernels[shown].name[:_NAME_SHOWN]}")
            yield from _figures(found.kernels[shown])
        yield f"  - {line.words}"
    if output is not None:
        kept = "not kept: it is too large" if found.report_bytes is None else f"{found.report_bytes} bytes"
        yield f"\n{output}: {kept}"


def _share(kernel: KernelProfile, total: float | None) -> str:
    if kernel.duration_s is None:
        return "not measured"
    share = f"{kernel.duration_s / total * 100:5.1f} %" if total else ""
    return f"{kernel.duration_s * 1e6:10.2f} µs {share}"


def _figures(kernel: KernelProfile) -> Iterator[str]:
    occupancy = [replace(row, name=f"Occupancy, {row.name.lower()}") for row in occupancy_rows(kernel)]
    limits = [replace(row, name=f"Blocks {row.name.lower()}") for row in limit_rows(kernel)]
    rows: list[Row] = [*speed_rows(kernel), *occupancy, *limits, *launch_rows(kernel), *memory_rows(kernel)]
    for row in rows:
        yield f"  {row.name:30} {row.text or 'not measured':>16}  {row.note}".rstrip()
