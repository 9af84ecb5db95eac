program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  s = map(x + bias)
  y = torch.relu(s) -> f32[M, N]
  return y
