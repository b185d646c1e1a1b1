"""A WebSocket client's frames (RFC 6455), without I/O."""
from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Iterator, List, Tuple

from .errors import SandboxError

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_MOST = 16 << 20


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def accept(key: str) -> str:
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def frame(op: int, payload: bytes) -> bytes:
    size = len(payload)
    head = bytes([0x80 | op])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 1 << 16:
        head += bytes([0x80 | 126]) + struct.pack(">H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", size)
    mask = os.urandom(4)
    whole = (mask * (size // 4 + 1))[:size]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big") if size else b""
    return head + mask + masked


class Reader:
    """Bytes of the server's to (op, payload)."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._parts: List[bytes] = []
        self._op = 0

    def add(self, data: bytes) -> None:
        self._bytes += data

    def messages(self) -> Iterator[Tuple[int, bytes]]:
        while True:
            if len(self._bytes) < 2:
                return
            first, second = self._bytes[0], self._bytes[1]
            op, final, size, head = first & 15, bool(first & 0x80), second & 0x7F, 2
            if first & 0x70 or second & 0x80:
                raise SandboxError("the server broke the rules of WebSocket", "unavailable")
            if size >= 126:
                head = 4 if size == 126 else 10
                if len(self._bytes) < head:
                    return
                size = int.from_bytes(self._bytes[2:head], "big")
            if size + sum(map(len, self._parts)) > _MOST:
                raise SandboxError("a message that is too long", "exhausted")
            if len(self._bytes) < head + size:
                return
            payload = bytes(self._bytes[head:head + size])
            del self._bytes[:head + size]
            if op >= 8:
                yield op, payload
                continue
            if op:
                self._op = op
            self._parts.append(payload)
            if final:
                whole, self._parts = b"".join(self._parts), []
                yield self._op, whole
