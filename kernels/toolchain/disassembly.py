"""PTX and SASS of a unit built for a card, made when somebody asks for them: nothing here is part of a build.

PTX comes from nvcc, SASS from the CUDA tool kit's ``cuobjdump``, which takes a shared object apart. Both are whole
texts; who shows them cuts and escapes them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from kernels.childprocess import ChildLimits, Ending, clean_environment, run
from kernels.codegen.emission import Unit
from kernels.toolchain.errors import DisassemblyCancelled, DisassemblyFailed, DisassemblyToolMissing
from kernels.toolchain.nvcc import MEMORY_BYTES, Nvcc
from kernels.toolchain.ptxas import shorten_names
from kernels.toolchain.sources import held, write_unit

OUTPUT_BYTES = 64 * 2**20
"""Of SASS: unrolled kernels of CUTLASS take some megabytes."""
_NOT_FOR_PTX = ("-shared", "-cudart=static", "-Xptxas=-v")
Cancelled = Callable[[], bool] | None


def ptx(unit: Unit, compiler: Nvcc, time_limit_s: float = 300.0, cancelled: Cancelled = None) -> str:
    """The PTX that nvcc makes of a unit with the flags of a build.

    Raises DisassemblyFailed with nvcc's own words where it fails or takes more than ``time_limit_s`` seconds, and
    DisassemblyCancelled soon after ``cancelled`` turns true.
    """
    flags = [flag for flag in compiler.flags if flag not in _NOT_FOR_PTX]
    with TemporaryDirectory(prefix="mu-ptx-") as name:
        folder = Path(name)
        source = write_unit(unit, folder, ".cu")
        made = folder / f"{unit.symbol}.ptx"
        command = [
            str(compiler.executable),
            *flags,
            *compiler.include_paths(),
            "-ptx",
            source.name,
            "-o",
            made.name,
        ]
        held_back = held(command, unit, folder, compiler.places())
        _call(held_back, folder, f"PTX of {unit.symbol}", time_limit_s, cancelled, tool="nvcc")
        return made.read_text(encoding="utf-8")


def sass(shared_object: Path, compiler: Nvcc, time_limit_s: float = 120.0, cancelled: Cancelled = None) -> str:
    """The machine code in a built shared object, one section a kernel.

    Raises DisassemblyToolMissing where the tool kit has no ``cuobjdump``, DisassemblyFailed where that fails, and
    DisassemblyCancelled soon after ``cancelled`` turns true.
    """
    tool = find_cuobjdump(compiler)
    if tool is None:
        raise DisassemblyToolMissing(tool="cuobjdump", place=compiler.root.name)
    what = f"SASS of {shared_object.stem}"
    command = [str(tool), "--dump-sass", shared_object.name]
    text = _call(command, shared_object.parent, what, time_limit_s, cancelled)
    if "Function :" not in text:
        raise DisassemblyFailed(what=what, tool=tool.name, reason=_last(text))
    return shorten_names(text)


def find_cuobjdump(compiler: Nvcc) -> Path | None:
    """The tool kit's ``cuobjdump``, else the one on PATH."""
    own = compiler.root / "bin/cuobjdump"
    found = str(own) if own.is_file() else shutil.which("cuobjdump")
    return Path(found) if found else None


def _call(
    command: list[str], folder: Path, what: str, time_limit_s: float, cancelled: Cancelled, tool: str = ""
) -> str:
    """What the tool printed. A tool that was stopped may have printed half: that is a failure, like a bad status."""
    tool = tool or Path(command[0]).name
    limits = ChildLimits(time_limit_s, MEMORY_BYTES, output_bytes=OUTPUT_BYTES)
    environment = clean_environment({"LC_ALL": "C"})
    result = run(command, limits=limits, environment=environment, directory=folder, cancelled=cancelled)
    if result.ending is Ending.CANCELLED:
        raise DisassemblyCancelled(tool=tool)
    stopped = {
        Ending.TIMEOUT: f"it was stopped at its time limit of {time_limit_s:g} s",
        Ending.OUT_OF_MEMORY: f"it was stopped: it took more than {MEMORY_BYTES // 2**30} GiB of memory",
    }
    if result.ending in stopped:
        raise DisassemblyFailed(what=what, tool=tool, reason=stopped[result.ending])
    if result.truncated:
        raise DisassemblyFailed(what=what, tool=tool, reason=f"more than {OUTPUT_BYTES // 2**20} MiB")
    if result.ending is not Ending.EXITED or result.code != 0:
        raise DisassemblyFailed(what=what, tool=tool, reason=_last(result.stdout + result.stderr))
    return result.stdout


def _last(said: str) -> str:
    """The last line of what a tool said, cut to a line's length."""
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing, or it was killed"
