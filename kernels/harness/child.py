"""The process of one subject: it maps the arena, loads what it is told to, and does calls when asked.

What it sends back (that a call is over, and raw samples) is never a verdict. Messages, each answered by one:
``card`` (where the arena lies on a card), ``load``, ``prepare``, ``fetch``, ``verify``, ``strided``,
``block``, ``publish``, ``stages``, ``trace``, ``repeat``, ``finish``.
Anything a subject raises goes back as ``{"error": slug, "detail": text}``.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from typing import TYPE_CHECKING, NoReturn

from kernels.harness import channel

if TYPE_CHECKING:
    from torch import Tensor

    from kernels.harness.session import Session


def serve(link: socket.socket, arena_fd: int) -> None:
    """Answer messages until the supervisor is gone."""
    from kernels.harness import session as sessions

    session: Session | None = None
    card: Tensor | None = None
    channel.send(link, {"ready": True})
    while True:
        try:
            message = channel.receive(link)
        except channel.ChannelClosed:
            return
        try:
            if session is None and message["do"] == "card":
                card, answer = map_card(link, message["bytes"])
            elif session is None:
                session, answer = sessions.load(message, arena_fd, card)
            else:
                answer = session.answer(message)
        except Exception as error:  # noqa: BLE001 -- whatever a subject raises is its outcome, not this process's end
            answer = sessions.failure(error)
        channel.send(link, answer)


def map_card(link: socket.socket, size: int) -> tuple[Tensor | None, channel.Message]:
    """The arena on the card, whose descriptor follows the message; ``{"none": reason}`` where it cannot be mapped."""
    from kernels.harness.cardmemory import CardMemory, CardMemoryRefused

    try:
        return CardMemory.receive(link, size).tensor(), {}
    except (CardMemoryRefused, OSError, RuntimeError) as why:
        return None, {"none": str(why)[:500]}


def run(link_fd: int, arena_fd: int) -> NoReturn:
    """Serve to the end of this process, which may have been started for it or forked."""
    import torch

    with socket.socket(fileno=link_fd) as link, torch.no_grad():
        serve(link, arena_fd)
    # Threads of a candidate must not keep the process alive, nor its destructors run.
    os._exit(0)


def main(arguments: list[str]) -> None:
    """``child SOCKET_FD ARENA_FD``. Garbage collection while torch is imported would cost a tenth of its time."""
    gc.disable()
    import torch  # noqa: F401

    gc.enable()
    run(int(arguments[0]), int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
