"""A convolution of volumes and a SiLU."""

import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 32
OUT_CHANNELS = 64
SIDE = 32

SIZES = {
    "cpu": {"BATCH": 1, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "SIDE": 20},
    "gpu": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "SIDE": 32},
}


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(self.conv(x))


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, SIDE, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
