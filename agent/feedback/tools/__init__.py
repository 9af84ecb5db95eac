"""Every feedback tool in the order in which they run. How to add one: a file here, a line below, docs/feedback.md."""

from __future__ import annotations

from agent.feedback.tools.alignment import Alignment
from agent.feedback.tools.bank_conflicts import BankConflicts
from agent.feedback.tools.barrier import Barrier
from agent.feedback.tools.coalescing import Coalescing
from agent.feedback.tools.crashed import Crashed
from agent.feedback.tools.divergence import Divergence
from agent.feedback.tools.dram import Dram
from agent.feedback.tools.epilogue import Epilogue
from agent.feedback.tools.failures import FailureTool
from agent.feedback.tools.fusion import Fusion
from agent.feedback.tools.host_cache import HostCache
from agent.feedback.tools.host_packing import HostPacking
from agent.feedback.tools.host_registers import HostRegisters
from agent.feedback.tools.host_threads import HostThreads
from agent.feedback.tools.hot_stage import HotStage
from agent.feedback.tools.launches import Launches
from agent.feedback.tools.library import Library
from agent.feedback.tools.near_bound import NearBound
from agent.feedback.tools.not_compiled import NotCompiled
from agent.feedback.tools.occupancy import Occupancy
from agent.feedback.tools.over_limit import OverLimit
from agent.feedback.tools.precision import Precision
from agent.feedback.tools.refused import Refused
from agent.feedback.tools.registers import Registers
from agent.feedback.tools.sectors import Sectors
from agent.feedback.tools.small_grid import SmallGrid
from agent.feedback.tools.spills import Spills
from agent.feedback.tools.stall import DominantStall
from agent.feedback.tools.tensor_idle import TensorIdle
from agent.feedback.tools.tool import Tool
from agent.feedback.tools.traffic import Traffic
from agent.feedback.tools.vector_width import VectorWidth
from agent.feedback.tools.waves import Waves
from agent.feedback.tools.wgmma import WgmmaSerialised
from agent.feedback.tools.wrong import Wrong

TOOLS: tuple[Tool, ...] = (
    Precision(),
    WgmmaSerialised(),
    TensorIdle(),
    Spills(),
    Registers(),
    Occupancy(),
    DominantStall(),
    Barrier(),
    Waves(),
    SmallGrid(),
    Epilogue(),
    Dram(),
    Traffic(),
    Coalescing(),
    Sectors(),
    BankConflicts(),
    VectorWidth(),
    Alignment(),
    Divergence(),
    Fusion(),
    Library(),
    Launches(),
    HostThreads(),
    HostRegisters(),
    HostCache(),
    HostPacking(),
    HotStage(),
    NearBound(),
)
"""For candidates that passed; those of the bottleneck's class run."""

FAILURES: tuple[FailureTool, ...] = (Refused(), NotCompiled(), Wrong(), Crashed(), OverLimit())
"""For candidates that did not."""

TITLES: dict[str, str] = {tool.name: tool.title for tool in (*TOOLS, *FAILURES)}
"""What each tool is called on pages."""
