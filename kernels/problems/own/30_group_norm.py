"""Group normalisation of images in eight groups of channels."""

import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 64
SIDE = 128

SIZES = {
    "cpu": {"BATCH": 4, "CHANNELS": 64, "SIDE": 56},
    "gpu": {"BATCH": 32, "CHANNELS": 64, "SIDE": 128},
}


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CHANNELS]
