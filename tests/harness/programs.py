"""A problem, C++ bodies good and bad, and plans made by hand: no code generator takes part."""

from __future__ import annotations

import math
from typing import Any

from kernels.codegen.emission import Launch, Plan, PlanValue, TorchCall
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec

ROWS, COLUMNS = 64, 96

PROBLEM = f"""
import torch
from torch import nn

M, N = {ROWS}, {COLUMNS}


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.relu(x + self.bias)


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return [N]
"""

HEAD = """
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <unistd.h>
#include <sys/socket.h>
#include <netinet/in.h>
#define API extern "C" int
#define BIAS_RELU const float* x, const float* b, float* y, int64_t m, int64_t n, void*, void*
static void right(const float* x, const float* b, float* y, int64_t m, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) { float v = x[i * n + j] + b[j]; y[i * n + j] = v > 0 ? v : 0; }
}
"""

BODIES = {
    "bias_relu": "right(x, b, y, m, n); return 0;",
    "wrong": "right(x, b, y, m, n); y[m * n - 1] += 1; return 0;",
    "not_a_number": "right(x, b, y, m, n); y[5] = NAN; return 0;",
    "zeros": "memset(y, 0, m * n * 4); return 0;",
    "nothing": "return 0;",
    "segfault": "*(volatile int*)8 = 1; return 0;",
    "aborts": "abort(); return 0;",
    "illegal": "__builtin_trap(); return 0;",
    "late_segfault": "static int c = 0; if (++c > 20) *(volatile int*)8 = 1; right(x, b, y, m, n); return 0;",
    "endless": "volatile int go = 1; while (go) {} return 0;",
    "changes_input": "right(x, b, y, m, n); ((float*)x)[3] = 7; return 0;",
    "changes_bias": "right(x, b, y, m, n); ((float*)b)[3] = nextafterf(b[3], 9); return 0;",
    "error_code": "return 42;",
    "no_memory_code": "return ENOMEM;",
    "takes_100_gb": "volatile char* p = new char[100LL << 30]; "
    "for (int64_t i = 0; i < 100LL << 30; i += 4096) p[i] = 1; return 0;",
    "forks": "static int c = 0; if (!c++) for (int i = 0; i < 5; i++) if (!fork()) { setsid(); pause(); } "
    "right(x, b, y, m, n); return 0;",
    "fork_bomb": "for (int i = 0; i < 200; i++) if (!fork()) { pause(); } sleep(100); return 0;",
    "prints": "static int c = 0; if (!c++) for (int i = 0; i < 1000; i++) { static char s[100000]; "
    "memset(s, 65, sizeof s); (void)!write(1, s, sizeof s); } right(x, b, y, m, n); return 0;",
    "prints_10_gb": "static char s[1 << 20]; memset(s, 65, sizeof s); "
    "for (int i = 0; i < 10000; i++) (void)!write(1, s, sizeof s); right(x, b, y, m, n); return 0;",
    "fills_disk": "signal(SIGXFSZ, SIG_IGN); char name[64]; static char s[1 << 20]; for (int f = 0; f < 1000; f++) { "
    'snprintf(name, sizeof name, "%s/fill%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", f); '
    'FILE* file = fopen(name, "w"); if (!file) return errno; for (int i = 0; i < 100; i++) '
    "if (fwrite(s, sizeof s, 1, file) != 1 || fflush(file)) return errno; fclose(file); } return 0;",
    "slow": "usleep(100000); right(x, b, y, m, n); return 0;",
    "exits": "_exit(0); return 0;",
    "once_right": "static int c = 0; if (!c++) right(x, b, y, m, n); return 0;",
    "breaks_later": 'right(x, b, y, m, n); if (getenv("BROKEN")) y[7] += 1; return 0;',
    "remembers": "static float kept[1 << 16]; static int c = 0; if (!c++) right(x, b, kept, m, n); "
    "memcpy(y, kept, m * n * 4); return 0;",
    "unsteady": "right(x, b, y, m, n); static float c = 0; c += 1e-7f; y[0] += c; return 0;",
    "opens_network": "int s = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_in a = {}; a.sin_family = AF_INET; "
    "a.sin_port = htons(PORT); a.sin_addr.s_addr = htonl(0x7f000001); "
    "if (!connect(s, (struct sockaddr*)&a, sizeof a)) return 77; right(x, b, y, m, n); return 0;",
    "reads_secrets": 'if (getenv("SECRET_KEY")) return 78; right(x, b, y, m, n); return 0;',
}


def value(
    name: str,
    *shape: int,
    storage: str | None = None,
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
    dtype: DType = DType.F32,
) -> PlanValue:
    """A contiguous value unless strides are given."""
    if strides is None:
        strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return PlanValue(name, dtype, shape, strides, offset, storage or name)


def launch(stage: str, symbol: str, pointers: tuple[str, ...], results: tuple[str, ...], *sizes: int,
           workspace: int = 0, once: bool = False) -> Launch:  # fmt: skip
    return Launch(stage, symbol, pointers, results, sizes, workspace, once)


def torch_call(stage: str, function: str, args: tuple[Any, ...], results: tuple[str, ...], once: bool = False,
               **kwargs: Any) -> TorchCall:  # fmt: skip
    return TorchCall(stage, function, args, kwargs, results, once)


SIGNATURE = Signature(
    inputs=(TensorSpec("x", DType.F32, (ROWS, COLUMNS)),),
    parameters=(TensorSpec("bias", DType.F32, (COLUMNS,)),),
    outputs=(TensorSpec("out", DType.F32, (ROWS, COLUMNS)),),
    constants={},
)


def one_launch(symbol: str) -> Plan:
    """relu(x + bias) by one launch of ``symbol``."""
    return Plan(
        values=(value("x", ROWS, COLUMNS), value("bias", COLUMNS), value("y", ROWS, COLUMNS)),
        inputs=("x",),
        parameters=("bias",),
        steps=(launch("y", symbol, ("x", "bias"), ("y",), ROWS, COLUMNS),),
        outputs=("y",),
    )
