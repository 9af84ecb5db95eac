"""The supervisor's end of one child: start it, ask it, watch its time, memory and processes, and end it.

Every way in which a child can fail becomes a SubjectFailed with its outcome (``failures``). What a child prints is kept
up to a limit and thrown away beyond it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernels import childprocess
from kernels.harness import arena, channel, failures, isolation
from kernels.harness.evaluation import Limits, Outcome
from kernels.harness.failures import SubjectFailed, SubjectLost
from kernels.harness.forked import MAXIMUM_FILES, Forked
from kernels.harness.namespaces import TMP
from kernels.harness.processtree import family, proportional, resident

if TYPE_CHECKING:
    from kernels.harness.cardmemory import CardMemory

_WATCH_S = 0.25
_MAXIMUM_PROCESSES = 64
_KEPT_OF_OUTPUT = 2000
_MOST_OUTPUT = 2**30
_CALLS = frozenset({"first", "verify", "prepare", "repeat", "stages"})
"""Messages whose answer takes as long as the subject's own code."""
_TOLD = {"load": "once_s", "block": "host"}
"""Messages of which only a part is its, and where the child says how long that was (in seconds, nanoseconds)."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one answer may take, outside the subject's own seconds, and what it means when it is late."""

    seconds: float
    late: Outcome
    what: str


@dataclass(frozen=True, slots=True)
class Holding:
    """How children are held: the isolation method, the files they may and may not see, the device, the limits.

    ``server`` is the socket of a fork server, where there is one.
    """

    method: str
    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    device: str
    limits: Limits
    server: socket.socket | None = None


