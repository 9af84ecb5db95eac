"""Threads and processes that go on by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_PY = frozenset({"threading.Thread", "threading.Timer", "multiprocessing.Process", "multiprocessing.Pool", "os.fork",
                 "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
                 "concurrent.futures.thread.ThreadPoolExecutor", "_thread.start_new_thread", "subprocess.Popen",
                 "torch.multiprocessing.spawn", "torch.multiprocessing.Process", "os.posix_spawn", "os.forkpty",
                 "multiprocessing.pool.ThreadPool", "torch.multiprocessing.Pool", "asyncio.run",
                 "asyncio.create_task", "torch.jit.fork", "torch.futures.Future"})  # fmt: skip
_JOINS = frozenset({"join", "result", "communicate", "wait", "map"})
_CXX = ("fork", "vfork", "pthread_create", "daemon", "clone", "posix_spawn")


class Workers(SourceDetector):
    """A thread that the call waits for is legal, if odd; one that nobody waits for is not."""

    name = "workers"
    tricks = (Trick.BACKGROUND_WORK,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Python's ways to start one."""
        joined = any(call.last in _JOINS and not call.name.startswith(("os.path", "str")) for call in code.calls)
        for call in code.calls:
            if call.name in _PY:
                yield self._one(call.name, joined and call.name != "os.fork", head(call.node).first)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Threads of C++ and of POSIX. OpenMP's are the compiler's and end with the loop."""
        joined = {"join", "pthread_join", "waitpid"} & {call.last for call in unit.calls}
        detached = "detach" in unit.words or "pthread_detach" in unit.words
        for call in unit.called(*_CXX):
            if not call.member:
                yield self._one(call.name, bool(joined) and not detached and "fork" not in call.name, call.line)
        code = unit.code
        for index, token in enumerate(code[2:], start=2):
            qualified = code[index - 1].text == "::" and code[index - 2].text == "std"
            # std::thread::hardware_concurrency() and std::thread::id start none.
            names_only = index + 1 < len(code) and code[index + 1].text == "::"
            if token.text in ("thread", "jthread") and qualified and not names_only:
                safe = (bool(joined) or token.text == "jthread") and not detached
                yield self._one(f"std::{token.text}", safe, token.line)
                return

    def _one(self, what: str, joined: bool, number: int) -> Flag:
        if joined:
            words = f"{quoted(what)}: workers of its own, which are waited for"
            return self.flag(Trick.BACKGROUND_WORK, Severity.INFO, 0.3, words, line(number))
        words = f"{quoted(what)}: something runs on that nobody waits for"
        return self.flag(Trick.BACKGROUND_WORK, Severity.SEVERE, 0.8, words, line(number))
