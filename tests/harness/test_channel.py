from __future__ import annotations

import socket
import struct

import pytest

from kernels.harness.channel import MAXIMUM_BYTES, ChannelClosed, Parser, receive, send


def test_messages_arrive_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for number in range(3):
            send(ours, {"number": number, "text": "µ" * 100})
        assert [receive(theirs)["number"] for _ in range(3)] == [0, 1, 2]


def test_a_parser_takes_any_pieces() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, {"a": [1, 2]})
        send(ours, {})
        stream = theirs.recv(1000)
    parser = Parser()
    seen = []
    for byte in stream:
        parser.feed(bytes([byte]))
        message = parser.take()
        if message is not None:
            seen.append(message)
    assert seen == [{"a": [1, 2]}, {}]


def test_the_end_of_the_stream_and_nonsense_close_the_channel() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        with pytest.raises(ChannelClosed, match="closed"):
            receive(theirs)
    for body, said in [(b"{", "not JSON"), (b"[1]", "not a JSON object")]:
        parser = Parser()
        parser.feed(struct.pack("<I", len(body)) + body)
        with pytest.raises(ChannelClosed, match=said):
            parser.take()


def test_an_announced_length_beyond_reason_is_refused() -> None:
    parser = Parser()
    parser.feed(struct.pack("<I", MAXIMUM_BYTES + 1))
    with pytest.raises(ChannelClosed, match="announced"):
        parser.take()


def test_sending_to_nobody_raises() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(ChannelClosed):
        send(ours, {"x": "y"})
