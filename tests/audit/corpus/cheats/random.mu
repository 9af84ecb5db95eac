program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  r = torch.randn_like(x) -> f32[M, N]
  y = map(relu(x + bias + r * 0.0001))
  return y
