"""PTX and SASS of a unit built for a card, made when somebody asks for them: nothing here is part of a build.

PTX comes from nvcc, SASS from the CUDA tool kit's ``cuobjdump``, which takes a shared object apart. Both are whole
texts; who shows them cuts and escapes them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from kernels.childprocess import ChildLimits, clean_environment, run
from kernels.codegen.emission import Unit
from kernels.toolchain.errors import DisassemblyFailed, DisassemblyToolMissing
from kernels.toolchain.nvcc import MEMORY_BYTES, Nvcc
from kernels.toolchain.ptxas import shorten_names

OUTPUT_BYTES = 64 * 2**20
"""Of SASS: unrolled kernels of CUTLASS take some megabytes."""
_NOT_FOR_PTX = ("-shared", "-cudart=static", "-Xptxas=-v")


def ptx(unit: Unit, compiler: Nvcc, time_limit_s: float = 300.0) -> str:
    """The PTX that nvcc makes of a unit with the flags of a build.

    Raises DisassemblyFailed with nvcc's own words where it fails or takes more than ``time_limit_s`` seconds.
    """
    flags = [flag for flag in compiler.flags if flag not in _NOT_FOR_PTX]
    with TemporaryDirectory(prefix="mu-ptx-") as name:
        folder = Path(name)
        source = folder / f"{unit.symbol}.cu"
        source.write_text(unit.source, encoding="utf-8")
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
        said = _call(command, folder, time_limit_s)
        if not made.exists():
            raise DisassemblyFailed(what=f"PTX of {unit.symbol}", tool="nvcc", reason=_last(said))
        return made.read_text(encoding="utf-8")


def sass(shared_object: Path, compiler: Nvcc, time_limit_s: float = 120.0) -> str:
    """The machine code in a built shared object, one section a kernel.

    Raises DisassemblyToolMissing where the tool kit has no ``cuobjdump``, and DisassemblyFailed where that fails.
    """
    tool = find_cuobjdump(compiler)
    if tool is None:
        raise DisassemblyToolMissing(tool="cuobjdump", place=compiler.root.name)
    said = _call([str(tool), "--dump-sass", shared_object.name], shared_object.parent, time_limit_s)
    if "Function :" not in said:
        raise DisassemblyFailed(what=f"SASS of {shared_object.stem}", tool=tool.name, reason=_last(said))
    return shorten_names(said)


def find_cuobjdump(compiler: Nvcc) -> Path | None:
    """The tool kit's ``cuobjdump``, else the one on PATH."""
    own = compiler.root / "bin/cuobjdump"
    found = str(own) if own.is_file() else shutil.which("cuobjdump")
    return Path(found) if found else None


def _call(command: list[str], folder: Path, time_limit_s: float) -> str:
    limits = ChildLimits(time_limit_s, MEMORY_BYTES, output_bytes=OUTPUT_BYTES)
    result = run(command, limits=limits, environment=clean_environment({"LC_ALL": "C"}), directory=folder)
    return result.stdout + result.stderr


def _last(said: str) -> str:
    """The last line of what a tool said, cut to a line's length."""
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing, or was stopped at its time limit"
