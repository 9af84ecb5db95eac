"""Length-prefixed JSON over a socket between the supervisor and a child. Neither side trusts the other's length."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_HEADER = struct.Struct("<I")
MAXIMUM_BYTES = 64 * 2**20

Message = dict[str, Any]


class ChannelClosed(Exception):
    """The other side is gone, or speaks something else."""


def send(link: socket.socket, message: Message) -> None:
    """Send one message; raises ChannelClosed where the other side is gone."""
    body = json.dumps(message, separators=(",", ":")).encode()
    try:
        link.sendall(_HEADER.pack(len(body)) + body)
    except OSError as error:
        raise ChannelClosed(str(error)) from error


def receive(link: socket.socket) -> Message:
    """Wait for one message; raises ChannelClosed at the end of the stream."""
    parser = Parser()
    while True:
        message = parser.take()
        if message is not None:
            return message
        try:
            chunk = link.recv(parser.missing())
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not chunk:
            raise ChannelClosed("the other side closed the channel")
        parser.feed(chunk)


class Parser:
    """Puts messages together from pieces, for a reader that must also watch other things."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._buffer += chunk

    def missing(self) -> int:
        """Bytes still to come before the header, then the message, is whole; at least 1."""
        have = len(self._buffer)
        if have < _HEADER.size:
            return _HEADER.size - have
        return max(_HEADER.size + self._length() - have, 1)

    def take(self) -> Message | None:
        """The next whole message, or None. Raises ChannelClosed on anything that is no message."""
        if len(self._buffer) < _HEADER.size or len(self._buffer) < _HEADER.size + self._length():
            return None
        end = _HEADER.size + self._length()
        body = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        try:
            message = json.loads(body)
        except ValueError as error:
            raise ChannelClosed(f"not JSON: {error}") from error
        if not isinstance(message, dict):
            raise ChannelClosed("not a JSON object")
        return message

    def _length(self) -> int:
        length: int = _HEADER.unpack_from(self._buffer)[0]
        if length > MAXIMUM_BYTES:
            raise ChannelClosed(f"a message of {length} bytes was announced; {MAXIMUM_BYTES} is the most")
        return length
