program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  flat = x.reshape(M * N)
  b = map(relu(x + bias))
  return b
