"""Get a trajectory ready: inspect its problem, bound it, translate it, and write the log's first event."""

from __future__ import annotations

import os

from agent.prompts.sol_words import sol_words
from agent.steps import LessonNote, Started
from kernels.errors import UserError
from kernels.languages import Language
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.translate import translate
from runs import engine, jobs, memory
from runs.errors import NoDeviceForTarget, ProblemNotUsable
from runs.fleet import CPU
from runs.handlers.bounds import store_bound
from runs.handlers.inspect import inspected
from runs.handlers.peaks import host_device
from runs.handlers.subjects import trajectory_of
from runs.jobs import Lease
from runs.models import Job, Trajectory
from runs.states import JobKind, TrajectoryState
from sol.bounds import bound, count
from sol.bounds.record import Bounds
from sol.bounds.record import Device as DeviceRecord
from sol.models import Device


def handle_prepare(job: Job, lease: Lease) -> None:
    """Prepare the job's trajectory; what is wrong with its problem ends it with the error's own name."""
    trajectory = trajectory_of(job)
    engine.start(trajectory.run)
    Trajectory.objects.filter(pk=trajectory.pk, state=TrajectoryState.QUEUED).update(state=TrajectoryState.RUNNING)
    try:
        device = device_for(Target(trajectory.run.target), lease)
        started, bounds = prepare(trajectory, device, lease)
    except UserError as error:
        lease.check()
        with jobs.settling(job):
            engine.fail(trajectory, error.slug(), str(error))
        return
    lease.check()
    with jobs.settling(job):
        Trajectory.objects.filter(pk=trajectory.pk).update(
            sol_s=bounds.steering_s,
            floor_s=bounds.floor_s,
            bound_class=bounds.bound_class,
            bounds=to_json(bounds),
            device=device.name,
        )
        engine.append(trajectory, started)
        memory.mark_given(trajectory, started.lessons)
        jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)


def _l2_bytes(device: DeviceRecord) -> int | None:
    """One core's L2 in bytes, where the measurement noted it."""
    noted = device.facts.get("l2_bytes")
    return int(noted) if noted is not None else None


def device_for(target: Target, lease: Lease) -> Device:
    """The device that a target is bounded by: this machine, or the newest card that a worker reported."""
    if target is Target.HOST:
        return host_device(lease)
    device = Device.objects.here().filter(kind="cuda").order_by("-measured").first()
    if device is None:
        raise NoDeviceForTarget(target=target.value)
    return device


def prepare(trajectory: Trajectory, device: Device, lease: Lease) -> tuple[Started, Bounds]:
    """The log's first event and the bounds it rests on. A program that a person gave takes the translation's place."""
    problem, size, run = trajectory.problem, trajectory.size, trajectory.run
    row = inspected(problem, size, lease)
    if row.record is None or row.error:
        raise ProblemNotUsable(problem=problem.slug, size=size, error=row.error, detail=row.detail)
    inspection = from_json(row.record, Inspection)
    store_bound(row, device)
    record = from_json(device.record, DeviceRecord)
    work = count(inspection)
    bounds = bound(work, inspection, record, Policy(run.policy))
    given = trajectory.seed_program
    program = given or translate(problem.name, inspection, Target(run.target)).program
    started = Started(
        problem=problem.slug,
        signature=inspection.signature,
        target=Target(run.target),
        policy=Policy(run.policy),
        seed_program=program,
        sol_s=bounds.steering_s,
        floor_s=bounds.floor_s,
        bound_class=bounds.bound_class,
        cores=os.cpu_count() or 1,
        l2_bytes=_l2_bytes(record),
        seed_given=bool(given),
        seed_language=Language(trajectory.seed_language),
        lessons=_lessons(trajectory, row.kind, bounds),
        operation=row.kind,
        problem_source=problem.source,
        sol_report=sol_words(bounds, work, record),
    )
    return started, bounds


def _lessons(trajectory: Trajectory, operation: str, bounds: Bounds) -> tuple[LessonNote, ...]:
    """What memory holds for the problem; nothing with memory off."""
    if not engine.settings_of(trajectory.run).memory:
        return ()
    return memory.notes_for(operation, trajectory.run.target, bounds.bound_class)
