"""A problem's speed of light: figures for a chosen device and policy, their arithmetic, and what is not known."""

from __future__ import annotations

import dataclasses
import re

import pytest
from django.test import Client

from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import to_json
from sol.bounds import card
from sol.models import Device
from tests.sol.graphs import Sketch, gemm
from tests.web import gallery
from tests.web.reading import html, links, text_of


def inspected(inspection: Inspection | None, size: str = "gpu", error: str = "") -> Problem:
    """A problem looked at, at one size."""
    problem = gallery.problem(70, "Gemm_Sum", bounded=False)
    record = None if inspection is None else to_json(inspection)
    ProblemSize.objects.update_or_create(
        problem=problem,
        size=size,
        defaults={"digest": problem.digest, "record": record, "error": error, "detail": error and "line 7"},
    )
    return problem


def summed() -> Inspection:
    """``(x @ w).sum(1)``, which collapses to a matrix-vector product."""
    sketch = Sketch()
    x, w = sketch.input("x", 1024, 8192), sketch.parameter("fc.weight", 8192, 8192)
    y = sketch.op("mm", x, w, shape=(1024, 8192))
    return sketch.done(sketch.op("aten.sum.dim_IntList", y, [1], shape=(1024,)))


def page(client: Client, problem: Problem, query: str = "size=gpu") -> str:
    return text_of(client.get(f"/problems/{problem.slug}/sol/?{query}"))


def test_both_bounds_stand_with_the_sum_written_out(as_alice: Client) -> None:
    text = page(as_alice, inspected(summed()))
    assert "SOL, the steering bound 0.278 ms compute-bound under tf32" in text
    assert "Floor 0.0745 ms" in text
    assert "matrix, f32 data: 137,438,953,472 FLOP ÷ 494.7 TFLOP/s (tf32, specification) = 277.8 µs" in text
    assert "memory: (301,989,888 read + 4,096 written) B ÷ 3.35 TB/s" in text
    assert "floor, mm_0: 137,438,953,472 → 16.78 MFLOP: only sums over 8,192 of its elements are used" in text


def test_what_dominates_and_where_the_bytes_are(as_alice: Client) -> None:
    text = page(as_alice, inspected(summed()))
    assert text.index("mm_0 aten.mm.default") < text.index("sum_1 aten.sum")
    assert "2·M·N·K = 2·1024·8192·8192 = 137,438,953,472" in text
    assert "fc.weight parameter f32[8192, 8192] 268 MB 268 MB 268 MB" in text
    assert "one by one the operations move 369 MB, 1.22× of what a fused program must" in text


def test_each_bound_says_what_it_rests_on(as_alice: Client) -> None:
    text = page(as_alice, inspected(summed()))
    assert "FP32 data is multiplied as TF32, as policy tf32 allows" in text
    assert "up to 52,428,800 B may lie in the cache from the call before" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("device=a100-sxm-80gb", "0.881 ms compute-bound"), ("policy=strict", "2.22 ms compute-bound under strict"),
        ("policy=half", "0.139 ms"), ("device=h200-sxm&policy=half", "NVIDIA H200 SXM, specification"),
        ("device=nonsense&policy=nonsense&size=nonsense", "0.278 ms compute-bound under tf32"),
    ],
)  # fmt: skip
def test_the_address_chooses_device_and_policy(as_alice: Client, query: str, words: str) -> None:
    assert words in page(as_alice, inspected(summed()), query if "size" in query else f"{query}&size=gpu")


def test_a_measured_machine_can_be_chosen(as_alice: Client) -> None:
    machine = dataclasses.replace(card("h200"), name="a measured card", source="measured", measured_at="2026-01-01")
    row = Device.objects.create(name=machine.name, kind="cuda", record=to_json(machine))
    text = page(as_alice, inspected(summed()), f"device=measured-{row.pk}&size=gpu")
    assert "a measured card, measured" in text
    assert "the peaks measured on this device (2026-01-01)" in text


