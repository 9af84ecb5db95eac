"""Functions that a model may call while it writes an answer: today, looking into the installed CUTLASS tree.

Each takes plain JSON values and gives text, never raises for what a model asks, and reads only below the folder it was
given. Whoever talks to the model runs the calls, through a ``Toolbox``.
"""

from __future__ import annotations

from agent.tools.cutlass import cutlass_tools
from agent.tools.tool import Tool
from agent.tools.toolbox import Toolbox, tools_for

__all__ = ["Tool", "Toolbox", "cutlass_tools", "tools_for"]
