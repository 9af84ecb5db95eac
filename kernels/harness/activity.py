"""From a child's record of kernels to the Activity of a call: whose each kernel is, and what the record says.

Pure; runs in the supervisor. The record comes from the candidate's own process, so it is evidence: the one thing it
decides is that a call on a card without any work on the card is not a measurement.
"""

from __future__ import annotations

import ctypes
import functools
import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from kernels.harness.evaluation import Check, Outcome
from kernels.harness.failures import SubjectFailed
from kernels.harness.measures import Activity, KernelActivity, KernelKind

NAME_LENGTH = 400
"""Letters of a kernel's name that a record keeps."""
_FLUSH = "flush"
_KINDS = frozenset({"kernel", "memcpy", "memset", _FLUSH})
_MANGLED = re.compile(rb"(?<![A-Za-z0-9_$.])_Z[A-Za-z0-9_$.]{3,}")
_LIBRARY = re.compile(
    r"(^|[\s<(:])(at|c10|torch|cudnn|cublas|cublasLt|cusparse|cusolver|cufft|thrust|cub|flash|pytorch_flash|nccl)::"
    r"|^(sm\d+_xmma|nvjet|ampere_|volta_|turing_|hopper_|cudnn|cublas|gemv|gemm[kK]|splitK|dot_kernel|fft|ncclDev)"
    r"|cublas|cudnn|implicit_convolve|xmma_|cutlass_\d+_|cutlass__5x_|fmha_cutlass"
)
"""Kernels of torch, cuBLAS, cuDNN and what they bring along, by name: at::native::…, sm90_xmma_gemm_…, nvjet_…,
cutlass_80_…. A name of the candidate's own shared object comes first, so CUTLASS compiled by us is ours."""


def activity_of(calls: Any, method: str, symbols: frozenset[str]) -> Activity:
    """The record of some calls, each a list of ``[kind, name, start_ns, duration_ns]`` with the flush ahead of it.

    ``symbols`` are the names in the candidate's own shared objects. Raises SubjectFailed (crash) of anything else.
    """
    whole = [_events(call) for call in _list(calls)]
    if not whole:
        raise SubjectFailed(Outcome.CRASH, "the child sent a record of no call")
    checked = [[event for event in events if event[0] != _FLUSH] for events in whole]
    sums = [sum(event[3] for event in events) for events in checked]
    spans = [
        max(event[2] + event[3] for event in events) - min(event[2] for event in events) if events else 0
        for events in checked
    ]
    return Activity(
        kernels=_kernels(checked, symbols),
        sum_s=statistics.median(sums) * 1e-9,
        span_s=statistics.median(spans) * 1e-9,
        calls=len(checked),
        method=method,
        lead_s=min((lead for events in whole if (lead := _lead(events)) is not None), default=None),
    )


def _lead(events: Sequence[Event]) -> float | None:
    """Seconds from the end of the flush to the start of what came next; below 0 something did not wait for it."""
    ends = [start + taken for kind, _, start, taken in events if kind == _FLUSH]
    starts = [start for kind, _, start, _ in events if kind != _FLUSH]
    return (min(starts) - max(ends)) * 1e-9 if ends and starts else None


def named(answer: dict[str, Any]) -> list[list[list[Any]]]:
    """A child's events with their names in them; raises SubjectFailed (crash) where a name is missing."""
    names, calls = _list(answer.get("names")), _list(answer.get("calls"))
    found: list[list[list[Any]]] = []
    for call in calls:
        found.append([])
        for event in map(_list, _list(call)):
            kind, place, *times = [*event, None, None][: max(len(event), 2)]
            if not isinstance(place, int) or not 0 <= place < len(names):
                raise SubjectFailed(Outcome.CRASH, "the child sent something else than a record of kernels")
            found[-1].append([kind, names[place], *times])
    return found


Event = tuple[str, str, int, int]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SubjectFailed(Outcome.CRASH, "the child sent something else than a record of kernels")
    return value


def _events(call: Any) -> list[Event]:
    events = []
    for item in _list(call):
        kind, name, start, duration = [*_list(item), None, None, None, None][:4]
        whole = isinstance(start, int) and isinstance(duration, int) and start >= 0 and duration >= 0
        if kind not in _KINDS or not isinstance(name, str) or not whole:
            raise SubjectFailed(Outcome.CRASH, "the child sent something else than a record of kernels")
        events.append((str(kind), name, cast(int, start), cast(int, duration)))
    return events