def test_of_archives_machines_of_one_name_the_last_can_be_chosen(as_alice: Client) -> None:
    machine = dataclasses.replace(card("h200"), name="a measured card", source="measured", measured_at="2026-01-01")
    _, last, here = (
        Device.objects.create(name=machine.name, kind="cuda", record=to_json(machine), elsewhere=place)
        for place in ("first", "last", "")
    )
    markup = html(as_alice.get(f"/problems/{inspected(summed()).slug}/sol/"))
    assert re.findall(r'value="measured-(\d+)"[^>]*>([^<]*)', markup) == [
        (str(here.pk), "a measured card, measured"),
        (str(last.pk), "a measured card, measured elsewhere"),
    ]


def test_the_roofline_has_the_problem_on_it(as_alice: Client) -> None:
    markup = html(as_alice.get(f"/problems/{inspected(gemm(4096, 4096, 4096)).slug}/sol/?size=gpu"))
    assert 'aria-label="Roofline of NVIDIA H100 SXM: 3.35 TB/s, 494.7 TFLOP/s, ridge 148 FLOP per byte. ' in markup
    assert "The problem lies at 683 FLOP/B." in markup
    assert 'class="dot"' in markup


def test_a_problem_without_arithmetic_has_no_place_on_it(as_alice: Client) -> None:
    sketch = Sketch()
    x = sketch.input("x", 64, 32)
    problem = inspected(
        sketch.done(sketch.op("clone", sketch.op("permute", x, [1, 0], shape=(32, 64)), shape=(32, 64)))
    )
    markup = html(as_alice.get(f"/problems/{problem.slug}/sol/?size=gpu"))
    assert "no arithmetic: memory alone" in markup
    assert 'class="dot"' not in markup


def test_an_operation_without_a_rule_is_named(as_alice: Client) -> None:
    sketch = Sketch()
    x = sketch.input("x", 64)
    text = page(as_alice, inspected(sketch.done(sketch.op("aten.frobnicate.default", x, shape=(64,)))))
    assert "Not counted, there is no rule for: aten.frobnicate.default . Both bounds are too low by them." in text
    assert "not counted" in text


def test_an_untraced_problem_says_so(as_alice: Client) -> None:
    traced = gemm(64, 64, 64)
    text = page(as_alice, inspected(Inspection("gpu", traced.signature, None, "ValueError: a branch on data")))
    assert "The reference could not be traced (ValueError: a branch on data)" in text
    assert "No operation is counted: there is no graph." in text


def test_a_size_that_nobody_looked_at_says_so(as_alice: Client) -> None:
    problem = gallery.problem(71, "Not_Looked_At", bounded=False)
    assert "is not inspected yet" in page(as_alice, problem, "")


def test_a_size_that_could_not_be_looked_at_says_why(as_alice: Client) -> None:
    assert "could not be looked at: problem-raised: line 7" in page(
        as_alice, inspected(None, error="problem-raised")
    )


def test_the_problems_page_leads_here(as_alice: Client) -> None:
    problem = inspected(summed())
    assert f"/problems/{problem.slug}/sol/" in links(html(as_alice.get(f"/problems/{problem.slug}/")))


def test_names_from_a_problem_are_text_and_no_markup(as_alice: Client) -> None:
    sketch = Sketch()
    x = sketch.input("<script>alert(1)</script>", 64)
    markup = html(
        as_alice.get(f"/problems/{inspected(sketch.done(sketch.op('relu', x, shape=(64,)))).slug}/sol/?size=gpu")
    )
    assert "<script>alert(1)" not in markup
    assert "&lt;script&gt;alert(1)" in markup


def test_it_is_for_signed_in_people(db: None, client: Client) -> None:
    assert client.get(f"/problems/{inspected(summed()).slug}/sol/").status_code == 302


def test_an_unknown_problem_is_not_found(as_alice: Client) -> None:
    assert as_alice.get("/problems/own/404/sol/").status_code == 404


def test_the_page_takes_few_queries(as_alice: Client, django_assert_max_num_queries: object) -> None:
    problem = inspected(summed())
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        as_alice.get(f"/problems/{problem.slug}/sol/?size=gpu")
