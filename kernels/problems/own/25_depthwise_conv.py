"""A 3×3 convolution of each channel by itself."""

import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 128
SIDE = 128

SIZES = {
    "cpu": {"BATCH": 4, "CHANNELS": 64, "SIDE": 56},
    "gpu": {"BATCH": 32, "CHANNELS": 128, "SIDE": 128},
}


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CHANNELS]
