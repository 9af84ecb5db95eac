"""The record of kernels: whose they are, what a call without work means, and what a child cannot make of it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.harness import activity, tracing
from kernels.harness.activity import activity_checks, activity_of, demangled, symbols_of, whose
from kernels.harness.evaluation import Outcome
from kernels.harness.failures import SubjectFailed
from kernels.harness.measures import Activity

CALL: list[list[Any]] = [
    ["kernel", "ours(float*)", 1_000, 600],
    ["memset", "Memset (Device)", 1_700, 100],
    ["kernel", "void at::native::vectorized_elementwise_kernel<4>(int)", 1_900, 200],
]


def test_times_add_up_and_the_span_holds_the_gaps() -> None:
    shifted = [[kind, name, start + 10**6, taken + 10] for kind, name, start, taken in CALL]
    found = activity_of([CALL, CALL, shifted], "by hand", frozenset({"ours(float*)"}))
    assert found.sum_s == pytest.approx(900e-9)
    assert found.span_s == pytest.approx(1100e-9)
    assert found.launches == 2
    assert found.calls == 3
    assert [kernel.own for kernel in found.kernels] == [True, False, False]
    assert found.kernels[0].origin == "symbol"
    assert found.own_share == pytest.approx((1810 / 3) / (1810 / 3 + 610 / 3))
    assert sum(found.share(kernel) or 0 for kernel in found.kernels) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)", False),
        (
            "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off",
            False,
        ),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", False),
        ("ampere_sgemm_128x64_tn", False),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(Params)", False),
        ("void cudnn::ops::nchwToNhwcKernel<float>(Params)", False),
        ("void implicit_convolve_sgemm<float>(int)", False),
        ("std::enable_if<true>::type internal::gemvx::kernel<int>(cublasGemvParams)", False),
        ("void cutlass::device_kernel<mu_8f3a1c_y::Kernel>(Params)", True),
        ("mu_y_kernel(float const*, float*)", True),
        ("triton_poi_fused_relu_0", True),
        ("attention_kernel", True),
    ],
)
def test_libraries_are_told_by_their_names_alone(name: str, own: bool) -> None:
    assert whose(name, frozenset()) == (own, "name")
    assert whose(name, frozenset({name})) == (True, "symbol"), "what the candidate itself compiled is its own"


def test_symbols_are_found_in_a_shared_object_mangled_or_plain(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(
        "namespace mine { template <int N> void kernel(float* x) { x[N] = 1; } }\n"
        'extern "C" void plain_kernel(float* x) { mine::kernel<3>(x); }\n'
        "void (*table[])(float*) = {mine::kernel<3>};\n"
    )
    library = tmp_path / "a.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-O0", str(source), "-o", str(library)], check=True)
    mangled = "_ZN4mine6kernelILi3EEEvPf"
    assert symbols_of([library], [mangled]) == {mangled}, "long names come as the compiler wrote them"
    names = ["void mine::kernel<3>(float*)", "plain_kernel", "void mine::kernel<4>(float*)", "plain"]
    assert symbols_of([library], names) == {"void mine::kernel<3>(float*)", "plain_kernel"}
    assert demangled(mangled.encode()) == names[0]
    assert demangled(b"no_mangled_name") == "no_mangled_name"


def test_a_long_name_is_shown_as_people_write_it_and_shortened() -> None:
    mangled = "_ZN7cutlass13device_kernelI" + "10SomePolicy" * 60 + "EEvv"
    found = activity_of([[["kernel", mangled, 1, 5]]], "CUPTI", frozenset({mangled}))
    (kernel,) = found.kernels
    assert kernel.own
    assert kernel.name.startswith("void cutlass::device_kernel<SomePolicy")
    assert len(kernel.name) == 400
    longer = "_ZN7cutlassL13device_kernelI" + "10SomePolicy" * 300 + "EEvv"
    found = activity_of([[["kernel", longer, 1, 5]]], "CUPTI", frozenset({longer}))
    assert found.kernels[0].own
    assert found.kernels[0].name == "cutlass::device_kernel<…>", "no demangler takes more than 1024 letters"
    library = activity_of([[["kernel", "_ZN2at6native6kernelEv", 1, 5]]], "CUPTI", frozenset())
    assert not library.kernels[0].own
    assert library.kernels[0].name == "at::native::kernel()"


def test_too_many_events_are_no_record() -> None:
    event = FakeEvent("kernel", "k", 1, torch.profiler.DeviceType.CUDA)
    with pytest.raises(tracing.NotTraceable, match="2001 kernels"):
        tracing.events_of([event] * 2001)


def _empty() -> Activity:
    return activity_of([[], []], "by hand", frozenset())


def test_a_call_without_work_on_the_card_fails_and_is_no_zero_time() -> None:
    check, *rest = activity_checks(_empty(), 1e-6, 1)
    assert not check.passed
    assert "no kernel activity" in check.note
    assert not rest


def test_copies_alone_are_called_that() -> None:
    found = activity_of([[["memcpy", "Memcpy DtoD (Device -> Device)", 5, 10]]], "by hand", frozenset())
    check, _ = activity_checks(found, 1e-8, 0)
    assert check.passed
    assert check.note == "copies and fills alone, no kernel"
    assert found.own_share is None


def test_kernels_stand_beside_stages_and_the_span_beside_the_events() -> None:
    found = activity_of([CALL], "CUPTI", frozenset())
    kernels, span = activity_checks(found, 1e-6, 2)
    assert kernels.note == "2 kernels a call for 2 stages"
    assert span.passed
    assert span.seen == pytest.approx(1.1)
    assert "outside" not in span.note
    _, longer = activity_checks(found, 0.5e-6, 2)
    assert longer.passed, "evidence from the candidate's process decides nothing"
    assert "outside" in longer.note


@pytest.mark.parametrize(
    "calls",
    [
        None,
        [],
        ["x"],
        [[5]],
        [[["kernel"]]],
        [[["kernel", 7, 1, 2]]],
        [[["job", "a", 1, 2]]],
        [[["kernel", "a", -1, 2]]],
        [[["kernel", "a", 1.5, 2]]],
    ],
)
def test_a_child_that_sends_no_proper_record_is_a_crash(calls: Any) -> None:
    with pytest.raises(SubjectFailed) as failed:
        activity_of(calls, "", frozenset())
    assert failed.value.outcome is Outcome.CRASH


def test_names_travel_once_and_come_back_to_their_events() -> None:
    sent = tracing.indexed([CALL, CALL[:1]])
    assert sent["names"] == [event[1] for event in CALL]
    assert activity.named(sent) == [CALL, CALL[:1]]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"names": ["a"], "calls": [[["kernel", 1, 2, 3]]]},
        {"names": ["a"], "calls": [[["kernel", "a", 2, 3]]]},
        {"names": ["a"], "calls": [[[]]]},
        {"names": 5, "calls": []},
    ],
)
def test_an_event_without_its_name_is_a_crash(answer: dict[str, Any]) -> None:
    with pytest.raises(SubjectFailed) as failed:
        activity.named(answer)
    assert failed.value.outcome is Outcome.CRASH


class FakeEvent:
    def __init__(self, word: str | None, name: str, start: int, device: Any, annotation: bool = False) -> None:
        self.name = lambda: name
        self.start_ns = lambda: start
        self.duration_ns = lambda: 7
        self.device_type = lambda: device
        self.is_user_annotation = lambda: annotation
        if word is not None:
            self.activity_type = lambda: word


def test_only_what_runs_on_the_card_is_taken_from_the_profiler_in_order_of_time() -> None:
    cpu, cuda = torch.profiler.DeviceType.CPU, torch.profiler.DeviceType.CUDA
    events = [
        FakeEvent("kernel", "b", 20, cuda),
        FakeEvent("cpu_op", "aten::relu", 1, cpu),
        FakeEvent("gpu_memset", "Memset (Device)", 10, cuda),
        FakeEvent("gpu_user_annotation", "step", 2, cuda, annotation=True),
        FakeEvent("cuda_sync", "Context Sync", 3, cuda),
        FakeEvent(None, "Memcpy DtoH (Device -> Pinned)", 30, cuda),
        FakeEvent(None, "kernel_of_an_older_torch", 40, cuda),
    ]
    assert tracing.events_of(events) == [
        ["memset", "Memset (Device)", 10, 7],
        ["kernel", "b", 20, 7],
        ["memcpy", "Memcpy DtoH (Device -> Pinned)", 30, 7],
        ["kernel", "kernel_of_an_older_torch", 40, 7],
    ]


def test_without_cupti_there_is_a_reason_and_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU})
    with pytest.raises(tracing.NotTraceable, match="no CUPTI"):
        tracing.trace(lambda: None, lambda: None, [])


def test_an_empty_record_of_known_work_makes_every_record_worthless(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = {torch.profiler.ProfilerActivity.CUDA}
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: everything)
    records: list[Any] = [[]]
    monkeypatch.setattr(tracing, "_record", lambda call: records.pop(0))
    with pytest.raises(tracing.NotTraceable, match="certainly done"):
        tracing.trace(lambda: None, lambda: None, [lambda: None])
    flush = ["memset", "m", 1, 2]
    records[:] = [[flush], [flush, ["kernel", "k", 5, 6]], [flush]]
    done = SimpleNamespace(before=0)
    before = lambda: setattr(done, "before", done.before + 1)  # noqa: E731
    own = ["flush", "m", 1, 2]
    traced = tracing.trace(before, lambda: None, [lambda: None, lambda: None])
    assert traced == [[own, ["kernel", "k", 5, 6]], [own]]
    assert done.before == 2


@pytest.mark.parametrize(("start", "passed"), [(1_000, True), (999, True), (500, False)])
def test_work_that_did_not_wait_for_the_flush_is_outside_of_the_window(start: int, passed: bool) -> None:
    call: list[list[Any]] = [["flush", "Memset (Device)", 0, 1_000_000], ["kernel", "k", start * 1_000, 50_000]]
    found = activity_of([call], "by hand", frozenset())
    assert [kernel.name for kernel in found.kernels] == ["k"]
    assert found.sum_s == pytest.approx(50e-6)
    (check,) = [c for c in activity_checks(found, 60e-6, 1) if c.name == "work in the window"]
    assert check.passed is passed
    assert check.seen == pytest.approx((start - 1_000) * 1e-6)
