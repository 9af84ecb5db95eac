"""The card's own record of one call: kernels, copies and fills with their times, by CUPTI through torch's profiler.

Runs only in child processes (torch at the top), in calls of their own after the timed ones. What it sends is
evidence that comes from the candidate's process; the supervisor weighs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C._autograd import DeviceType

METHOD = "CUPTI through torch's profiler"
MAXIMUM_EVENTS = 2000
_NAME_LENGTH = 16384
"""Names of templates are long; the supervisor shortens them once it has found whose they are."""
_KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
"""Kineto's names of what runs on a card, and ours. Its annotations and waits are on the same rows, and no work."""


class NotTraceable(Exception):
    """The profiler gives nothing here, with the reason in words."""


FLUSH = "flush"
"""The kind of event that the record of a call begins with: what was launched ahead of it."""


def trace(
    before: Callable[[], None], flush: Callable[[], None], calls: list[Callable[[], object]]
) -> list[list[list[Any]]]:
    """The device's events of each call: ``[kind, name, start_ns, duration_ns]``. Raises NotTraceable.

    As in timed calls, ``before`` leaves the card idle, and the call follows what ``flush`` launches, which is the first
    event of the record. The first record is one of that alone: where it is empty, no record would mean anything.
    """
    if torch.profiler.ProfilerActivity.CUDA not in torch.profiler.supported_activities():
        raise NotTraceable("this torch has no CUPTI")
    if not _record(flush):
        raise NotTraceable(
            "CUPTI gave no record of work that was certainly done; another profiler may hold the card"
        )
    found = []
    for call in calls:
        before()
        events = _record(_behind(flush, call))
        found.append([[FLUSH, *events[0][1:]], *events[1:]] if events else events)
    return found


def _behind(flush: Callable[[], None], call: Callable[[], object]) -> Callable[[], None]:
    def both() -> None:
        flush()
        call()

    return both


def indexed(calls: list[list[list[Any]]]) -> dict[str, Any]:
    """The events with each name once: ``{"names": […], "calls": […]}``, where an event holds its name's place."""
    places: dict[str, int] = {}
    found = [
        [[kind, places.setdefault(name, len(places)), *times] for kind, name, *times in events] for events in calls
    ]
    return {"names": list(places), "calls": found}


def _record(call: Callable[[], object]) -> list[list[Any]]:
    """The device's events of one call with the wait for its end."""
    try:
        # torch.profiler.profile around it would import the compiler first, which takes four seconds.
        with torch.autograd.profiler.profile(use_device="cuda", use_cpu=False, use_kineto=True) as profiler:
            call()
            torch.cuda.synchronize()
        events = profiler.kineto_results.events()
    except (AttributeError, AssertionError) as error:
        raise NotTraceable(f"torch.profiler: {error}") from error
    return events_of(events)


def events_of(events: list[Any]) -> list[list[Any]]:
    """What ran on the card among Kineto's events, in order of start."""
    found = []
    for event in events:
        kind = _kind(event)
        if kind is not None:
            found.append([kind, event.name()[:_NAME_LENGTH], int(event.start_ns()), int(event.duration_ns())])
    if len(found) > MAXIMUM_EVENTS:
        raise NotTraceable(f"one call made {len(found)} kernels, copies and fills; {MAXIMUM_EVENTS} are the most")
    return sorted(found, key=lambda one: int(one[2]))


def _kind(event: Any) -> str | None:
    """Of an event on a card its kind, by Kineto's word for it or, where this torch has none, by its name."""
    if event.device_type() != DeviceType.CUDA:
        return None
    if hasattr(event, "activity_type"):
        return _KINDS.get(str(event.activity_type()))
    if event.name().startswith(("Memcpy", "Memset")):
        return str(event.name()[:6].lower())
    return None if event.is_user_annotation() else "kernel"
