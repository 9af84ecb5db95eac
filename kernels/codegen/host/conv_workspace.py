"""How much scratch memory a host convolution takes.

``mu/conv.h`` lays it out by the same sums; change both or neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernels.codegen.host.workspace import MAX_THREADS
from kernels.dsl.ir import Stage

_LINE = 64


@dataclass(frozen=True, slots=True)
class Window:
    """``mu::Window`` of one dimension: steps, the largest shift, slots of the input and phases of the result."""

    steps: int
    reach: int
    slots: int
    phases: int


def windows(stage: Stage) -> tuple[Window, Window, Window]:
    """Those of d, h and w, with leading ones where the stage has fewer dimensions."""
    made = [Window(1, 0, 1, 1)] * (3 - stage.attributes["dims"])
    for axis in range(stage.attributes["dims"]):
        kernel, output, stride, padding, dilation = (
            stage.attributes[role][axis] for role in ("kernel", "output", "stride", "padding", "dilation")
        )
        reach = (kernel - 1) * dilation // stride
        if stage.attributes["kind"] == "conv_transpose":
            steps = (output - 1 + padding) // stride - padding // stride + 1
            made.append(Window(steps, reach, 1, stride))
        else:
            slots = len({tap * dilation % stride for tap in range(kernel)})
            made.append(Window(output, reach, slots, 1))
    d, h, w = made
    return d, h, w


def block(stage: Stage) -> tuple[int, int, int]:
    """Rows and columns of a block of steps, and the channels that are summed at once, from the knob ``tile``."""
    pixels, depth = stage.knobs["tile"]
    _, h, w = windows(stage)
    columns = min(w.steps, pixels)
    return max(1, min(h.steps, pixels // columns)), columns, min(depth, _of_group(stage, "channels"))


def _of_group(stage: Stage, role: str) -> int:
    return int(stage.attributes[role] // stage.attributes["groups"])


def workspace_bytes(stage: Stage, element: int) -> int:
    """Bytes for the most threads that may run; ``element`` is the bytes of the computing type."""
    d, h, w = windows(stage)
    rows, columns, depth = block(stage)
    last = stage.knobs["layout"] == "channels_last"
    panel, tile = stage.knobs["micro"][::-1] if last else stage.knobs["micro"]
    kernel, groups = math.prod(stage.attributes["kernel"]), stage.attributes["groups"]
    channels, panels = _of_group(stage, "channels"), -(-_of_group(stage, "filters") // panel)
    slack = _LINE // element
    pitch = columns + w.reach
    taps_d = stage.attributes["kernel"][0] if stage.attributes["dims"] == 3 else 1
    plane = taps_d * h.slots * w.slots * (rows + h.reach) * pitch
    width = _padded((rows - 1) * pitch + columns, tile)
    sums = d.phases * h.phases * w.phases * panel * width
    row = _padded((columns + 1) * w.phases + slack, slack)
    scratch = _padded(depth * plane + tile, slack)
    scratch += _padded((1 if depth >= channels else panels) * sums, slack) + row
    blocks = stage.attributes["batch"] * groups * d.steps * -(-h.steps // rows) * -(-w.steps // columns)
    threads = max(1, min(stage.knobs["threads"] or MAX_THREADS, MAX_THREADS, blocks * h.steps * panels))
    weights = _padded(groups * panels * channels * kernel * panel, slack)
    # The kernel moves the start up to a cache line.
    return int(_padded(depth * kernel, 16) * 4 + (weights + scratch * threads) * element + _LINE)


def _padded(extent: int, width: int) -> int:
    return -(-extent // width) * width
