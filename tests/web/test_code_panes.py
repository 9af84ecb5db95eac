"""Highlighting, links between lines, differences, and places of refusals."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.codegen.emission import Emission, LineLink, Plan, Unit
from kernels.highlight import highlight
from kernels.targets import Target
from runs.code_panes import diff, mu_lines, unit_pane
from runs.located import located

_TAG = re.compile(r"</?span[^>]*>")


@pytest.mark.parametrize("language", ["mu", "c++", "cuda", "python"])
@given(source=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=200))
def test_no_text_loses_a_line_or_lets_markup_through(language: str, source: str) -> None:
    lines = highlight(source, language)
    assert len(lines) in (source.count("\n") + 1, source.count("\n") or 1)
    for line in lines:
        assert "<" not in _TAG.sub("", line)


def test_a_program_is_coloured_by_what_its_words_are() -> None:
    line = highlight("  y = gemm(x, w.T).tile(64, 128) >> relu()  # fast", "mu")[0]
    assert '<span class="y">gemm</span>' in line
    assert '<span class="m">64</span>' in line
    assert '<span class="k">&gt;&gt;</span>' in line
    assert '<span class="c"># fast</span>' in line


def test_generated_code_is_coloured_in_both_dialects() -> None:
    assert '<span class="k">return</span>' in highlight("return 0;", "c++")[0]
    assert '<span class="k">__global__</span>' in highlight("__global__ void k();", "cuda")[0]


def test_a_line_names_its_partners_once() -> None:
    links = (LineLink(9, 2), LineLink(7, 2), LineLink(7, 2))
    lines = mu_lines("program\n  y = x", links, "L", frozenset({2}))
    assert [line.partners for line in lines] == ["", "L7 L9"]
    assert [line.marked for line in lines] == [False, True]


def test_a_difference_has_both_numbers_and_little_around() -> None:
    old = "\n".join(f"line {n}" for n in range(1, 31))
    new = old.replace("line 15", "line fifteen\nand more")
    found = diff(old, new)
    assert found is not None
    assert [(row.kind, row.old, row.new) for row in found.rows] == [
        ("same", 12, 12), ("same", 13, 13), ("same", 14, 14), ("gone", 15, None), ("new", None, 15),
        ("new", None, 16), ("same", 16, 17), ("same", 17, 18), ("same", 18, 19),
    ]  # fmt: skip
    assert (found.gone, found.new, found.changed) == (1, 2, frozenset({15, 16}))


def test_equal_texts_have_no_difference() -> None:
    found = diff("a\nb", "a\nb")
    assert found is not None
    assert found.rows == ()


def test_a_line_end_at_the_end_is_no_line() -> None:
    found = diff("a\nb\n", "a\nc\n")
    assert found is not None
    assert max(row.new or 0 for row in found.rows) == 2


def test_texts_too_long_to_compare_are_left_alone() -> None:
    assert diff("a\n" * 6000, "b") is None


def test_a_refusal_stands_under_its_column() -> None:
    source = "program p()\n\ty = gem(x)"
    one, two, three = located(
        "2:6: unknown-stage: there is no stage 'gem'; stages are gemm\n"
        "p.mu:99:1: syntax: the text ends; would be right: return\n"
        "something without a place",
        source,
    )
    assert (one.line, one.rule, one.text, one.caret) == (2, "unknown-stage", "\ty = gem(x)", "\t    ^")
    assert one.words == "there is no stage 'gem'; stages are gemm"
    assert (two.line, two.text) == (99, "")
    assert (three.line, three.words) == (None, "something without a place")


def test_a_long_unit_comes_in_part_and_whole_on_demand() -> None:
    source = "\n".join(f"int x{n};" for n in range(700))
    emission = Emission(Target.HOST, (Unit("mu_x", "c++", source, (), ("y",)),), Plan((), (), (), (), ()))
    part, whole = unit_pane(emission, 0, False), unit_pane(emission, 0, True)
    assert part is not None
    assert (len(part.lines), part.total, part.cut) == (600, 700, True)
    assert whole is not None
    assert (len(whole.lines), whole.cut) == (700, False)
    assert unit_pane(emission, 1, True) is None
