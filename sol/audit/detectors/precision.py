"""Casts to fewer bits than the policy allows, or to another kind of number."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from kernels.dsl import Program
from kernels.dsl.syntax import Name
from kernels.dtypes import DType
from kernels.targets import Policy
from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.tokens import Kind
from sol.audit.cxx.unit import Unit
from sol.audit.mu import arguments, is_torch, names_in
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_HALVES = frozenset({"half", "bfloat16", "float16"})
_EIGHT = frozenset({"float8_e4m3fn", "float8_e5m2", "int8", "uint8", "qint8", "quint8", "int4", "char", "byte",
                    "quantize_per_tensor", "quantize_per_channel", "quantize_dynamic"})  # fmt: skip
_CXX_HALVES = ("__half", "half", "__half2", "half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "__float2half",
               "__float2bfloat16", "__float22half2_rn", "_Float16", "__float2half_rn", "half_t", "bfloat16_t", "kHalf",
               "kBFloat16", "_mm512_cvtneps_pbh", "_mm512_dpbf16_ps", "_mm256_cvtps_ph")  # fmt: skip
_CXX_EIGHT = ("__nv_fp8_e4m3", "__nv_fp8_e5m2", "float_e4m3_t", "float_e5m2_t", "__dp4a", "kFloat8_e4m3fn",
              "__nv_fp8x4_e4m3", "kInt8", "int8_t", "_mm512_dpbusd_epi32", "_mm256_maddubs_epi16")  # fmt: skip
_CXX_TF32 = ("tf32", "precision::tf32", "tfloat32_t", "__float_to_tf32")
_MU_HALVES, _MU_EIGHT = {"f16", "bf16"}, {"f8e4m3", "f8e5m2", "i8", "u8"}
_RANK = {Policy.STRICT: 0, Policy.TF32: 1, Policy.HALF: 2}


class Precision(SourceDetector):
    """Whether a cast costs accuracy is measured elsewhere; this says that it is there and was not declared."""

    name = "precision"
    tricks = (Trick.LOWER_PRECISION, Trick.EASIER_TYPE)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Methods, dtypes, autocast and torch's switches."""
        allowed = _allowed(reading)
        if allowed is None:
            return
        # Scratch memory is asked for by the byte.
        bytes_ = {id(v) for c in code.calls if c.name == "torch.empty" and (v := c.keyword("dtype")) is not None
                  and code.names.of(v) == "torch.uint8"}  # fmt: skip
        for tree in code.reachable:
            for node in walk(tree):
                if id(node) in bytes_:
                    continue
                kind = _kind(code, node)
                if kind is not None:
                    yield from self._one(kind, allowed, head(node).first)
        for call in code.calls:
            if call.last == "set_float32_matmul_precision" and call.node.args:
                level = constant_text(call.node.args[0])
                if level in ("high", "medium"):
                    yield from self._one("tf32" if level == "high" else "half", allowed, head(call.node).first)
        for node in code.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is True:
                for target in node.targets:
                    if (code.names.of(target) or "").endswith("allow_tf32"):
                        yield from self._one("tf32", allowed, node.lineno)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Types and conversions of CUDA and of the host, in what the call reaches."""
        allowed = _allowed(reading)
        if allowed is None:
            return
        used = unit.words
        for kind, words in (("half", _CXX_HALVES), ("eight", _CXX_EIGHT), ("tf32", _CXX_TF32)):
            found = [used[word] for word in words if word in used and not _is_variable(unit, word)]
            found += [t.line for t in unit.strings if kind == "tf32" and ".tf32" in t.text]
            found += [t.line for t in unit.strings if kind == "half" and (".f16" in t.text or ".bf16" in t.text)]
            if kind == "eight":
                found += [
                    b.line for a, b in itertools.pairwise(unit.code) if (a.text, b.text) == ("signed", "char")
                ]
            if found:
                yield from self._one(kind, allowed, min(found))

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """Casts and the knob for how FP32 data is multiplied."""
        allowed = _allowed(reading)
        if allowed is None:
            return
        for stage in program.stages:
            named = names_in(arguments(stage)) if stage.op == "cast" else set()
            types = {r.dtype for r in stage.results} if is_torch(stage) else set()
            for knob in stage.knobs:
                if knob.name == "math":
                    named |= {argument.text for argument in knob.args if isinstance(argument, Name)}
            for kind, words in (("half", _MU_HALVES), ("eight", _MU_EIGHT), ("tf32", {"tf32"})):
                if (named | types) & words:
                    yield from self._one(kind, allowed, stage.span.line)

    def _one(self, kind: str, allowed: int, number: int) -> Iterator[Flag]:
        needed = {"tf32": 1, "half": 2, "eight": 3}[kind]
        if needed <= allowed:
            return
        if kind == "eight":
            words = "numbers of eight bits, where the task has wider ones"
            yield self.flag(Trick.EASIER_TYPE, Severity.SUSPECT, 0.75, words, line(number))
            return
        words = f"{'TF32' if kind == 'tf32' else 'halves'}, where the policy allows no such precision"
        confidence = 0.7 if kind == "half" else 0.5
        yield self.flag(Trick.LOWER_PRECISION, Severity.SUSPECT, confidence, words, line(number))


def _is_variable(unit: Unit, word: str) -> bool:
    """Whether a word that is a type elsewhere names a variable here: ``int half = n / 2``."""
    code = unit.code
    return word == "half" and any(
        token.text == word and code[at - 1].kind is Kind.NAME and code[at + 1].text in ("=", ";", ",")
        for at, token in enumerate(code[:-1])
        if at
    )


def _allowed(reading: Reading) -> int | None:
    """What may be used: 0 nothing below FP32, 1 TF32, 2 halves, 3 eight bits. None where data of that kind is given."""
    signature = reading.subject.signature
    rank = _RANK[reading.subject.policy]
    if signature is None:
        return rank
    types = {spec.dtype for spec in (*signature.inputs, *signature.parameters, *signature.outputs)}
    if types & {DType.F8E4M3, DType.F8E5M2, DType.I8, DType.U8}:
        return None
    if types & {DType.F16, DType.BF16}:
        return max(rank, 2)
    return rank


def _kind(code: PythonCode, node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = code.names.of(node.func) or ""
        if node.func.attr in ("half", "bfloat16") and not node.args:
            return "half"
        if name.startswith(("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp")):
            return "half"
        return "eight" if node.func.attr in _EIGHT and node.func.attr not in ("char", "byte") else None
    if isinstance(node, ast.Attribute):
        name = code.names.of(node) or ""
        if name.startswith(("torch.", "tl.", "triton.language.")):
            last = name.rsplit(".", 1)[-1]
            return "half" if last in _HALVES else "eight" if last in _EIGHT else None
    return None
