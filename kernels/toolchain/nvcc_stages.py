"""nvcc's own stages with the device half beside the host half: one shell script made of what ``--dryrun`` prints.

nvcc runs its stages one after another, though device code (preprocess, cicc, ptxas, fatbinary) and the split of the
host code (preprocess, cudafe++) meet only where the host compiler takes both. The script runs those two halves at the
same time, then what is left in nvcc's order. It knows one shape of a dry run and none other: where a release prints
another, there is no script, and the caller lets nvcc run by itself.

The halves share the module's id, which names what has internal linkage. cudafe++ would write it when it is done, too
late for cicc: here it is made first, of the source's text.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)=(.*)")
_MODULE_ID = re.compile(r' --gen_module_id_file(?= ).*? --module_id_file_name "([^"]+)"')
_HOST = ("-E", "cudafe++")
_DEVICE = ("-E", "cicc", "ptxas", "fatbinary")
# What is left: the host compiler on cudafe++'s output, the device link, its stub, the shared object.
_REST = ("-c", "nvlink", "fatbinary", "-c", "link")
_EXPORTED = ("PATH", "LD_LIBRARY_PATH", "CICC_PATH", "NVVMIR_LIBRARY_DIR", "TOP")


@dataclass(frozen=True, slots=True)
class Stages:
    """A dry run that was understood: shell lines of each part, variables to set, and the file for the module's id."""

    variables: dict[str, str]
    host: tuple[str, ...]
    device: tuple[str, ...]
    rest: tuple[str, ...]
    module_id: Path

    @property
    def prefix(self) -> str:
        """What the names of nvcc's temporary files begin with: ``tmpxft_00002465_00000000-``."""
        return self.module_id.name.partition("-")[0] + "-"

    def script(self) -> str:
        """For ``sh``, in the folder of the source. Prints what the stages print, a half at a time.

        Exits with the status of the stage that failed. It does not end a half that still runs then: whoever started
        the script must kill its process group, as ``kernels.childprocess.run`` does.
        """
        device_log, host_log = (shlex.quote(f"{self.prefix}{half}.log") for half in ("device", "host"))
        exports = [f"export {name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return "\n".join(
            [
                "set -e",
                *exports,
                f"( {_chain(self.device)} ) >{device_log} 2>&1 &",
                "device=$!",
                f"( {_chain(self.host)} ) >{host_log} 2>&1 || {{ status=$?; cat {host_log}; exit $status; }}",
                "status=0",
                "wait $device || status=$?",
                f"cat {host_log} {device_log}",
                '[ "$status" -eq 0 ] || exit "$status"',
                *self.rest,
                "",
            ]
        )


def parse(dry_run: str) -> Stages | None:
    """The stages of ``nvcc --dryrun`` of one unit for one architecture; None where their shape is another."""
    variables: dict[str, str] = {}
    commands: list[str] = []
    for line in dry_run.splitlines():
        text = line.removeprefix("#$ ")
        if text == line:
            return None
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment:
            variables[assignment[1]] = assignment[2].strip()
        elif not text.startswith("rm "):
            commands.append(text)
    if tuple(map(_kind, commands)) != _HOST + _DEVICE + _REST or "CICC_PATH" not in variables:
        return None
    host, device, rest = commands[:2], commands[2:6], commands[6:]
    named = _MODULE_ID.search(host[1])
    if named is None or named[1] not in device[1]:
        return None
    host[1] = host[1].replace(" --gen_module_id_file", "", 1)
    exported = {name: variables[name] for name in _EXPORTED if name in variables}
    return Stages(exported, tuple(host), tuple(device), tuple(rest), Path(named[1]))


def module_id(source: str, name: str) -> str:
    """An identifier in nvcc's own form, ``_62c3976e_4_u_cu_d9312a46``: hash, length and name of the file, hash."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    plain = re.sub(r"\W", "_", name)
    return f"_{digest[:8]}_{len(plain)}_{plain}_{digest[8:16]}"


def _chain(commands: tuple[str, ...]) -> str:
    # In a list of "&&", "set -e" plays no part; the last status is that of the one that failed.
    return " && ".join(commands)


def _kind(command: str) -> str:
    """What a line runs: a compiler's ``-E``, ``-c`` or ``link``, else the program's name."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    program = words[0].rsplit("/", 1)[-1] if words else ""
    if program not in ("gcc", "g++"):
        return program
    return next((word for word in words if word in ("-E", "-c")), "link")
