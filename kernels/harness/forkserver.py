"""A process that has imported torch and forks from itself: judges in one, subjects in the other.

``python -m kernels.harness.forkserver ROLE SOCKET_FD SANDBOX DEVICE`` takes messages from its socket, each with
descriptors, and forks for each a keeper, which forks the process that was asked for. The keeper ends it, and
everything below it, as soon as whoever asked closes the control socket, or this server is gone. It initialises no
device, starts no thread and holds no secret; the server of subjects never sees a request, a problem or a seed.

A subject is process 2 of namespaces of its own (``namespaces``) with the keeper's child as process 1; where there
are none, the keeper adopts whatever a subject leaves behind and ends it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from kernels.harness import namespaces

JUDGES = "judges"
SUBJECTS = "subjects"
IMPOSSIBLE = 64
"""Exit status that says: this system does not let a server do its work. Nobody should try again."""

_IDLE_S = 1800.0
_CHILDREN = Path("/proc/thread-self/children")
_MODULES = {
    JUDGES: ("kernels.harness.supervisor", "kernels.harness.machine", "kernels.harness.measuring"),
    SUBJECTS: ("kernels.harness.child", "kernels.harness.session", "kernels.problems.load"),
}
_CONTROL, _OUT, _ERR, _OWN = 0, 1, 2, 3
"""The first descriptors of a message; from ``_OWN`` on they are the role's."""

Message = dict[str, Any]


class Server:
    """Forks keepers until nobody is left who could ask. ``sandbox`` names folders masked and paths kept, or is None."""

    def __init__(self, role: str, link: socket.socket, sandbox: dict[str, list[str]] | None, device: str) -> None:
        self.role = role
        self.link = link
        self.sandbox = sandbox
        self.device = device

    def run(self) -> None:
        """Serve. Children are reaped by the kernel; at the end those that still run are waited for."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        ready = select.poll()
        ready.register(self.link, select.POLLIN)
        while ready.poll(_IDLE_S * 1000) or children():
            if not ready.poll(0):
                continue
            body, descriptors, _, _ = socket.recv_fds(self.link, 65536, 253, socket.MSG_CMSG_CLOEXEC)
            if not body:
                break
            if threads() != 1:
                # A fork would copy one thread and the locks that the others hold.
                sys.exit(f"{threads()} threads before a fork")
            self._fork(json.loads(body), descriptors)
        self.link.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)

    def _fork(self, message: Message, descriptors: list[int]) -> None:
        server = os.getpid()
        if os.fork() == 0:
            with ending_here():
                self.link.close()
                Keeper(self, message, descriptors).run(server)
        for descriptor in descriptors:
            os.close(descriptor)

    def view(self, message: Message) -> namespaces.View:
        """What a subject sees of the file system beyond what the server itself sees."""
        assert self.sandbox is not None
        return namespaces.View(
            self.sandbox["masked"], self.sandbox["kept"], message["hidden"], message["disk_bytes"]
        )

    def trouble(self) -> str:
        """Why this process can be no server here, "" where it can: one fork is made on trial, for nothing."""
        if threads() != 1:
            return f"torch's import left {threads()} threads"
        try:
            os.close(os.pidfd_open(os.getpid()))
            children()
        except OSError as error:
            return str(error)
        return "" if self.sandbox is None and self.device == "host" else self._try()

    def _try(self) -> str:
        """A process in the sandbox, where there is one, in which the device can be used."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with ending_here():
                try:
                    if self.sandbox is not None:
                        namespaces.separate()
                    if (first := os.fork()) == 0:
                        if self.sandbox is not None:
                            namespaces.enter(self.view({"hidden": [], "disk_bytes": 2**20}))
                        os.write(write, (card_trouble() if self.device == "cuda" else "").encode())
                        os._exit(0)
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
                except OSError as error:
                    os.write(write, str(error).encode())
                    os._exit(1)
        os.close(write)
        status = os.waitpid(pid, 0)[1]
        why = os.read(read, 1000).decode()
        os.close(read)
        return why or ("" if status == 0 else f"status {status}")


