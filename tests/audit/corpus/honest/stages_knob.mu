program bias_relu(x: f32[M, N], bias: f32[N]) -> f32[M, N]
  s = map(x + bias)  # stages(2): pass, num_stages=2
  y = map(relu(s))
  return y
