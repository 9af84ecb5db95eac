"""A transposed convolution that doubles the sides of its images."""

import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 32
SIDE = 128

SIZES = {
    "cpu": {"BATCH": 2, "IN_CHANNELS": 32, "OUT_CHANNELS": 16, "SIDE": 40},
    "gpu": {"BATCH": 16, "IN_CHANNELS": 64, "OUT_CHANNELS": 32, "SIDE": 128},
}


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size=4, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
