"""nvcc for the cards' targets: the system's, or the one that pip wheels bring; CUTLASS's headers from its wheel.

Each compile is a child process with a time and a memory limit, whose whole group is killed at the end. It builds one
shared object a unit, with the CUDA run time linked in, so that the object loads where only a driver is installed.
Where the stages of this nvcc are understood (``kernels.toolchain.nvcc_stages``), its two halves run side by side.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernels.childprocess import ChildLimits, ChildResult, Ending, clean_environment, run
from kernels.codegen.emission import Unit
from kernels.targets import Target
from kernels.toolchain.compiler import Compilation
from kernels.toolchain.diskfull import is_disk_full
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.gxx import outcome_of
from kernels.toolchain.nvcc_stages import Stages, module_id, parse
from kernels.toolchain.ptxas import parse_resources, parse_warnings, shorten_names
from kernels.toolchain.report import BuildOutcome
from kernels.toolchain.sources import held, write_unit

_ARCHITECTURES = {
    # Machine code for Ampere, which Ada runs too, and PTX that the driver of a newer card compiles as it loads it.
    Target.SM80: "arch=compute_80,code=[sm_80,compute_80]",
    Target.SM90A: "arch=compute_90a,code=sm_90a",
}


def flags_for(target: Target) -> tuple[str, ...]:
    """What nvcc is told, beside paths and files, for a target with a card."""
    return (
        "-std=c++17",
        "-O3",
        # With assertions ptxas serialises wgmma around the calls they make (warning C7510).
        "-DNDEBUG",
        f"-gencode={_ARCHITECTURES[target]}",
        "--expt-relaxed-constexpr",
        "-cudart=static",
        "-shared",
        # Two shared objects must never share an inline variable through the dynamic linker.
        "-Xcompiler=-fPIC,-fno-gnu-unique",
        "-Xptxas=-v",
    )


FLAGS = flags_for(Target.SM90A)
MEMORY_BYTES = 12 * 2**30
OUTPUT_BYTES = 2**20
LOG_CHARACTERS = 60_000
# What a build's command says after nvcc's own where its stages were run by us.
SIDE_BY_SIDE = "  # its stages, device and host halves side by side"


@dataclass(frozen=True)
class Nvcc:
    """One installed nvcc. ``root`` is its tool kit, ``cutlass`` the folder that holds ``include`` (None: not there).
    ``side_by_side`` False makes every build one plain call of nvcc, with the same machine code.

    Implements ``kernels.toolchain.compiler.Compiler``.
    """

    executable: Path
    root: Path
    release: str
    cutlass: Path | None
    line_info: bool = False
    side_by_side: bool = True
    flags: tuple[str, ...] = field(default=FLAGS)

    def version(self) -> str:
        """``nvcc 13.0.88``."""
        return f"nvcc {self.release}"

    def libraries(self) -> dict[str, str]:
        """``{"cutlass": "4.2.0"}``; empty where the headers are not installed."""
        return {"cutlass": self.cutlass_version} if self.cutlass_version else {}

    def identity(self) -> str:
        """nvcc and host compiler versions, flags and the CUTLASS version."""
        parts = [self.version(), _host_compiler(shutil.which("g++")), " ".join(self._all_flags)]
        parts += [f"{name} {version}" for name, version in self.libraries().items()]
        return "; ".join(parts)

    @property
    def cutlass_version(self) -> str | None:
        """Read from ``cutlass/version.h``: ``4.2.0``."""
        if self.cutlass is None:
            return None
        text = (self.cutlass / "include/cutlass/version.h").read_text(encoding="utf-8")
        numbers = [re.search(rf"#define CUTLASS_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        return ".".join(number[1] for number in numbers if number)

    @property
    def _all_flags(self) -> tuple[str, ...]:
        return (*self.flags, "-lineinfo") if self.line_info else self.flags

    def compile(
        self, unit: Unit, output: Path, time_limit_s: float, cancelled: Callable[[], bool] | None = None
    ) -> Compilation:
        """Build ``output`` from a unit; the folder of ``output`` also takes the source and the temporary files.

        Whatever goes wrong is an outcome: a compiler that is gone, an error in the source, the time limit, a full
        disk. Raises BuildCancelled where ``cancelled`` turns true.
        """
        folder = output.parent
        options = [*self._all_flags, *self.include_paths(), f"{unit.symbol}.cu", "-o", output.name]
        command = self._scrub(" ".join(["nvcc", *options]), folder)
        try:
            source = write_unit(unit, folder, ".cu")
            result, side_by_side = self._build(options, unit, source, time_limit_s, cancelled)
        except FileNotFoundError as error:
            return _failed(BuildOutcome.NO_COMPILER, command, f"{self.executable.name}: {error.strerror}")
        except OSError as error:
            if not is_disk_full(error):
                raise
            return _failed(BuildOutcome.DISK_FULL, command, str(error.strerror))
        if result.ending is Ending.CANCELLED:
            raise BuildCancelled(symbol=unit.symbol)
        if side_by_side:
            command += SIDE_BY_SIDE
        text = self._scrub(result.stdout + result.stderr, folder)
        return Compilation(
            outcome=outcome_of(result, text, output),
            command=command,
            log=_cap(shorten_names(text) + _ending_note(result, time_limit_s)),
            warnings=parse_warnings(text),
            resources=parse_resources(text),
        )

    def _build(
        self,
        options: list[str],
        unit: Unit,
        source: Path,
        time_limit_s: float,
        cancelled: Callable[[], bool] | None,
    ) -> tuple[ChildResult, bool]:
        """How the build ended, and whether its halves ran side by side. The time limit is that of all calls."""
        folder = source.parent
        ends = time.monotonic() + time_limit_s

        def call(*argv: str) -> ChildResult:
            return run(
                held(argv, unit, folder, self.places()),
                limits=ChildLimits(max(ends - time.monotonic(), 0.0), MEMORY_BYTES, output_bytes=OUTPUT_BYTES),
                environment=clean_environment({"TMPDIR": str(folder), "LC_ALL": "C"}),
                directory=folder,
                cancelled=cancelled,
            )

        nvcc = str(self.executable)
        dry_run = call(nvcc, "--dryrun", *options) if self.side_by_side else None
        if dry_run is not None and dry_run.ending is Ending.CANCELLED:
            return dry_run, False
        stages = parse(dry_run.stderr) if dry_run is not None and dry_run.code == 0 else None
        if stages is None:
            return call(nvcc, *options), False
        try:
            return call("sh", "-c", _prepare(stages, source)), True
        finally:
            for left in folder.glob(f"{stages.prefix}*"):
                left.unlink(missing_ok=True)

    def places(self) -> list[Path]:
        """What a held compile must be able to read, wherever it is installed."""
        return [self.root, self.executable.parent, *([self.cutlass] if self.cutlass is not None else [])]

    def include_paths(self) -> list[str]:
        """The options that name the headers of CUTLASS and the libraries of wheels."""
        paths = []
        if self.cutlass is not None:
            paths += [f"-I{self.cutlass / 'include'}", f"-I{self.cutlass / 'tools/util/include'}"]
        # nvcc looks for its run time in lib64; the wheels bring it in lib.
        if (self.root / "lib/libcudart_static.a").exists():
            paths.append(f"-L{self.root / 'lib'}")
        return paths

    def _scrub(self, text: str, folder: Path) -> str:
        """The text without this machine's paths."""
        named = [(str(folder), "."), (str(self.root.resolve()), "<cuda>"), (str(self.root), "<cuda>")]
        if self.cutlass is not None:
            named.insert(0, (str(self.cutlass), "<cutlass>"))
        for path, name in named:
            text = text.replace(path, name)
        return text


