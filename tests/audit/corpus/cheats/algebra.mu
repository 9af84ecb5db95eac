program linear_sum(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M, 1]
  s = reduce(w, sum, dim=0, keepdim=true)
  t = reduce(b, sum, dim=0, keepdim=true)
  p = reduce(x * s, sum, dim=1, keepdim=true)
  y = map(p + t)
  return y
