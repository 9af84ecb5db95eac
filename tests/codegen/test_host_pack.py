"""The packing of ``mu/pack.h`` writes its panel and nothing behind it, where another thread may pack the next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernels.codegen.host import INCLUDE

_PROGRAM = """
#include <cstdio>
#include <vector>
#include "mu/pack.h"

template <int Width>
int wrong() {
  int found = 0;
  for (int64_t depth = 1; depth < 80; ++depth) {
    std::vector<float> from(size_t(Width * depth + 64)), panel(size_t(Width * depth + 64), -7.0f);
    for (size_t i = 0; i < from.size(); ++i) from[i] = float(i + 1);
    mu::pack<float, Width, mu::Exact>(panel.data(), from.data(), depth, 1, Width, depth);
    for (int64_t k = 0; k < depth; ++k) {
      for (int i = 0; i < Width; ++i) found += panel[size_t(k * Width + i)] != from[size_t(i * depth + k)];
    }
    for (size_t i = size_t(Width * depth); i < panel.size(); ++i) found += panel[i] != -7.0f;
  }
  return found;
}

int main() {
  std::printf("%d %d %d %d %d %d\\n", wrong<1>(), wrong<3>(), wrong<5>(), wrong<12>(), wrong<16>(), wrong<20>());
}
"""


@pytest.mark.parametrize("machine", ["native", "x86-64"])
def test_a_panel_is_packed_to_its_end_and_no_further(tmp_path: Path, machine: str) -> None:
    source, program = tmp_path / "pack.cpp", tmp_path / "pack"
    source.write_text(_PROGRAM, encoding="utf-8")
    flags = ["-std=c++20", "-O1", f"-march={machine}", "-fopenmp", f"-I{INCLUDE}"]
    subprocess.run(["g++", *flags, "-o", str(program), str(source)], check=True)
    seen = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert seen.split() == ["0"] * 6
