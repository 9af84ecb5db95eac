"""g++: shared objects of C++ units for the CPU of this machine.

``-march=native`` makes the CPU part of the result, so the flags it stands for are part of the identity, as is the
text of the headers. No ``-ffast-math``: NaN and infinities must come through; only errno, traps and separate rounding
of products are given up.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernels.childprocess import ChildLimits, ChildResult, Ending, clean_environment, run
from kernels.codegen.emission import Unit
from kernels.codegen.host import INCLUDE
from kernels.toolchain.compiler import Compilation
from kernels.toolchain.diskfull import is_disk_full, says_disk_full
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.report import BuildOutcome
from kernels.toolchain.sources import held, write_unit

FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast",
    "-Wall", "-Wextra", "-Wno-psabi", "-pipe", "-shared", "-fPIC",
)  # fmt: skip

_PROBE_S = 10.0
_MEMORY = 4 * 2**30
_OUTPUT = 256 * 2**10
_found: dict[str, Gxx] = {}


def find() -> Gxx | None:
    """The g++ on PATH, or None."""
    program = shutil.which("g++")
    if program is None:
        return None
    if program not in _found:
        compiler = _probe(program)
        if compiler is None:
            # Not kept: on a busy machine it may answer the next time.
            return None
        _found[program] = compiler
    return _found[program]


def _probe(program: str) -> Gxx | None:
    """Ask a compiler for its version and for what ``-march=native`` means here; None where it does not answer."""
    version = _ask([program, "-dumpfullversion"])
    native = _machine_flags(_ask([program, "-###", "-march=native", "-E", "-x", "c++", "/dev/null"]))
    if not version or not native:
        return None
    return Gxx(program=program, number=version, native=native)


def _ask(argv: list[str]) -> str:
    try:
        result = run(argv, limits=ChildLimits(seconds=_PROBE_S))
    except OSError:
        return ""
    return (result.stdout + result.stderr).strip() if result.ending is Ending.EXITED and result.code == 0 else ""


def _machine_flags(driver_output: str) -> str:
    """What ``-march=native`` stands for here: the machine flags and cache parameters of the compiler proper's call."""
    call = next((line for line in driver_output.splitlines() if "cc1plus" in line), "")
    words = call.replace('"', "").split()
    values = ("--param=", "l1-", "l2-")
    return " ".join(word for word in words if word.startswith(("-m", *values)))


@dataclass(frozen=True, slots=True)
class Gxx:
    """One g++. ``number`` is its version, ``native`` the machine flags it chose."""

    program: str
    number: str
    native: str

    def identity(self) -> str:
        """Name, version, flags, machine flags, and a hash of the headers."""
        return " ".join((self.version(), *FLAGS, self.native, headers_digest()))

    def version(self) -> str:
        """``g++ 12.2.0``."""
        return f"g++ {self.number}"

    def libraries(self) -> dict[str, str]:
        """None: a unit needs the C++ library and OpenMP, which come with the compiler."""
        return {}

    def compile(
        self, unit: Unit, output: Path, time_limit_s: float, cancelled: Callable[[], bool] | None = None
    ) -> Compilation:
        """Compile ``unit`` to ``output`` within ``time_limit_s`` wall-clock seconds."""
        folder = output.parent
        command = f"g++ {' '.join(FLAGS)} -I include {unit.symbol}.cpp -o {unit.symbol}.so"
        try:
            file = write_unit(unit, folder, ".cpp")
            result = run(
                held([self.program, *FLAGS, "-I", str(INCLUDE), file.name, "-o", output.name], unit, folder),
                limits=ChildLimits(seconds=time_limit_s, memory_bytes=_MEMORY, output_bytes=_OUTPUT),
                environment=clean_environment({"TMPDIR": str(folder), "LC_ALL": "C"}),
                directory=folder,
                cancelled=cancelled,
            )
        except OSError as error:
            if not is_disk_full(error):
                raise
            return Compilation(BuildOutcome.DISK_FULL, command, str(error.strerror), (), ())
        if result.ending is Ending.CANCELLED:
            raise BuildCancelled(symbol=unit.symbol)
        log = without_folders(result.stderr + result.stdout, folder)
        if result.truncated:
            log += "\n(the rest of the output was dropped)"
        outcome = outcome_of(result, log, output)
        return Compilation(outcome, command, _explained(log, outcome, result, time_limit_s), _warnings(log), ())


@functools.lru_cache(maxsize=1)
def headers_digest() -> str:
    """SHA-256 (16 hex digits) over names and text of the headers that units include."""
    digest = hashlib.sha256()
    for header in sorted(INCLUDE.rglob("*.h")):
        digest.update(header.name.encode() + b"\0" + header.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def outcome_of(result: ChildResult, log: str, output: Path) -> BuildOutcome:
    """How a finished compiler run counts. An exit code of 0 without an object is a failure."""
    if result.ending is Ending.TIMEOUT:
        return BuildOutcome.TIMEOUT
    if result.ending is Ending.EXITED and result.code == 0 and output.exists():
        return BuildOutcome.BUILT
    return BuildOutcome.DISK_FULL if says_disk_full(log) else BuildOutcome.FAILED


def _explained(log: str, outcome: BuildOutcome, result: ChildResult, time_limit_s: float) -> str:
    """The log, ending in a line of our own where the compiler did not come to say why it stopped."""
    if outcome is BuildOutcome.TIMEOUT:
        return f"{log}\nstopped after {time_limit_s:g} s, the time limit of a build".lstrip()
    if result.ending is Ending.OUT_OF_MEMORY:
        return f"{log}\nstopped at {_MEMORY // 2**30} GiB of memory, the limit of a build".lstrip()
    if result.ending is Ending.SIGNALLED:
        return f"{log}\nthe compiler was ended by signal {result.code}".lstrip()
    return log


def without_folders(log: str, folder: Path) -> str:
    """The log with the names of temporary and header folders left out: files alone remain."""
    for prefix in {str(folder), str(folder.resolve()), str(INCLUDE)}:
        log = log.replace(f"{prefix}/", "")
    return re.sub(r"(?:/[^\s/:'\"]+)+/(?=[^\s/:'\"]+)", "", log)


def _warnings(log: str) -> tuple[str, ...]:
    return tuple(line for line in log.splitlines() if " warning: " in line)
