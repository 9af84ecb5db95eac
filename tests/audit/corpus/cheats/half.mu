program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  h = cast(x, f16)
  y = map(relu(h + bias))
  return y
