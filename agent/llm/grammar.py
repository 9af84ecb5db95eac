"""Our language as a constraint on decoding: a grammar in GBNF for a JSON answer whose programs are μCUTLASS.

A server that takes one (llama.cpp, vLLM) cannot then write a text that is no program: the header is the problem's
own, stages are the operations, knobs the target's. Whether names are known and shapes fit stays with the checker. The
form of the answer is the one of ``agent/prompts/schemas.py`` for candidates alone; other phases have no grammar.
"""

from __future__ import annotations

import json
import re

from agent.steps import Started
from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.knobs import KNOBS
from kernels.dsl.ops import OPS

MOST_STATEMENTS = 48
"""Of a program; a small one may have twice its statements and four more, so that a weak model comes to an end."""
_NO_STAGES = ("view", "torch")
"""Rows of the table of operations that are written in another way."""
_HEADER = re.compile(r"program\b.*?->[^\n]*", re.DOTALL)
_STATEMENT = re.compile(r"^\s*\w+ = ", re.MULTILINE)
_BLANKS = re.compile(r"\s+")

_RULES = r"""
root ::= "{\"candidates\": [" candidate (", " candidate){0,@more@} "]}"
candidate ::= "{\"text\": \"" program "\", " said "}"
said ::= "\"change\": \"" words "\", \"hypothesis\": \"" words "\", \"predicted\": " ratio ", \"tool\": null"
words ::= [A-Za-z0-9] [A-Za-z0-9 .,:()_=*/+-]{3,160}
ratio ::= "null" | [1-9] "." [0-9]
program ::= @header@ line statement (line statement){0,@statements@} line "return " value end
line ::= "\\n  "
end ::= "\\n"
statement ::= fresh " = " stage
stage ::= operation "(" arguments ")" knob{0,6} link{0,8} once?
once ::= " @once"
operation ::= @operations@
knob ::= "." knobname "(" setting (", " setting){0,2} ")"
knobname ::= @knobs@
setting ::= integer | fresh
link ::= " >> " linkname "(" arguments? ")"
linkname ::= @links@
arguments ::= argument (", " argument){0,7}
argument ::= (fresh "=")? sum
sum ::= product ((" + " | " - ") product){0,7}
product ::= unary ((" * " | " / ") unary){0,7}
unary ::= "-"? postfix
postfix ::= value (".T" | "." view "(" integers ")"){0,2} | call | number | group
group ::= "(" sum (", " sum){0,4} ")"
call ::= function "(" sum (", " sum){0,3} ")"
function ::= @functions@
view ::= "reshape" | "permute" | "slice" | "select" | "unsqueeze" | "squeeze" | "expand"
integers ::= "-"? integer (", " "-"? integer){0,5}
value ::= @names@ | fresh
fresh ::= [a-z] [a-z0-9_]{0,15}
integer ::= [0-9] [0-9]{0,6}
number ::= integer ("." [0-9]{1,8})?
"""


def grammar_of(started: Started, count: int) -> str:
    """GBNF for an answer of up to ``count`` programs for a problem; empty where its first program has no header."""
    header = _HEADER.match(started.seed_program.lstrip())
    if header is None:
        return ""
    knobs = {row.name for rows in KNOBS.get(started.target, {}).values() for row in rows}
    names = [spec.name for spec in (*started.signature.inputs, *started.signature.parameters)]
    links = ["bias", "add", "sub", "rsub", "mul", "div", "rdiv", "min", "max", "pow", "scale", "expr"]
    unary = [name for name, function in FUNCTIONS.items() if function.arity == 1]
    parts = {
        "more": str(max(0, count - 1)),
        "header": _literal(_BLANKS.sub(" ", header[0]).strip()),
        "statements": str(min(MOST_STATEMENTS, 2 * len(_STATEMENT.findall(started.seed_program)) + 4) - 1),
        "operations": _one_of([name for name in OPS if name not in _NO_STAGES]),
        "knobs": _one_of(sorted(knobs)),
        "links": _one_of([*links, *(name for name in unary if name not in links)]),
        "functions": _one_of(list(FUNCTIONS)),
        "names": _one_of(names),
    }
    return re.sub(r"@([a-z]+)@", lambda found: parts[found[1]], _RULES).strip() + "\n"


def _literal(text: str) -> str:
    """A text of the program as it stands inside a JSON string, as a terminal of the grammar."""
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    return '"' + inside.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _one_of(texts: list[str]) -> str:
    return " | ".join(_literal(text) for text in texts)
