"""The two bounds of one problem on one device under one policy, with the sum written out."""

from __future__ import annotations

import dataclasses

from kernels.dtypes import DType
from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import assumptions, rates
from sol.bounds.floor import floor
from sol.bounds.graph import GraphView
from sol.bounds.record import Bounds, Device, PipeTime, Work
from sol.bounds.units import amount, seconds


def bound(work: Work, inspection: Inspection, device: Device, policy: Policy) -> Bounds:
    """Steering bound: the reference's own algorithm, fused, at the policy's rate. Floor: see ``floor``.

    ``compute_s`` is the larger of the matrix and the vector pipe's time, since the pipes work side by side;
    ``memory_s`` is compulsory bytes at copy bandwidth; ``steering_s`` is the larger of the two.
    """
    pipes = _pipes(work, inspection, device, policy)
    matrix = [part for part in pipes if part.pipe == "matrix"]
    largest = max(matrix, key=lambda part: part.flops).dtype if matrix else DType.F32
    matrix_rate = rates.steering_matrix(device, largest, policy).value
    compute = max(_took(pipes, "matrix"), _took(pipes, "vector"))
    memory = work.bytes / device.copy_bytes_s
    steering = max(compute, memory)
    lowest = floor(work, inspection, device, policy)
    found = Bounds(
        device=device.name,
        policy=policy,
        compute_s=compute,
        memory_s=memory,
        steering_s=steering,
        # A floor above the steering bound would say that the reference's own algorithm is not honest.
        floor_s=min(lowest.seconds, steering),
        bound_class="compute" if compute > memory else "memory",
        flops=work.flops,
        bytes=work.bytes,
        intensity=work.flops / work.bytes if work.bytes else 0.0,
        ridge=matrix_rate / device.copy_bytes_s,
        unknown_ops=work.unknown_ops,
        arithmetic=(),
        floor_flops=lowest.flops,
        floor_bytes=lowest.bytes,
        unfused_bytes=work.unfused_bytes,
        pipes=pipes,
        steering_rests_on=assumptions.of_steering(work, device, policy, [part.dtype for part in matrix]),
        floor_rests_on=lowest.rests_on,
    )
    lines = [*_pipe_lines(pipes), *_steering_lines(found, work, device, matrix_rate), *lowest.arithmetic]
    if found.floor_s < lowest.seconds:
        lines.append(f"floor = steering bound = {seconds(found.floor_s)}, which is lower")
    return dataclasses.replace(found, arithmetic=tuple(lines))


def _took(pipes: tuple[PipeTime, ...], pipe: str) -> float:
    return sum(part.seconds for part in pipes if part.pipe == pipe)


def _pipe_lines(pipes: tuple[PipeTime, ...]) -> list[str]:
    return [
        f"{part.pipe}, {part.dtype} data: {part.flops:,} FLOP ÷ {amount(part.rate, 'FLOP/s')} ({part.rate_words}) "
        f"= {seconds(part.seconds)}"
        for part in pipes
    ]


def _steering_lines(found: Bounds, work: Work, device: Device, matrix_rate: float) -> list[str]:
    copy = amount(device.copy_bytes_s, "B/s")
    lines = [
        f"compute: the slower of the matrix and the vector pipe, which work side by side = {seconds(found.compute_s)}",
        f"memory: ({work.input_bytes:,} read + {work.output_bytes:,} written) B ÷ {copy} (copy, {device.source}) "
        f"= {seconds(found.memory_s)}",
        f"intensity: {found.flops:,} FLOP ÷ {found.bytes:,} B = {found.intensity:.4g} FLOP/B",
        f"ridge: {amount(matrix_rate, 'FLOP/s')} ÷ {copy} = {found.ridge:.4g} FLOP/B",
        f"steering bound = max({seconds(found.compute_s)}, {seconds(found.memory_s)}) = {seconds(found.steering_s)} "
        f"({found.bound_class}-bound)",
    ]
    if work.unknown_ops:
        lines.append("not counted, the bound is too low by them: " + ", ".join(work.unknown_ops))
    return lines


def _operand_types(work: Work, inspection: Inspection, pipe: str) -> dict[DType, int]:
    """FLOPs of a pipe by element type: of a matrix operation's first operand, of a vector operation's result."""
    totals: dict[DType, int] = {}
    if inspection.graph is None:
        return totals
    view = GraphView(inspection)
    for item in work.items:
        if item.pipe == pipe and item.flops:
            call = view.call(view.producers[item.node])
            dtype = call.first.dtype if pipe == "matrix" else call.out.dtype
            totals[dtype] = totals.get(dtype, 0) + item.flops
    return totals


def _pipes(work: Work, inspection: Inspection, device: Device, policy: Policy) -> tuple[PipeTime, ...]:
    """What each pipe has to do by element type, the matrix pipe first."""
    found = []
    for dtype, flops in _operand_types(work, inspection, "matrix").items():
        rate = rates.steering_matrix(device, dtype, policy)
        found.append(PipeTime("matrix", dtype, flops, rate.value, rate.words))
    for dtype, flops in _operand_types(work, inspection, "vector").items():
        rate = rates.steering_vector(device, dtype)
        found.append(PipeTime("vector", dtype, flops, rate.value, rate.words))
    return tuple(found)
