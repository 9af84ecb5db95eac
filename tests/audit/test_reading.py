"""What detectors read: tokens of C++, its functions, names of Python, what flows into a result; and bad input."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.candidates import PythonSyntax
from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.languages import Language, SourceRefused
from sol.audit import Subject, Trick, audit
from sol.audit.cxx.tokens import Kind, tokenize
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode
from sol.audit.python.flow import Flow
from sol.audit.python.names import Names

CXX = r"""
#include <cuda_runtime.h>  // 7 // 2, "a string"
#define GO(kernel) \
  kernel<<<1, 2>>>
/* two
lines */ const char* a = "fopen(\"x\") // no comment";
const char* b = R"mark(
  kernel<<<1>>>() )" )mark";
int c = 1'000'000; char d = '"';
#if 0
int never;
#else
int always;
#endif
"""


def test_tokens_know_comments_strings_directives_and_lines() -> None:
    found = tokenize(CXX)
    names = {token.text: token.line for token in found.code if token.kind is Kind.NAME}
    assert "fopen" not in names
    assert "kernel" not in names
    assert "never" not in names
    assert names["always"] == 13
    assert (names["b"], names["c"]) == (7, 9)
    assert [comment.line for comment in found.comments] == [2, 5]
    assert found.comments[1].last == 6
    assert [token.text for token in found.macros["GO"]] == ["kernel", "<<<", "1", ",", "2", ">>>"]
    assert [token.text for token in found.code if token.kind is Kind.NUMBER] == ["1'000'000"]
    strings = [token.text for token in found.code if token.kind is Kind.STRING]
    assert strings == ['fopen(\\"x\\") // no comment', '\n  kernel<<<1>>>() )" ']


def test_a_spliced_line_comment_goes_on() -> None:
    found = tokenize("// one \\\n int hidden;\nint shown;")
    assert [token.text for token in found.code] == ["int", "shown", ";"]
    assert found.code[0].line == 3


UNIT = """
namespace n {
struct Kept { int member = 0; static int shared; };
static const float* known = nullptr;
static const float table[2] = {1, 2};
template <int N> __global__ void __launch_bounds__(N) used(float* y) { y[0] = N; }
__global__ void spare(float* y) { y[0] = 1; }
__global__ void dead(float* y) { y[0] = 2; }
}
static void helper(float* y) { n::used<32><<<1, 32>>>(y); }
extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void*) {
  static int calls = 0;
  if (false) n::dead<<<1, 1>>>(nullptr);
  helper((float*)outputs[0]);
  return 0;
}
"""


def test_a_unit_knows_kernels_launches_and_what_outlives_a_call() -> None:
    unit = Unit(UNIT, raw=True)
    assert [kernel.name for kernel in unit.kernels] == ["used", "spare", "dead"]
    assert unit.launched == {"used"}
    assert set(unit.persistent) == {"shared", "known", "calls"}
    assert unit.function("mucutlass_launch") is not None
    assert unit.kernels[0].parameter_names == ("y",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch.nn as n\nn.Conv3d", "torch.nn.Conv3d"),
        ("from torch import nn\nnn.Conv3d", "torch.nn.Conv3d"),
        ("import torch\nt = torch.nn\nt.Conv3d", "torch.nn.Conv3d"),
        ("import torch\ngetattr(torch.cuda, 'Str' + 'eam')", "torch.cuda.Stream"),
        ("__import__('os').kill", "os.kill"),
        ("import importlib as i\ni.import_module('gc').get_objects", "gc.get_objects"),
        ("f(x).data_ptr", "?.data_ptr"),
    ],
)
def test_names_are_followed_through_aliases(text: str, name: str) -> None:
    tree = ast.parse(text)
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert Names(tuple(ast.walk(tree))).of(last.value) == name


def test_values_flow_and_shapes_do_not() -> None:
    function = ast.parse(
        "def f(x, w):\n    y = torch.empty(x.shape)\n    k(w, y)\n    z = torch.zeros_like(x)\n    return y, z"
    ).body[0]
    flow = Flow(function)
    assert "w" in flow.behind({"y"})
    assert "x" not in flow.behind({"y", "z"})


def test_cxx_in_strings_has_the_lines_of_its_file() -> None:
    text = 'import x\n\nA = """\n#include <a>\n__global__ void k(float* y) { y[0] = 1; }\n"""\n'
    (unit,) = PythonCode(text).cxx
    assert unit.kernels[0].place.first == 5


BAD = {
    "nul": ("import torch\0", Language.PY, SourceRefused),
    "empty": ("  \n", Language.PY, SourceRefused),
    "surrogate": ("x = '\ud800'", Language.PY, SourceRefused),
    "deep": ("x = " + "(" * 5000 + ")" * 5000, Language.PY, UserError),
    "deep_sum": ("x = " + "+".join(["1"] * 14_000), Language.PY, UserError),
    "deep_attributes": ("x = a" + ".b" * 14_000, Language.PY, UserError),
    "no_python": ("def (", Language.PY, PythonSyntax),
    "no_program": ("program", Language.MU, ProgramErrors),
    "long": ("x" * (5 * 2**20), Language.CU, SourceRefused),
    "many_pieces": ("a ; " * 200_000, Language.CU, SourceRefused),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_words(name: str) -> None:
    text, language, error = BAD[name]
    with pytest.raises(error):
        audit(Subject(text, language))


@pytest.mark.parametrize(
    "text",
    [
        "int x = " + "(" * 250 + ")" * 250 + ";",
        "}" * 20_000 + ")" * 20_000,
        'const char* x = "never closed\nint y;',
        'auto x = R"(never closed',
        "/* never closed",
        "#define",
        "#if\n#endif\n#endif\n#else",
        "<<<>>>(((",
        "x" * 1_000_000,
        "\ue000\ue001 \\\n",
    ],
    ids=range(10),
)
def test_cxx_of_any_shape_is_read(text: str) -> None:
    assert isinstance(audit(Subject(text, Language.CU)), tuple)


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="abc<>(){}[];:,.=*&#\"'\\/\n 0+-R_", max_size=120), st.sampled_from(["cu", "cpp", "py", "mu"])
)
def test_no_text_breaks_the_audit(text: str, language: str) -> None:
    try:
        flags = audit(Subject(text, Language(language)))
    except (UserError, ProgramErrors):
        return
    assert all(isinstance(flag.trick, Trick) for flag in flags)