class Keeper:
    """Between server and forked process: starts it, tells how it ended, and leaves nothing of it."""

    def __init__(self, server: Server, message: Message, descriptors: list[int]) -> None:
        self.server = server
        self.message = message
        self.descriptors = descriptors
        self.control = socket.socket(fileno=descriptors[_CONTROL])
        self.own = -1

    def run(self, server: int) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        namespaces.adopt_orphans()
        if self.server.role == SUBJECTS:
            _be_first_to_go()
        self.own = os.pidfd_open(os.getpid())
        parent = os.pidfd_open(server)
        try:
            if self.server.sandbox is not None:
                namespaces.separate()
            child = os.fork()
        except OSError as error:
            self._tell({"error": str(error)})
            return
        if child == 0:
            with ending_here():
                if self.server.sandbox is not None:
                    self._first()
                self._tell({"started": True}, self.own)
                self._become()
        self._let_go()
        namespaces.keep_memory_private()
        self._watch(child, parent)

    def _watch(self, child: int, parent: int) -> None:
        waiting = select.poll()
        pidfd = os.pidfd_open(child)
        for descriptor in (self.control.fileno(), pidfd, parent):
            waiting.register(descriptor, select.POLLIN)
        ended = [descriptor for descriptor, _ in waiting.poll()]
        if pidfd not in ended:
            if parent in ended:
                self._tell({"lost": True})
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if self.server.sandbox is None:
            _end_family()
        self._tell({"status": code})

    def _first(self) -> None:
        """Process 1 of the namespaces: make the sandbox, start the subject, say how it ended, and end all with it."""
        namespaces.die_with_parent()
        try:
            namespaces.enter(self.server.view(self.message))
            self._tell({"started": True}, self.own)
            subject = os.fork()
        except OSError as error:
            self._tell({"error": str(error)})
            os._exit(1)
        if subject == 0:
            with ending_here():
                self._become()
        self._let_go()
        namespaces.keep_memory_private()
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == subject:
                self._tell({"status": os.waitstatus_to_exitcode(status)})
                os._exit(0)

    def _let_go(self) -> None:
        """Close the subject's descriptors, so that their other ends see when the subject is gone."""
        for descriptor in self.descriptors[_OUT:]:
            os.close(descriptor)

    def _tell(self, message: Message, *descriptors: int) -> None:
        # Where nobody listens any more, the watch sees that too.
        with contextlib.suppress(OSError):
            socket.send_fds(self.control, [json.dumps(message).encode()], descriptors)

    def _become(self) -> NoReturn:
        """Take the place of a process that was started for this alone."""
        namespaces.die_with_parent()
        if _gone(self.own):
            os._exit(1)
        os.setsid()
        given = self.descriptors[_OWN:]
        self.control.close()
        os.dup2(self.descriptors[_OUT], 1)
        os.dup2(self.descriptors[_ERR], 2)
        close_all_but(given)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if (size := self.message["disk_bytes"]) is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        os.environ.update(self.message["environment"])
        tempfile.tempdir = None
        _forget_random_state()
        os.chdir(self.message["folder"])
        if self.server.role == SUBJECTS:
            _be_subject(self.message, given)
        _be_judge(self.message, given)


def _be_first_to_go() -> None:
    """Where the machine runs out of memory, the kernel ends a subject rather than a judge or a worker."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _forget_random_state() -> None:
    """Python's own generator is seeded anew after each fork; numpy's would give every forked process the same."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int.from_bytes(os.urandom(4), "little"))


def _be_subject(message: Message, descriptors: list[int]) -> NoReturn:
    from kernels.harness import cardmemory, child

    link, arena, *files = descriptors
    for name, descriptor in zip(message["files"], files, strict=True):
        Path(message["folder"], name).symlink_to(f"/proc/self/fd/{descriptor}")
    namespaces.no_new_privileges()
    if message["device"] == "cuda":
        cardmemory.wake()
    child.run(link, arena)


def _be_judge(message: Message, descriptors: list[int]) -> NoReturn:
    from kernels.harness import supervisor

    request, report, *subjects = descriptors
    supervisor.judge(request, report, message["method"], subjects[0] if subjects else None)


def card_trouble() -> str:
    """Why this process cannot use a card, "" where it can (CUDA Driver API, ``cuInit``)."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    code = driver.cuInit(0)
    return f"the card's driver does not start in a forked process here: cuInit gave {code}" if code else ""


def threads() -> int:
    """Threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def children() -> list[int]:
    """Child processes of this process, which must have one thread; numbered as whoever mounted /proc sees them."""
    return list(map(int, _CHILDREN.read_text("ascii").split()))


@contextlib.contextmanager
def ending_here() -> Any:
    """A forked process must never run on into its parent's code, whatever is raised."""
    try:
        yield
    except BaseException:  # noqa: BLE001 -- it is told on standard error, and the process ends
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _gone(pidfd: int) -> bool:
    ready = select.poll()
    ready.register(pidfd, select.POLLIN)
    return bool(ready.poll(0))


def close_all_but(kept: list[int]) -> None:
    """Close everything above standard error but these."""
    for descriptor in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if descriptor > 2 and descriptor not in kept:
            # One of them was the listing's own.
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _end_family() -> None:
    """SIGKILL whatever is left below this process, which adopts orphans, until nothing is."""
    while True:
        try:
            for child in children():
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main(arguments: list[str]) -> None:
    """``forkserver ROLE SOCKET_FD SANDBOX DEVICE``. What is imported here is there in each forked process."""
    role, descriptor, sandbox, device = arguments
    with socket.socket(fileno=int(descriptor)) as link:
        gc.disable()
        for module in ("torch", *_MODULES[role]):
            importlib.import_module(module)
        server = Server(role, link, json.loads(sandbox), device)
        if why := server.trouble():
            sys.stderr.write(f"no fork server here: {why}\n")
            sys.exit(IMPOSSIBLE)
        gc.enable()
        gc.collect()
        # Forked processes share these pages as long as nobody writes to them, as the collector would.
        gc.freeze()
        server.run()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