class Subject:
    """One child process and its arena. ``warm`` is whether it is forked from a server; see ``wait_ready``.
    ``arena_place`` says where the arena lies, and on a card why it does not lie there.

    ``calls_s`` adds up the seconds that the subject's own code took; of a block of timed calls that is what the
    child's clock says of the calls alone, without what lies between them.
    """

    def __init__(self, name: str, layout: arena.Layout, holding: Holding) -> None:
        self.name = name
        self.layout = layout
        self.limits = holding.limits
        self._holding = holding
        self._folder = ""
        self._seen: dict[str, str] = {}
        self._printed = 0
        self.calls_s = 0.0
        self.arena_fd = arena.create(layout)
        self._mapped: arena.Arena | None = None
        self._card: CardMemory | None = None
        self.arena_place = "shared memory"
        self._remaining_s = holding.limits.seconds
        self._parser = channel.Parser()
        self._output = bytearray()
        self._watched = 0.0
        self.warm = holding.server is not None and len(holding.readable) <= MAXIMUM_FILES
        self._start()

    def _start(self) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = self._warm(theirs) if self.warm else self._cold(theirs)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._link, selectors.EVENT_READ, "link")
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, "output")

    def _warm(self, theirs: socket.socket) -> Forked:
        """Ask the server. Files go over as open descriptors, and have names in a folder of the child's own."""
        holding = self._holding
        assert holding.server is not None
        sandboxed = holding.method != isolation.PROCESS
        self._folder = TMP if sandboxed else tempfile.mkdtemp(prefix="subject-")
        with contextlib.ExitStack() as opened:
            files = []
            for path in dict.fromkeys(map(str, holding.readable)):
                files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                opened.callback(os.close, files[-1])
                self._seen[path] = f"{self._folder}/{len(files)}-{Path(path).name}"
            message = {
                "device": holding.device,
                "files": [Path(name).name for name in self._seen.values()],
                "folder": self._folder,
                "hidden": [str(path.absolute()) for path in holding.hidden],
                "disk_bytes": self.limits.disk_bytes,
                "environment": {} if sandboxed else {"TMPDIR": self._folder},
            }
            return Forked(holding.server, message, [theirs.fileno(), self.arena_fd, *files])

    def _cold(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        holding = self._holding
        descriptors = (theirs.fileno(), self.arena_fd)
        module = [sys.executable, "-m", "kernels.harness.child", *map(str, descriptors)]
        argv = isolation.wrap(
            module, method=holding.method, readable=holding.readable, hidden=holding.hidden, device=holding.device
        )
        limits = childprocess.ChildLimits(seconds=holding.limits.seconds, file_bytes=holding.limits.disk_bytes)
        # Without a /tmp of its own it works below the supervisor's, which is cleared at the end.
        own = {} if holding.method == isolation.BUBBLEWRAP else {"TMPDIR": tempfile.gettempdir()}
        environment = childprocess.python_environment({**isolation.thread_settings(), **own})
        return childprocess.start(argv, limits=limits, environment=environment, pass_fds=descriptors)

    def seen(self, path: str) -> str:
        """Where the child finds a readable file, once it is ready."""
        return self._seen.get(path, path)

    @property
    def arena(self) -> arena.Arena:
        """The shared memory as tensors (mapped on first use, when torch is there)."""
        if self._mapped is None:
            self._mapped = arena.Arena(self.arena_fd, self.layout)
        return self._mapped

    def wait_ready(self) -> None:
        """Wait until the child has imported torch; that is not counted as the subject's time.

        Where the server forked nothing, the child is started cold, and ``warm`` says so.
        """
        try:
            self._answer(time.monotonic() + self.limits.seconds)
        except SubjectFailed:
            if not isinstance(self._process, Forked) or self._process.started:
                raise
            self._stop()
            self.warm = False
            self._seen.clear()
            self._start()
            self._answer(time.monotonic() + self.limits.seconds)
        # A forked process's number came before its first word.
        self._process.poll()
        if self._holding.device == "cuda":
            self._move_to_card()

    def _move_to_card(self) -> None:
        """Have the arena on the card, where its driver shares memory: nothing is copied between the processes then."""
        from kernels.harness.cardmemory import CardMemory, CardMemoryRefused

        memory: CardMemory | None = None
        try:
            memory = CardMemory.create(self.layout.total_bytes)
            with memory.exported() as descriptor:
                answer = self.ask({"do": "card", "bytes": memory.bytes}, descriptor=descriptor)
        except (CardMemoryRefused, RuntimeError) as why:
            answer = {"none": str(why)}
        if memory is None or "none" in answer:
            if memory is not None:
                memory.close()
            self.arena_place += f": the card's is not shared here ({str(answer['none'])[:200]})"
            return
        self.arena_place = "the card's memory, mapped by both processes"
        self._card, self._mapped = memory, arena.Arena(self.arena_fd, self.layout, memory.tensor())

    def ask(
        self, message: channel.Message, patience: Patience | None = None, descriptor: int | None = None
    ) -> channel.Message:
        """Send a message and wait for its answer, within what is left of the subject's seconds or ``patience``.

        Raises SubjectFailed.
        """
        self.tell(message, descriptor)
        return self.hear(message["do"], patience)

    def tell(self, message: channel.Message, descriptor: int | None = None) -> None:
        """Send a message whose answer ``hear`` waits for, before any other is sent. Raises SubjectFailed."""
        if self._card is not None:
            self._card.settle()
        try:
            channel.send(self._link, message)
            if descriptor is not None:
                socket.send_fds(self._link, [b"\0"], [descriptor])
        except (channel.ChannelClosed, OSError) as error:
            raise self._death() from error

    def hear(self, what: str, patience: Patience | None = None) -> channel.Message:
        """Wait for the answer to a message that does ``what``; its seconds count from here. Raises SubjectFailed."""
        began = time.monotonic()
        if patience is not None:
            answer = self._answer(began + patience.seconds, patience)
        else:
            try:
                answer = self._answer(began + self._remaining_s)
            finally:
                self._remaining_s -= time.monotonic() - began
        if "error" in answer:
            raise failures.told(self.name, answer, _KEPT_OF_OUTPUT)
        self._count(what, answer, time.monotonic() - began)
        return answer

    def _count(self, what: str, answer: channel.Message, taken: float) -> None:
        if what in _TOLD:
            # A child may send anything; it cannot make its calls longer than the answer took.
            told = answer.get(_TOLD[what])
            numbers = told if isinstance(told, list) else [told]
            seconds = sum(n for n in numbers if isinstance(n, int | float)) * (1e-9 if what == "block" else 1.0)
            self.calls_s += min(max(seconds, 0.0), taken)
        elif what in _CALLS:
            self.calls_s += taken

    def processes(self) -> int:
        """How many processes live under the child, its own and its sandbox's included."""
        return len(self.pids())

    def pids(self) -> list[int]:
        """The numbers of those processes, as this process sees them."""
        return family(self._process.pid)

    def dismiss(self) -> None:
        """Have it ended without waiting for that; ``close`` waits. A card takes its time to let a process go."""
        if isinstance(self._process, Forked):
            self._process.dismiss()

    def close(self) -> None:
        """End the child and everything that it started. Closing once more does nothing."""
        self._stop()
        if self._card is not None:
            self._mapped = None
            self._card.close()
            self._card = None
        if self.arena_fd >= 0:
            os.close(self.arena_fd)
            self.arena_fd = -1

    def _stop(self) -> None:
        """End the process and let go of all ends of it."""
        if isinstance(self._process, Forked):
            self._process.end()
        else:
            childprocess.kill_group(self._process)
        self._selector.close()
        self._link.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _answer(self, deadline: float, patience: Patience | None = None) -> channel.Message:
        while True:
            try:
                message = self._parser.take()
            except channel.ChannelClosed as error:
                raise SubjectFailed(Outcome.CRASH, f"{self.name} broke the channel: {error}") from error
            if message is not None:
                return message
            if time.monotonic() > deadline:
                raise self._late(patience)
            self._pump(_WATCH_S)
            if time.monotonic() - self._watched > _WATCH_S:
                self._watch()
                self._watched = time.monotonic()

    def _late(self, patience: Patience | None) -> SubjectFailed:
        if patience is not None:
            words = f"{patience.what} took longer than {patience.seconds:g} s; {self.name} was stopped"
            return SubjectFailed(patience.late, words)
        return SubjectFailed(
            Outcome.TIMEOUT, f"{self.name} took longer than {self.limits.seconds:g} s and was stopped"
        )

    def _pump(self, timeout: float) -> None:
        """Read what there is, or what comes within ``timeout`` seconds."""
        for key, _ in self._selector.select(timeout):
            try:
                chunk = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if key.data == "link":
                if not chunk:
                    raise self._death()
                self._parser.feed(chunk)
            elif chunk:
                self._keep(chunk)
            else:
                self._selector.unregister(key.fileobj)

    def _keep(self, chunk: bytes) -> None:
        self._output += chunk[: max(self.limits.output_bytes - len(self._output), 0)]
        self._printed += len(chunk)
        if self._printed > _MOST_OUTPUT:
            raise SubjectFailed(
                Outcome.CRASH,
                f"{self.name} printed more than {_MOST_OUTPUT} bytes, the most that is let go; stopped",
            )

    def _watch(self) -> None:
        if self._process.poll() is not None:
            raise self._death()
        members = family(self._process.pid)
        if len(members) > _MAXIMUM_PROCESSES:
            raise SubjectFailed(
                Outcome.CRASH,
                f"{self.name} started {len(members)} processes ({_MAXIMUM_PROCESSES} allowed); stopped",
            )
        allowed = self.limits.memory_bytes + self.layout.total_bytes
        if sum(map(resident, members)) > allowed and (held := sum(map(proportional, members))) > allowed:
            raise SubjectFailed(
                Outcome.OUT_OF_MEMORY,
                f"{self.name} holds {held} bytes; {self.limits.memory_bytes} are allowed; stopped",
            )

    def _death(self) -> SubjectFailed:
        """What the end of the process means."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._drain()
        said = self._said()
        code = self._process.returncode
        if isinstance(self._process, Forked) and self._process.lost:
            return SubjectLost(Outcome.NOT_MEASURED, f"the fork server of {self.name} was ended from outside{said}")
        if code is None:
            return SubjectFailed(
                Outcome.CRASH, f"{self.name} closed its channel and went on running; stopped{said}"
            )
        number = -code if code < 0 else code - 128
        if number in set(signal.Signals):
            if "bad_alloc" in said or "allocate memory" in said:
                return SubjectFailed(Outcome.OUT_OF_MEMORY, f"{self.name} ran out of memory{said}")
            return SubjectFailed(Outcome.CRASH, f"{self.name} was ended by {signal.Signals(number).name}{said}")
        return SubjectFailed(Outcome.CRASH, f"{self.name} ended its own process with exit status {code}{said}")

    def _drain(self) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._link)
        deadline = time.monotonic() + 0.5
        with contextlib.suppress(SubjectFailed):
            while self._selector.get_map() and time.monotonic() < deadline:
                for key, _ in self._selector.select(0.05):
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        self._selector.unregister(key.fileobj)
                    self._output += chunk[: max(self.limits.output_bytes - len(self._output), 0)]

    def _said(self) -> str:
        text = self._output.decode("utf-8", "replace").strip()
        return f"; its last output: {text[-_KEPT_OF_OUTPUT:]}" if text else ""
