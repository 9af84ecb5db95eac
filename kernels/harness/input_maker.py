"""Sets of inputs made ahead, by processes of their own, while a card and its children get ready.

``get_inputs`` draws on the CPU and takes longer than all else of a card's evaluation. What a maker cannot make, the
supervisor makes itself, and then sees what is wrong; so nothing here decides anything. A maker runs the problem's own
code with secret seeds of its own and never meets a candidate. torch at the top; nothing of a card.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import selectors
import signal
import socket
import time
from pathlib import Path
from typing import Any, NoReturn

import psutil
import torch
from torch import Tensor

from kernels.harness import namespaces
from kernels.harness.evaluation import EvaluationRequest
from kernels.harness.forkserver import close_all_but
from kernels.problems.load import build_inputs, load_module

_MAKERS, _LEFT_CORES = 3, 2
"""So many processes at least; more where there are cores, of which so many are left to the others."""
_MEMORY_SHARE = 0.25
"""What all sets may take together of the memory that is free, and no more than the evaluation's own limit, since a
container may have less than its machine; as many are made ahead as fit."""


class InputMaker:
    """``count`` sets of inputs, in whatever order they get ready. ``made_s`` is what the making of one took."""

    def __init__(self, request: EvaluationRequest, count: int, makers: int = 0) -> None:
        """Forks; to be made before this process uses a card or several threads. ``makers``: 0 for what suits."""
        self.made_s = 0.0
        self._ready: list[list[Tensor]] = []
        # 0 where there is none (any more).
        self._foreman = 0
        self._selector = selectors.DefaultSelector()
        set_bytes = sum(spec.bytes for spec in request.signature.inputs)
        room = min(int(_MEMORY_SHARE * psutil.virtual_memory().available), request.limits.memory_bytes)
        count = min(count, room // max(set_bytes, 1))
        makers = makers or max(_MAKERS, len(os.sched_getaffinity(0)) - _LEFT_CORES)
        shares = [count // makers + (number < count % makers) for number in range(makers)]
        self._fork(request, [share for share in shares if share])

    def _fork(self, request: EvaluationRequest, shares: list[int]) -> None:
        """Fork once: a fork of a process with torch takes its time, and the others are forked aside."""
        if not shares:
            return
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in shares]
        parent = os.getpid()
        self._foreman = os.fork()
        if self._foreman == 0:
            _lead([theirs for _, theirs in pairs], request, shares, parent)
        for ours, theirs in pairs:
            theirs.close()
            self._selector.register(ours, selectors.EVENT_READ)

    def take(self) -> list[Tensor] | None:
        """A set that nobody had before, waited for where it is under way; None where none will come."""
        while not self._ready and self._selector.get_map():
            self._receive()
        return self._ready.pop(0) if self._ready else None

    def finish(self) -> None:
        """Wait until nothing is being made any more: what is timed next wants the machine for itself. Makers rest
        then."""
        while self._selector.get_map():
            self._receive()

    def close(self) -> None:
        """End the makers and wait for that. Closing once more does nothing."""
        if self._foreman:
            # They go with the foreman, and what each holds of its socket with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._foreman, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._foreman, 0)
            self._foreman = 0
        self.finish()
        self._selector.close()
        self._ready = []

    def _receive(self) -> None:
        for key, _ in self._selector.select():
            link = key.fileobj
            assert isinstance(link, socket.socket)
            try:
                body, descriptors, _, _ = socket.recv_fds(link, 2**20, 1, socket.MSG_CMSG_CLOEXEC)
            except OSError:
                body, descriptors = b"", []
            if not body or not descriptors:
                self._drop(link)
                continue
            try:
                told = json.loads(body)
                self.made_s = float(told["seconds"])
                self._ready.append(_mapped(descriptors[0], told["places"]))
            finally:
                os.close(descriptors[0])

    def _drop(self, link: Any) -> None:
        self._selector.unregister(link)
        link.close()


def _lead(links: list[socket.socket], request: EvaluationRequest, shares: list[int], parent: int) -> NoReturn:
    """The foreman's whole life: fork the makers, which end with it, and wait for them."""
    try:
        # Others learn that the supervisor let go of a socket only when nobody else holds it.
        close_all_but([link.fileno() for link in links])
        namespaces.die_with_parent()
        me = os.getpid()
        if os.getppid() == parent:
            for link, share in zip(links, shares, strict=True):
                if os.fork() == 0:
                    _make(link, request, share, me)
                link.close()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
    finally:
        os._exit(0)


def _make(link: socket.socket, request: EvaluationRequest, share: int, parent: int) -> NoReturn:
    """The maker's whole life, which lasts until the foreman's end. Whatever happens in it, it ends here."""
    try:
        close_all_but([link.fileno()])
        namespaces.die_with_parent()
        signal.setitimer(signal.ITIMER_REAL, max(request.limits.seconds, 1.0))
        if os.getppid() == parent:
            module = load_module(Path(request.problem_path), request.size)
            for _ in range(share):
                began = time.monotonic()
                given = build_inputs(module, int.from_bytes(os.urandom(7), "little"))
                _send(link, given, time.monotonic() - began)
            link.close()
            # Giving the pages of a large set back takes as long as copying it to a card does. As long as its file is
            # open here, who took it only unmaps it; the pages go when this process is ended.
            while True:
                signal.pause()
    finally:
        # Neither the supervisor's exit handlers nor what it would say of an error are this process's business.
        os._exit(0)


def _send(link: socket.socket, given: list[Any], seconds: float) -> None:
    """Hand a set over, and keep its file open."""
    tensors = [item.detach().cpu().contiguous() for item in given if isinstance(item, Tensor)]
    places, end = [], 0
    for tensor in tensors:
        places.append([end, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)])
        end += -(-max(tensor.nbytes, 1) // 256) * 256
    descriptor = os.memfd_create("inputs", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, max(end, 1))
    for kept, tensor in zip(_mapped(descriptor, places), tensors, strict=True):
        kept.copy_(tensor)
    told = {"places": places, "seconds": seconds}
    socket.send_fds(link, [json.dumps(told).encode()], [descriptor])


def _mapped(descriptor: int, places: list[Any]) -> list[Tensor]:
    memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    found = []
    for offset, name, shape in places:
        dtype, count = getattr(torch, name), math.prod(shape)
        if count:
            found.append(torch.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape))
        else:
            found.append(torch.empty(shape, dtype=dtype))
    return found
