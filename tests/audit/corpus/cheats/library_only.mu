program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  s = torch.add(x, bias) -> f32[M, N]
  y = torch.relu(s)
  return y
