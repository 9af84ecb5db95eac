from __future__ import annotations

from kernels.codegen.source import SYMBOL, Source, without_comments


def _unit(remark: str, code: str = "int x = 1;") -> Source:
    text = Source()
    text.add(code, mu=3, remark=remark)
    text.add(f"int {SYMBOL}() {{ return x; }}")
    return text


def test_a_symbol_names_its_op_and_twelve_digits_of_a_hash() -> None:
    unit = _unit("").finish("gemm", "c++", "y")
    op, digits = unit.symbol.removeprefix("mu_").rsplit("_", 1)
    assert op == "gemm"
    assert len(digits) == 12
    assert set(digits) <= set("0123456789abcdef")
    assert f"int {unit.symbol}()" in unit.source


def test_names_of_a_program_do_not_change_the_symbol() -> None:
    assert _unit("weight").finish("map", "c++", "a").symbol == _unit("other").finish("map", "c++", "b").symbol


def test_code_changes_the_symbol() -> None:
    one, two = _unit("w").finish("map", "c++", "a"), _unit("w", "int x = 2;").finish("map", "c++", "a")
    assert one.symbol != two.symbol


def test_a_remark_cannot_leave_its_line() -> None:
    unit = _unit("name\nint stolen; \\").finish("map", "c++", "a")
    assert unit.source.split("\n")[0] == "int x = 1;  // name int stolen;"


def test_links_count_lines_from_one() -> None:
    unit = _unit("w").finish("map", "c++", "a")
    assert [(link.cpp, link.mu) for link in unit.lines] == [(1, 3)]


def test_comments_and_blank_lines_do_not_count() -> None:
    assert without_comments("a // b\n\n// c\nd\n") == "a\nd"


def test_slashes_that_may_stand_in_a_text_count() -> None:
    assert without_comments('const char* u = "a//b";') == 'const char* u = "a//b";'
    assert without_comments("char c = '/'; // x") == "char c = '/'; // x"
    raw = 'auto s = R"(\n a // b\n)";'
    assert without_comments(raw) == raw


def test_a_comment_that_swallows_the_next_line_counts() -> None:
    swallowed = "// a \\\nint x;"
    assert without_comments(swallowed) != without_comments("// a\nint x;")
