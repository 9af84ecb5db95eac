program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  y = map(clamp(x + bias, 0, 100000000))
  return y
