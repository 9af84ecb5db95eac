"""Timing records with everything that a card or a host can tell, made up; nothing here is ever shown by the product."""

from __future__ import annotations

from dataclasses import replace

from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import EAGER, Check, Evaluation, Machine
from kernels.harness.measures import Activity, Conditions, KernelActivity, Range
from kernels.records import to_json
from runs.models import Attempt
from tests.web import rows

AT = "void at::native::vectorized_elementwise_kernel<4, at::native::clamp_min_scalar_kernel_impl<float>>(int)"
OWN = "void cutlass::device_kernel<(anonymous namespace)::GemmKernel>((anonymous namespace)::GemmKernel::Params)"

CARD = Conditions(
    source="NVML, /proc and /sys",
    readings=12,
    sm_clock=Range(1620.0, 1755.0),
    memory_clock=Range(2619.0, 2619.0),
    temperature=Range(58.0, 61.0),
    power=Range(402.1, 655.0),
    load=Range(1.2, 1.4),
    throttle=("power cap",),
    others=0,
    others_share=0.031,
    missing={"cpu_clock": "this system does not show the cores' clocks"},
    cautions=("the card's clocks were held back: power cap",),
)
HOST = Conditions(
    source="/proc and /sys",
    readings=8,
    load=Range(1.9, 2.3),
    others_share=0.37,
    missing={
        "cpu_clock": "this system does not show the cores' clocks",
        "temperature": "this system shows no temperature of the processor",
    },
    cautions=("other processes took 37 % of the cores' time",),
)
ACTIVITY = Activity(
    kernels=(
        KernelActivity(OWN, "kernel", 1.0, 0.000190, True, "symbol"),
        KernelActivity(AT, "kernel", 1.0, 0.000012, False, "name"),
        KernelActivity("Memset (Device)", "memset", 1.0, 0.000001, False, "memset"),
    ),
    sum_s=0.000203,
    span_s=0.000209,
    calls=3,
    method="CUPTI through torch's profiler",
)


def on_a_card(plain: Evaluation) -> Evaluation:
    """A passing evaluation as a card would give it."""
    assert plain.candidate is not None
    own = replace(
        plain.candidate,
        activity=ACTIVITY,
        conditions=CARD,
        energy_j=0.1216,
        energy_method="NVML's total energy counter of the board over 2600 calls back to back in 0.55 s",
    )
    eager_s = plain.candidate.median_s * 13.3
    baselines = (
        replace(rows.timing(EAGER, eager_s, seed=1), agrees=True),
        replace(
            rows.timing(BaselineKind.TF32.full_name, own.median_s * 2.02, seed=2),
            agrees=False,
            agrees_note="matched share 0.31, largest error 4e-4 of the largest magnitude; strict tolerance",
        ),
    )
    checks = (
        *plain.checks,
        Check("clock agreement", 0.00121, 0.02, True, "supervisor's clock less the child's"),
        Check("steady over time", 1.004, None, True, "median of the last 7 calls over the first 7"),
        Check("kernel activity", 2.0, None, True, "2 kernels a call for 1 stages"),
        Check("activity against events", 0.983, None, True, "first kernel's start to the last one's end"),
    )
    return replace(
        plain,
        candidate=own,
        baselines=baselines,
        checks=checks,
        conditions=CARD,
        absent={BaselineKind.COMPILE.full_name: "torch.compile took longer than 240 s and was stopped"},
        machine=Machine("cuda", "NVIDIA H100 80GB HBM3", {"torch": "2.11.0"}),
    )


def on_a_host(plain: Evaluation) -> Evaluation:
    """A passing evaluation as a CPU would give it."""
    assert plain.candidate is not None
    missing = {"activity": "a CPU keeps no record of kernels", "energy": "this machine shows no RAPL counters"}
    baselines = (
        replace(plain.baselines[0], agrees=True),
        replace(
            rows.timing(BaselineKind.COMPILE.full_name, plain.candidate.median_s * 1.4, seed=4),
            agrees=True,
            settings="inductor, default mode (ready in 35.6 s)",
        ),
    )
    checks = (*plain.checks, Check("steady over time", 1.04, None, True, "median of the last 7 calls"))
    return replace(
        plain,
        candidate=replace(plain.candidate, conditions=HOST, missing=missing),
        baselines=baselines,
        checks=checks,
        conditions=HOST,
    )


def store(attempt: Attempt, record: Evaluation) -> None:
    """Put a record in the place of an attempt's own."""
    assert attempt.evaluation is not None
    attempt.evaluation.record = to_json(record)
    attempt.evaluation.save()
