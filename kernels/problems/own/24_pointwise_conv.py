"""A 1×1 convolution: a matrix product over the channels of each image."""

import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 256
OUT_CHANNELS = 512
SIDE = 64

SIZES = {
    "cpu": {"BATCH": 4, "IN_CHANNELS": 128, "OUT_CHANNELS": 128, "SIDE": 32},
    "gpu": {"BATCH": 32, "IN_CHANNELS": 256, "OUT_CHANNELS": 512, "SIDE": 64},
}


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
