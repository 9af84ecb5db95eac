"""Graphs that are captured once and replayed on old inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import names
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import called, flow_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_UPDATES = ("cudaGraphExecUpdate", "cudaGraphExecKernelNodeSetParams", "cudaGraphExecMemcpyNodeSetParams")


class Graphs(SourceDetector):
    """A replay whose inputs were copied into the graph's own in the same call is legal."""

    name = "graphs"
    tricks = (Trick.STALE_GRAPH,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """``replay`` of torch's graphs."""
        replays = [c for c in code.called_calls if c.last == "replay"]
        if not replays or not any(c.last in ("CUDAGraph", "graph") for c in code.calls):
            return
        if any(_refreshes(code, tree, replays[0].node) for tree in code.called if isinstance(tree, FunctionNode)):
            words = "a graph is replayed on inputs that the call copies into it"
            yield self.flag(Trick.STALE_GRAPH, Severity.INFO, 0.3, words, head(replays[0].node))
        else:
            words = "a graph is replayed, and no input of the call is copied into it"
            yield self.flag(Trick.STALE_GRAPH, Severity.SEVERE, 0.8, words, head(replays[0].node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Graphs of the CUDA runtime that outlive a call."""
        launches = unit.called("cudaGraphLaunch", "cuGraphLaunch")
        kept = {name for call in launches for argument in call.arguments for name in names(argument)}
        if not launches or not kept & set(unit.persistent):
            return
        copies = [c for c in unit.called("cudaMemcpyAsync", "cudaMemcpy") if c.arguments
                  and names(c.arguments[0]) & set(unit.persistent)]  # fmt: skip
        if unit.called(*_UPDATES) or copies:
            words = "a kept graph is launched; its parameters or inputs are renewed"
            yield self.flag(Trick.STALE_GRAPH, Severity.INFO, 0.3, words, line(launches[0].line))
        else:
            words = "a kept graph is launched with the pointers of the call that captured it"
            yield self.flag(Trick.STALE_GRAPH, Severity.SEVERE, 0.75, words, line(launches[0].line))


def _refreshes(code: PythonCode, function: FunctionNode, replay: ast.AST) -> bool:
    """Whether an input is copied before the replay, on the way to it and not in the branch that captures alone."""
    inputs = {a.arg for a in function.args.args} - {"self"}
    flow = flow_of(function, effects=False)
    captures = [n for n in walk(function) if isinstance(n, ast.If) and _captures(n)]
    once = {id(part) for branch in captures for item in branch.body for part in walk(item)}
    for node in walk(function):
        copies = isinstance(node, ast.Call) and called(node) in ("copy_", "_foreach_copy_") and id(node) not in once
        if copies and isinstance(node, ast.Call) and any(flow.rests(argument, inputs) for argument in node.args):
            return True
    return False


def _captures(node: ast.If) -> bool:
    words = {getattr(part, "attr", "") for item in node.body for part in walk(item)}
    return bool(words & {"CUDAGraph", "graph", "capture_begin"})