def _prepare(stages: Stages, source: Path) -> str:
    """Write what the script needs before its first stage; give back the script."""
    stages.module_id.write_text(module_id(source.read_text(encoding="utf-8"), source.name), encoding="utf-8")
    return stages.script()


def _ending_note(result: ChildResult, time_limit_s: float) -> str:
    notes = {
        Ending.TIMEOUT: f"stopped after the time limit of {time_limit_s:g} s\n",
        Ending.OUT_OF_MEMORY: f"stopped: it took more than {MEMORY_BYTES // 2**30} GiB of memory\n",
        Ending.SIGNALLED: f"ended by signal {result.code}\n",
    }
    return notes.get(result.ending, "")


def _cap(text: str) -> str:
    if len(text) <= LOG_CHARACTERS:
        return text
    half = LOG_CHARACTERS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def _failed(outcome: BuildOutcome, command: str, log: str) -> Compilation:
    return Compilation(outcome=outcome, command=command, log=log, warnings=(), resources=())


def find(target: Target = Target.SM90A, line_info: bool = False) -> Nvcc | None:
    """The nvcc on PATH, then in CUDA_HOME or CUDA_PATH, then in pip's wheels; None where there is none that runs."""
    for executable in _candidates():
        release = _release(executable, executable.stat().st_mtime_ns)
        if release is not None:
            kit, cutlass = _tool_kit(executable), find_cutlass()
            return Nvcc(executable, kit, release, cutlass, line_info, flags=flags_for(target))
    return None


