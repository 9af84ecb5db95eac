program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  a = map(relu(x + bias))
  y = torch.relu(x) -> f32[M, N]
  return y
