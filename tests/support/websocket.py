"""A small WebSocket client for tests, over any connected socket."""
import base64
import hashlib
import json
import os
import struct


class WebSocket:
    def __init__(self, sock, path, headers=None, host="localhost"):
        self.sock, self.buffer = sock, b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = sock.recv(65536)
            if not piece:
                raise ConnectionError(f"no answer to the handshake: {head!r}")
            head += piece
        head, self.buffer = head.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        self.head = head.decode()
        if self.status == 101:
            expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            assert f"sec-websocket-accept: {expected}".lower() in self.head.lower(), self.head

    def send_frame(self, opcode, payload, last=True, masked=True):
        size = len(payload)
        mask_bit = 0x80 if masked else 0
        head = bytes([(0x80 if last else 0) | opcode])
        head += bytes([mask_bit | size]) if size < 126 else bytes([mask_bit | 126]) + struct.pack(">H", size) if size < 65536 else bytes([mask_bit | 127]) + struct.pack(">Q", size)
        if masked:
            mask = os.urandom(4)
            head += mask
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.sock.sendall(head + payload)

    def send_json(self, value):
        self.send_frame(1, json.dumps(value).encode())

    def send_input(self, data):
        self.send_frame(2, b"\0" + data)

    def _take(self, count):
        while len(self.buffer) < count:
            piece = self.sock.recv(65536)
            if not piece:
                raise ConnectionError("the connection ended")
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self):
        """(opcode, payload) of the next frame; a server's are whole messages."""
        first, second = self._take(2)
        assert not second & 0x80, "a server must not mask"
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", self._take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._take(8))[0]
        return first & 15, self._take(size)

    def until_closed(self):
        """Every text message as JSON, what came per stream, and the close code."""
        events, streams, code = [], {}, None
        while True:
            try:
                opcode, payload = self.receive()
            except ConnectionError:
                return events, streams, code
            if opcode == 1:
                events.append(json.loads(payload))
            elif opcode == 2:
                streams[payload[0]] = streams.get(payload[0], b"") + payload[1:]
            elif opcode == 8:
                code = struct.unpack(">H", payload[:2])[0]