def _kernels(calls: Sequence[list[Event]], symbols: frozenset[str]) -> tuple[KernelActivity, ...]:
    """Each name once, the longest first; launches and seconds are means over the calls."""
    found: dict[tuple[str, str], list[int]] = {}
    for events in calls:
        for kind, name, _, duration in events:
            found.setdefault((kind, name), []).append(duration)
    kernels = []
    for (kind, name), durations in found.items():
        own, origin = whose(name, symbols) if kind == "kernel" else (False, kind)
        shown = _readable(name)
        seconds = sum(durations) * 1e-9 / len(calls)
        launches = len(durations) / len(calls)
        kernels.append(KernelActivity(shown, cast(KernelKind, kind), launches, seconds, own, origin))
    return tuple(sorted(kernels, key=lambda kernel: -kernel.seconds))


def whose(name: str, symbols: frozenset[str]) -> tuple[bool, str]:
    """Whether a kernel is the candidate's, and by what that is known."""
    if name in symbols:
        return True, "symbol"
    return not _LIBRARY.search(_readable(name)), "name"


def _readable(name: str) -> str:
    """The name as people write it, shortened; of one that is too long for any demangler, as far as its template."""
    plain = demangled(name.encode("utf-8", "replace")) if name.startswith("_Z") else name
    if plain.startswith("_ZN"):
        plain = _outermost(plain)
    return plain if len(plain) <= NAME_LENGTH else f"{plain[: NAME_LENGTH - 1]}…"


def _outermost(mangled: str) -> str:
    """``cutlass::device_kernel<…>`` of ``_ZN7cutlassL13device_kernelI…``: each part has its length before it."""
    parts, rest = [], mangled.removeprefix("_ZN")
    while (match := re.match(r"L?(\d+)", rest)) is not None:
        length = int(match[1])
        parts.append(rest[match.end() : match.end() + length])
        rest = rest[match.end() + length :]
    return "::".join(parts) + "<…>" if parts else mangled


def symbols_of(artifacts: Iterable[Path], names: Iterable[str]) -> frozenset[str]:
    """Which of ``names``, as the profiler writes them, are in one of the shared objects, mangled or as they are."""
    found: set[str] = set()
    wanted = set(names)
    for path in artifacts:
        content = path.read_bytes()
        mangled = set(_MANGLED.findall(content))
        found |= wanted & {match.decode("ascii") for match in mangled}
        found |= wanted & {demangled(match) for match in mangled}
        found |= {name for name in wanted - found if b"\0" + name.encode() + b"\0" in content}
    return frozenset(found)


@functools.cache
def _demangler() -> Any:
    library = ctypes.CDLL("libstdc++.so.6")
    function = library["__cxa_demangle"]
    function.restype = ctypes.c_void_p
    function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
    return function


def demangled(name: bytes) -> str:
    """A C++ name as people write it, by the same function that the profiler uses; the name itself where it is none."""
    status = ctypes.c_int()
    address = _demangler()(name, None, None, ctypes.byref(status))
    if not address:
        return name.decode("ascii", "replace")
    text = ctypes.string_at(address).decode("utf-8", "replace")
    ctypes.CDLL(None)["free"](ctypes.c_void_p(address))
    return text


def activity_checks(activity: Activity, median_s: float, stages: int) -> list[Check]:
    """That the card worked at all, which must hold; and how its record fits the events, which is kept beside it.

    ``median_s`` is the timed calls' median by events, ``stages`` how many stages of the plan launch something.
    """
    worked = bool(activity.kernels)
    copies = worked and not activity.launches
    note = f"{activity.launches:g} kernel{'' if activity.launches == 1 else 's'} a call"
    if stages:
        note += f" for {stages} stage{'' if stages == 1 else 's'}"
    if copies:
        note = "copies and fills alone, no kernel"
    if not worked:
        note = f"no kernel activity: the card did nothing in {activity.calls} calls, so there is no time to measure"
    found = [Check("kernel activity", activity.launches, None, worked, note)]
    if worked and median_s:
        ratio = activity.span_s / median_s
        words = "first kernel's start to the last one's end, over the events' median"
        if ratio > _SPAN_OVER_EVENTS:
            words += "; more than the events saw: work outside of them"
        found.append(Check("activity against events", ratio, None, True, f"{words} ({activity.method})"))
    if activity.lead_s is not None:
        words = (
            "from the end of the flush ahead of a call to the start of its first work; below 0 that began before "
        )
        words += "the timed window, on a stream of its own"
        found.append(Check("work in the window", activity.lead_s, _EARLY_S, activity.lead_s >= _EARLY_S, words))
    return found


_EARLY_S = -2e-6
"""Time stamps of one card differ by less."""
_SPAN_OVER_EVENTS = 1.25
"""Under the profiler a launch takes a little longer, so gaps grow; a quarter more is no longer that."""
