"""A problem of two results with a number among forward's arguments, and candidates for it in three languages."""

from __future__ import annotations

PROBLEM = """import torch
import torch.nn as nn

ROWS, COLUMNS = 48, 64


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x, scale):
        y = torch.relu(x * scale + self.bias)
        return y, y.sum(-1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), 2.0]


def get_init_inputs():
    return [COLUMNS]
"""

PROGRAM = """program two(x: f32[M, N], bias: f32[N]) -> f32[M, N], f32[M]
  b = cast(bias, f32) @once
  y = map(relu(x * 2.0 + b))
  s = reduce(y, sum)
  return y, s
"""

CPP = """#include "problem.h"

extern "C" std::size_t mucutlass_workspace_bytes() { return problem::x::d1 * sizeof(float); }

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void*) {
  const auto* x = problem::x::of(inputs);
  const auto* bias = problem::bias::of(inputs);
  auto* y = static_cast<float*>(outputs[0]);
  auto* sums = static_cast<float*>(outputs[1]);
  auto* row = static_cast<float*>(workspace);
  if (row == nullptr) return 12;
  for (std::int64_t i = 0; i < problem::x::d0; ++i) {
    sums[i] = 0;
    for (std::int64_t j = 0; j < problem::x::d1; ++j) {
      row[j] = x[i * problem::x::d1 + j] * 2.0f + bias[j];
      y[i * problem::x::d1 + j] = row[j] > 0 ? row[j] : 0;
      sums[i] += y[i * problem::x::d1 + j];
    }
  }
  return 0;
}
"""

CHECK = """
import copy, importlib.util, json, sys, threading, torch
spec = importlib.util.spec_from_file_location("exported", sys.argv[2])
exported = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exported)
problem = {}
exec(open(sys.argv[1]).read(), problem)
made = []

def make():
    # Several at once, with nothing compiled yet.
    made.append(exported.ModelNew(*problem["get_init_inputs"]()))

threads = [threading.Thread(target=make) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
torch.manual_seed(42)
model = problem["Model"](*problem["get_init_inputs"]())
torch.manual_seed(42)
ours = exported.ModelNew(*problem["get_init_inputs"]())
x, scale = problem["get_inputs"]()

def same(one):
    expected, found = model(x, scale), one(x, scale)
    return isinstance(found, tuple) and all(map(lambda a, b: torch.allclose(a, b, 1e-4, 1e-4), expected, found))

def refused(call):
    try:
        call()
    except exported.WrongInput as error:
        return str(error)

found = {"made": len(made) == 4}
ours_state = ours.state_dict()
found["weights"] = all(torch.equal(value, ours_state[name]) for name, value in model.state_dict().items())
found["tuple"] = same(ours)
found["moved"] = same(ours.to("cpu").to(dtype=torch.float32).cpu().eval())
found["copied"] = same(copy.deepcopy(ours))
with torch.inference_mode():
    found["inference"] = same(ours)
results = []
threads = [threading.Thread(target=lambda: results.extend(same(ours) for _ in range(20))) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
found["threads"] = results == [True] * 80
x.requires_grad_(True)
found["no gradient"] = not ours(x, scale)[0].requires_grad
x = x.detach()
found["half"] = refused(lambda: copy.deepcopy(ours).half()(x, scale))
found["constant"] = refused(lambda: ours(x, 3.0))
found["device"] = refused(lambda: ours(torch.empty_like(x, device="meta"), scale))
found["kind"] = refused(lambda: ours(x.tolist(), scale))
print(json.dumps(found))
"""
