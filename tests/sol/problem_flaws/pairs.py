"""Small problems with one flaw each, and each one's honest twin."""

from __future__ import annotations

from dataclasses import dataclass

from sol.audit.problems import Flaw
from tests.problems.sources import problem

_NORM = "self.f = nn.Linear(8, 8)\nself.n = nn.BatchNorm1d(8)\nself.s = nn.Parameter(torch.rand(8) + 0.5)"
_LAYER = "self.s = nn.Parameter(torch.ones(()))\nself.n = nn.LayerNorm(8)\nself.t = nn.Parameter(torch.rand(8))"
_LINEAR = "self.f = nn.Linear(64, 96, bias=False)"
_TWO = {"inputs": "torch.rand(4, 8), torch.rand(4, 8)", "arguments": "x, y"}


@dataclass(frozen=True, slots=True)
class Pair:
    """``flawed`` and ``honest`` are problem files, of which only the first has the flaw."""

    flaw: Flaw
    flawed: str
    honest: str
    found_by: str = "graph"


PAIRS: dict[str, Pair] = {
    "row minus its own mean": Pair(
        Flaw.CONSTANT_OUTPUT,
        problem("y = x.amax(1, keepdim=True)\nreturn F.gelu(y - y.mean(1, keepdim=True))"),
        problem("y = x.amax(1, keepdim=True)\nreturn F.gelu(y - y.mean(0, keepdim=True))"),
    ),
    "clamped away": Pair(
        Flaw.CONSTANT_OUTPUT,
        problem("return torch.clamp(torch.clamp(x, max=0.0), 0.0, 1.0)"),
        problem("return torch.clamp(torch.clamp(x, max=0.5), 0.0, 1.0)"),
    ),
    "zero": Pair(
        Flaw.ZERO_OUTPUT,
        problem("y = x.amax(1, keepdim=True)\nreturn y - y.mean(1, keepdim=True)"),
        problem("return x - x.mean(1, keepdim=True)"),
        "run",
    ),
    "mean of a group norm": Pair(
        Flaw.ZEROS_PASS,
        problem("return self.n(x).mean((1, 2))", init="self.n = nn.GroupNorm(2, 8)", inputs="torch.rand(4, 8, 16)"),
        problem("return self.n(x).amax((1, 2))", init="self.n = nn.GroupNorm(2, 8)", inputs="torch.rand(4, 8, 16)"),
        "run",
    ),
    "softmax over many": Pair(
        Flaw.ZEROS_PASS,
        problem("return x.softmax(1)", inputs="torch.rand(4, 32768)"),
        problem("return x.log_softmax(1)", inputs="torch.rand(4, 32768)"),
        "run",
    ),
    "sum of many products": Pair(
        Flaw.CONSTANT_PASSES,
        problem("return x @ x.T + 0 * x.sum()", inputs="torch.rand(2, 8) * 0 + torch.rand(2, 8) * 1e-3 + 5"),
        problem("return x @ x.T", inputs="torch.rand(2, 8)"),
        "run",
    ),
    "other inputs pass": Pair(
        Flaw.INPUT_IMMATERIAL,
        problem("return self.p + x.mean() * 1e-3", init="self.p = nn.Parameter(torch.randn(64))"),
        problem("return self.p + x.mean() * 10", init="self.p = nn.Parameter(torch.randn(64))"),
        "run",
    ),
    "not finite": Pair(Flaw.NOT_FINITE, problem("return torch.log(x - 9)"), problem("return torch.exp(x)"), "run"),
    "input unused": Pair(Flaw.INPUT_IGNORED, problem("return x * 2", **_TWO), problem("return x * y", **_TWO)),
    "input multiplied away": Pair(
        Flaw.INPUT_IGNORED,
        problem("return x + y.sign().abs().mul(0)", **_TWO),
        problem("return x + y", **_TWO),
        "run",
    ),
    "parameter unused": Pair(
        Flaw.PARAMETER_IGNORED,
        problem("return x * 2", init="self.w = nn.Parameter(torch.rand(8))"),
        problem("return x * self.w", init="self.w = nn.Parameter(torch.rand(8))"),
    ),
    "live dropout": Pair(
        Flaw.LIVE_RANDOMNESS,
        problem("return self.d(x + 1)", init="self.d = nn.Dropout(0.5)"),
        problem("return self.d(x + 1)", init="self.d = nn.Dropout(0.0)"),
        "run",
    ),
    "dropout in the graph": Pair(
        Flaw.LIVE_RANDOMNESS,
        problem("return self.d(x + 1)", init="self.d = nn.Dropout(0.5)"),
        problem("return self.d(x + 1)", init="self.d = nn.Dropout(0.5).eval()"),
    ),
    "sum of a product": Pair(
        Flaw.REMOVABLE_WORK,
        problem("return (self.f(x) / 2).sum(1)", init=_LINEAR, inputs="torch.rand(32, 64)"),
        problem("return (self.f(x) / 2).relu().sum(1)", init=_LINEAR, inputs="torch.rand(32, 64)"),
    ),
    "two products in the dear order": Pair(
        Flaw.REMOVABLE_WORK,
        problem("return (x @ x.T) @ y", inputs="torch.rand(64, 8), torch.rand(64, 1)", arguments="x, y"),
        problem("return (x @ x.T).softmax(1) @ y", inputs="torch.rand(64, 8), torch.rand(64, 1)", arguments="x, y"),
    ),
    "relu twice": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return F.relu(F.max_pool1d(F.relu(x), 2))"),
        problem("return F.relu(F.max_pool1d(F.relu(x), 2) - 0.1)"),
    ),
    "clamp behind tanh": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return torch.clamp(torch.tanh(x), -1, 1)"),
        problem("return torch.clamp(torch.tanh(x), -0.5, 1)"),
    ),
    "clamp behind a scaled sigmoid": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return torch.clamp(torch.sigmoid(x) * 2 - 1, -1, 1)"),
        problem("return torch.clamp(torch.sigmoid(x) * 3 - 1, -1, 1)"),
    ),
    "mean twice": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return x.mean(1, keepdim=True).mean(1, keepdim=True)"),
        problem("return x.mean(1, keepdim=True).mean(0, keepdim=True)"),
    ),
    "pool to what is there": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return F.adaptive_avg_pool2d(x, (4, 4))", inputs="torch.rand(2, 3, 4, 4)"),
        problem("return F.adaptive_avg_pool2d(x, (2, 2))", inputs="torch.rand(2, 3, 4, 4)"),
    ),
    "times one": Pair(Flaw.REDUNDANT_OPERATION, problem("return x.tanh() * 1.0"), problem("return x.tanh() * 1.5")),
    "log of an exponential": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return torch.log(torch.exp(x))"),
        problem("return torch.log(1 + torch.exp(x))"),
    ),
    "scaled before a batch norm": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return self.n(x * self.s)", init=_NORM, inputs="torch.rand(16, 8)"),
        problem("return self.n(x) * self.s", init=_NORM, inputs="torch.rand(16, 8)"),
    ),
    "bias before a batch norm": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return self.n(self.f(x))", init=_NORM, inputs="torch.rand(16, 8)"),
        problem("return self.n(self.f(x).relu())", init=_NORM, inputs="torch.rand(16, 8)"),
    ),
    "shifted before a layer norm": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return self.n(x + self.s)", init=_LAYER),
        problem("return self.n(x + self.t)", init=_LAYER),
    ),
    "shifted before a softmax": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("return (x - x.amax(1, keepdim=True)).softmax(1)"),
        problem("return (x - x.amax(0, keepdim=True)).softmax(1)"),
    ),
    "mean subtracted twice": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("y = x - x.mean(1, keepdim=True)\nreturn y - y.mean(1, keepdim=True)"),
        problem("y = x - x.mean(1, keepdim=True)\nreturn y - y.mean(0, keepdim=True)"),
    ),
    "sum of a softmax": Pair(
        Flaw.REDUNDANT_OPERATION,
        problem("y = x.softmax(1)\nreturn y / y.sum(1, keepdim=True)"),
        problem("y = x.sigmoid()\nreturn y / y.sum(1, keepdim=True)"),
    ),
    "rows jumped over": Pair(
        Flaw.UNREAD_ELEMENTS,
        problem("return self.c(x)", init="self.c = nn.Conv1d(3, 3, 1, stride=2)", inputs="torch.rand(2, 3, 16)"),
        problem("return self.c(x)", init="self.c = nn.Conv1d(3, 3, 2, stride=2)", inputs="torch.rand(2, 3, 16)"),
    ),
}
