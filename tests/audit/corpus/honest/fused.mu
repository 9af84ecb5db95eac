program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  y = map(relu(x + bias))
  return y
