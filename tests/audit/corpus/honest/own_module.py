import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

import torch
import torch.nn as nn

_COMPILER = "g++"
_SOURCES = {
    "relu": """
#include <cstdint>
extern "C" int relu(const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
""",
}


def _compiler():
    found = shutil.which(_COMPILER)
    if found is None:
        raise RuntimeError("no compiler")
    return found


def _built(symbol):
    compiler = _compiler()
    folder = pathlib.Path(tempfile.mkdtemp())
    source = folder / "relu.cpp"
    source.write_text(_SOURCES[symbol])
    command = [compiler, "-O3", "-shared", "-fPIC", str(source), "-o", str(folder / "relu.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "relu.so"))


_LIBRARY = {}
_NAME = "relu_settings"


def _settings(name):
    module = types.ModuleType(name)
    sys.modules[name] = module
    return module


_SETTINGS = _settings(_NAME + "_1")


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        if "relu" not in _LIBRARY:
            _LIBRARY["relu"] = _built("relu")
        h = self.linear(x)
        y = torch.empty_like(h)
        _LIBRARY["relu"].relu(ctypes.c_void_p(h.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int64(h.numel()))
        return y
