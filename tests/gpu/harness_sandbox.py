"""Which parts of a subject's sandbox a card's driver works under: each part alone, and all of them.

    python -m tests.gpu.harness_sandbox [--json FILE]

Every trial is a fork of this process, which has imported torch and what a fork server imports, and no card's driver.
Exit status 1 where the driver does not start in the whole sandbox.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kernels.harness import forkserver, isolation, namespaces

_VIEW = namespaces.View([], [], [], 2**30)
_CALLS = namespaces._libc


def _user() -> None:
    if _CALLS.unshare(namespaces._CLONE_NEWUSER) == 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{os.getuid()} {os.getuid()} 1", encoding="ascii")
        return
    raise OSError("no user namespace")


def _unshared(flags: int) -> Callable[[], None]:
    def part() -> None:
        if _CALLS.unshare(flags) != 0:
            raise OSError(f"unshare({flags:#x}) is not allowed")

    return part


def _view() -> None:
    sandbox = isolation.sandbox(isolation.UNSHARE)
    assert sandbox is not None
    namespaces.enter(namespaces.View(sandbox["masked"], sandbox["kept"], [], 2**30))


def _proc() -> None:
    namespaces._mount("proc", Path("/proc"), "proc", 0)


def _read_only() -> None:
    _unshared(namespaces._CLONE_NEWNS)()
    namespaces._read_only()


PARTS: dict[str, tuple[Callable[[], None] | None, Callable[[], None] | None]] = {
    "a fork": (None, None),
    "no new privileges": (None, namespaces.no_new_privileges),
    "no capabilities": (None, namespaces.drop_capabilities),
    "own user namespace": (_user, None),
    "own network": (_unshared(namespaces._CLONE_NEWNET), None),
    "own IPC": (_unshared(namespaces._CLONE_NEWIPC), None),
    "own process numbers": (_unshared(namespaces._CLONE_NEWPID), None),
    "own mounts": (_unshared(namespaces._CLONE_NEWNS), None),
    "read-only mounts": (None, _read_only),
    "all namespaces": (namespaces.separate, None),
    "all namespaces, read-only mounts": (namespaces.separate, namespaces._read_only),
    "all namespaces, own /proc": (namespaces.separate, _proc),
    "all namespaces, own /tmp": (namespaces.separate, lambda: namespaces._mask(Path(namespaces.TMP), _VIEW)),
    "all namespaces, own /dev/shm": (namespaces.separate, lambda: namespaces._tmpfs(namespaces._SHARED, 2**30)),
    "all namespaces, no capabilities": (namespaces.separate, namespaces.drop_capabilities),
    "the whole sandbox": (namespaces.separate, _view),
}
"""By name: what the forked process does, and what its own child does before it starts the driver."""


def trial(before: Callable[[], None] | None, inside: Callable[[], None] | None) -> str:
    """ "" where the driver starts, else why not."""
    read, write = os.pipe()
    if os.fork() == 0:
        with forkserver.ending_here():
            try:
                if before:
                    before()
                if (child := os.fork()) == 0:
                    if inside:
                        inside()
                    os.write(write, (forkserver.card_trouble() or "works").encode())
                    os._exit(0)
                os.waitpid(child, 0)
            except OSError as error:
                os.write(write, f"not tried: {error}".encode())
    os.close(write)
    os.wait()
    said = os.read(read, 1000).decode() or "ended without a word"
    os.close(read)
    return "" if said == "works" else said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {"before any import": trial(None, None)}
    for module in ("torch", *forkserver._MODULES[forkserver.SUBJECTS]):
        importlib.import_module(module)
        found[f"after importing {module}"] = trial(None, None)
    found |= {name: trial(*parts) for name, parts in PARTS.items()}
    for name, why in found.items():
        print(f"{name:45} {why or 'works'}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if found["the whole sandbox"] else 0


if __name__ == "__main__":
    sys.exit(main())
