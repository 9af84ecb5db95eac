"""A sandbox made from inside, by system calls, in a process that has just been forked and has one thread.

``separate`` gives the caller namespaces of its own; its next child is process 1 of them and calls ``enter``, after
which the file system is read-only but for an empty /tmp and no capability is left. It limits neither time nor memory.
Linux only; every failure is an OSError that names the call.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_OWN = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND, _MS_REC = 1, 2, 4, 8, 32, 4096, 16384
_MS_PRIVATE = 1 << 18
_FLAGS = {
    "ro": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1 << 10, "nodiratime": 1 << 11, "relatime": 1 << 21,
}  # fmt: skip
_PROC = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 1, 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITIES = 64

TMP = "/tmp"
_SHARED = Path("/dev/shm")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class View:
    """What ``enter`` leaves to be seen: everything, read-only, but for these.

    ``masked`` folders are empty but for the ``kept`` paths below them; ``hidden`` files are empty. /tmp is always
    masked; it and /dev/shm take ``tmp_bytes`` each and nothing else can be written.
    """

    masked: Sequence[str]
    kept: Sequence[str]
    hidden: Sequence[str]
    tmp_bytes: int


def separate() -> None:
    """Namespaces of this process's own; its next child is process 1. Raises OSError where that is not allowed."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_OWN | _CLONE_NEWUSER) == 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    elif user != 0:
        raise _error("unshare")
    else:
        # Some containers let root make namespaces, and nobody make user namespaces.
        _checked(_libc.unshare(_OWN), "unshare")


def enter(view: View) -> None:
    """As process 1 of fresh namespaces: take the view, and give every capability up for good."""
    _read_only()
    for folder in dict.fromkeys((TMP, *view.masked)):
        _mask(Path(folder), view)
    for path in map(Path, view.hidden):
        if path.exists():
            _mount("/dev/null", path, "", _MS_BIND)
    if _SHARED.is_dir():
        _tmpfs(_SHARED, view.tmp_bytes)
    _own_proc()
    drop_capabilities()


def drop_capabilities() -> None:
    """No capability now, none after an exec, and no way back."""
    for number in range(_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    no_new_privileges()


def no_new_privileges() -> None:
    """From here on no exec gives more rights than this process has."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def die_with_parent() -> None:
    """SIGKILL for this process when its parent ends. The caller must check that the parent still lives."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Descendants whose parent ended become this process's own children instead of init's."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def keep_memory_private() -> None:
    """Other processes of this user may neither trace this one nor take its descriptors."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _read_only() -> None:
    """Every mount of this namespace, and none of them shared with another."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0, _MS_PRIVATE, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    result = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR), _AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(attributes), size
    )
    if result != 0:
        # Before Linux 5.12, and where a container's filter is older than that call.
        _mount("", Path("/"), "", _MS_PRIVATE | _MS_REC)
        for target, flags in _mounts().items():
            _remount(target, flags | _MS_RDONLY | _MS_NOSUID)


def _own_proc() -> None:
    """/proc of these process numbers. Processes can be written to, as CUDA's driver must; the kernel's settings cannot.

    Everything beside the processes is covered read-only, since the user may be root, to whom parts would be open.
    """
    proc = Path("/proc")
    _mount("proc", proc, "proc", _PROC)
    for path in proc.iterdir():
        if not path.name.isdigit() and not path.is_symlink():
            _mount(str(path), path, "", _MS_BIND)
            _mount("", path, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _PROC)


def _mounts() -> dict[Path, int]:
    """Mount points and the flags that a remount must repeat, of the uppermost mount of each."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines():
        fields = line.split()
        flags = sum(_FLAGS.get(name, 0) for name in fields[5].split(","))
        found[Path(fields[4].encode().decode("unicode_escape"))] = flags
    return found


def _remount(target: Path, flags: int) -> None:
    try:
        _mount("", target, "", _MS_REMOUNT | _MS_BIND | flags)
    except OSError as error:
        # A mount that lies below another is out of everybody's reach.
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise


def _mask(folder: Path, view: View) -> None:
    """An empty folder in place of this one, with what is kept of it bound back to its place."""
    if not folder.is_dir():
        return
    below = [path for path in map(Path, view.kept) if path.is_relative_to(folder) and path != folder]
    held = [(path, path.is_dir(), os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in sorted(below)]
    _tmpfs(folder, view.tmp_bytes)
    for path, is_folder, descriptor in held:
        if not os.path.lexists(path):
            (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)
            if not is_folder:
                path.touch()
            _mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND | _MS_REC)
        os.close(descriptor)
    if folder != Path(TMP):
        _mount("", folder, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _tmpfs(folder: Path, size: int) -> None:
    _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={size},mode=0755")


def _mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    _checked(result, f"mount {target}")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


def _checked(result: int, call: str) -> None:
    if result != 0:
        raise _error(call)


def _error(call: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{call}: {os.strerror(code)}")
