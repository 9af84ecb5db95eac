"""What a stage asks of a card that there is no type for. The checker refuses these earlier, with their place."""

from __future__ import annotations

from kernels.errors import UserError


class OperandIsNotAligned(UserError):
    """TMA reads and writes in units of 16 bytes: the extent that breaks this, and what would fit."""

    template = (
        "stage '{stage}': {what} of {value} is {found}, and TMA needs a multiple of {multiple} for {dtype}"
        " (16 bytes); pad it, or multiply f32 data with .math(f32)"
    )


class OperandHasNoContiguousExtent(UserError):
    """A gemm operand whose two matrix strides both differ from one."""

    template = (
        "stage '{stage}': {value} has the strides {strides}, and one of the last two must be 1;"
        " copy it with map({value}) first, or multiply f32 data with .math(f32)"
    )


class KnobWithoutCode(UserError):
    """A knob's value that no kernel is generated for."""

    template = "stage '{stage}': .{knob}({found}) is not possible on a card; it takes {legal}"


class LinkHasNoRows(UserError):
    """A tensor in a convolution's chain whose pixels lie apart unevenly."""

    template = (
        "stage '{stage}': a tensor of the chain does not lie as rows of pixels; copy it with relayout(t, channels_last)"
        " first, or multiply with .math(f32)"
    )
