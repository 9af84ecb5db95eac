"""The process of one subject: it maps the arena, loads what it is told to, and does calls when asked.

What it sends back (that a call is over, and raw samples) is never a verdict. Messages, each answered by one:
``load``, ``fetch``, ``verify``, ``block``, ``publish``, ``stages``. Anything a subject raises goes back as
``{"error": slug, "detail": text}``.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from typing import TYPE_CHECKING

from kernels.harness import channel

if TYPE_CHECKING:
    from kernels.harness.session import Session


def serve(link: socket.socket, arena_fd: int) -> None:
    """Answer messages until the supervisor is gone."""
    from kernels.harness import session as sessions

    session: Session | None = None
    channel.send(link, {"ready": True})
    while True:
        try:
            message = channel.receive(link)
        except channel.ChannelClosed:
            return
        try:
            if session is None:
                session, answer = sessions.load(message, arena_fd)
            else:
                answer = session.answer(message)
        except Exception as error:  # noqa: BLE001 -- whatever a subject raises is its outcome, not this process's end
            answer = sessions.failure(error)
        channel.send(link, answer)


def main(arguments: list[str]) -> None:
    """``child SOCKET_FD ARENA_FD``. Garbage collection while torch is imported would cost a tenth of its time."""
    gc.disable()
    import torch

    gc.enable()
    with socket.socket(fileno=int(arguments[0])) as link, torch.no_grad():
        serve(link, int(arguments[1]))
    # Threads of a candidate must not keep the process alive, nor its destructors run.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
