program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  s = map(x + bias)
  y = map(max(s, 0))
  return y