def _candidates() -> list[Path]:
    found = []
    on_path = shutil.which("nvcc")
    if on_path:
        found.append(Path(on_path))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            found.append(Path(os.environ[name]) / "bin/nvcc")
    return [path for path in [*found, *_wheel_candidates()] if path.is_file() and os.access(path, os.X_OK)]


def _wheel_folders() -> list[Path]:
    """Where pip puts the packages under ``nvidia``, a namespace package that may lie in several places."""
    spec = importlib.util.find_spec("nvidia")
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(place) for place in locations or ()]


def _wheel_candidates() -> list[Path]:
    """``nvidia/cu13/bin/nvcc`` of the wheel nvidia-cuda-nvcc, newest first."""
    found = [path for place in _wheel_folders() for path in place.glob("cu[0-9]*/bin/nvcc")]
    return sorted(found, key=lambda path: int("".join(filter(str.isdigit, path.parts[-3]))), reverse=True)


@functools.lru_cache(maxsize=16)
def _release(executable: Path, modified_ns: int) -> str | None:
    """``13.0.88`` from ``nvcc --version``, asked once for each state of the file; None where it does not run."""
    try:
        result = run([str(executable), "--version"], limits=ChildLimits(seconds=20))
    except OSError:
        return None
    version = re.search(r"V(\d+\.\d+\.\d+)", result.stdout)
    return version[1] if result.code == 0 and version else None


@functools.lru_cache(maxsize=16)
def _host_compiler(program: str | None) -> str:
    """``g++ 12.2.0``: nvcc hands the host half to the g++ on PATH."""
    if program is None:
        return "no g++"
    return f"g++ {run([program, '-dumpfullversion'], limits=ChildLimits(seconds=20)).stdout.strip()}"


def _tool_kit(executable: Path) -> Path:
    """The folder above ``bin``; a wrapper script elsewhere on PATH is followed through CUDA's usual place."""
    root = executable.resolve().parent.parent
    if (root / "include/cuda_runtime.h").exists() or not Path("/usr/local/cuda").exists():
        return root
    return Path("/usr/local/cuda")


def find_cutlass() -> Path | None:
    """The folder that holds CUTLASS's ``include``: CUTLASS_PATH, else the wheel nvidia-cutlass; None without either."""
    named = os.environ.get("CUTLASS_PATH")
    if named:
        places = [Path(named)]
    else:
        spec = importlib.util.find_spec("cutlass_library")
        locations = spec.submodule_search_locations if spec is not None else None
        places = [Path(place) / "source" for place in locations or ()]
    return next((place for place in places if (place / "include/cutlass/version.h").exists()), None)
