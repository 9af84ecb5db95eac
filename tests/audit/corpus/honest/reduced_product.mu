program linear_sum(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M, 1]
  p = gemm(x, w.T) >> bias(b) >> reduce(sum, dim=1, keepdim=true)
  return p
