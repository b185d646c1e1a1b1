"""Calls over http.client, with connections that are kept for the next one. Threads may share a transport."""
from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple, TypeVar

from . import websocket
from .calls import Call, refusal
from .endpoint import Endpoint
from .errors import ServerUnavailable, TimeoutException

T = TypeVar("T")
_MOST_IDLE = 8
_PIECE = 64 << 10


class _Connection(http.client.HTTPConnection):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint.host or "localhost", endpoint.port or None)
        self._endpoint = endpoint

    def connect(self) -> None:
        self.sock = self._endpoint.connect()

    def is_usable(self) -> bool:
        """Nothing has come that nobody asked for: an end."""
        return self.sock is not None and not select.select([self.sock], [], [], 0)[0]


def request_headers(endpoint: Endpoint, call: "Call[Any]") -> Dict[str, str]:
    headers = {"Host": endpoint.host_header, "User-Agent": "paddock-python/0.1.0"}
    if endpoint.key:
        headers["X-API-Key"] = endpoint.key
    if call.pieces is not None:
        headers["Transfer-Encoding"] = "chunked"
    elif call.body is not None or call.method in ("POST", "PUT"):
        headers["Content-Length"] = str(len(call.body or b""))
    if call.body is not None or call.pieces is not None:
        headers["Content-Type"] = call.content_type
    return headers


class Transport:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle: List[_Connection] = []
        self._lock = threading.Lock()

    def _take(self) -> _Connection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if connection.is_usable():
                    return connection
                connection.close()
        return _Connection(self.endpoint)

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    __del__ = close

    def _begin(self, connection: _Connection, call: "Call[Any]", deadline: Optional[float]) -> http.client.HTTPResponse:
        if connection.sock is None:
            connection.connect()
        assert connection.sock is not None
        connection.sock.settimeout(_left(deadline))
        headers = request_headers(self.endpoint, call)
        connection.putrequest(call.method, call.path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        try:
            if call.body:
                connection.send(call.body)
            for piece in call.pieces or ():
                if piece:
                    connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            if call.pieces is not None:
                connection.send(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server that had enough says why in its answer
        response = connection.getresponse()
        if response.status // 100 != 2:
            raise refusal(response.status, response.read())
        return response

    def call(self, call: "Call[T]") -> T:
        connection = self._take()
        deadline = None if call.timeout is None else time.monotonic() + call.timeout
        whole = False
        try:
            response = self._begin(connection, call, deadline)
            body = b""
            if call.on_line is not None:
                for line in _lines(connection, response, deadline):
                    call.on_line(line)
            elif call.on_piece is not None:
                while True:
                    piece = response.read(_PIECE)
                    if not piece:
                        break
                    call.on_piece(piece)
            else:
                body = response.read()
            whole = response.isclosed() and not response.will_close
            return call.parse(body)
        except socket.timeout as error:
            raise TimeoutException(f"no answer within {call.timeout} seconds", "deadline_exceeded") from error
        except (http.client.HTTPException, OSError) as error:
            raise ServerUnavailable(f"the connection to the server broke: {error or type(error).__name__}", "unavailable") from error
        finally:
            if whole:
                self._give_back(connection)
            else:
                connection.close()

    def lines(self, path: str) -> "LineStream":
        """An answer that goes on until it is closed."""
        connection = _Connection(self.endpoint)
        try:
            response = self._begin(connection, Call("GET", path, bytes), None)
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error
        except BaseException:
            connection.close()
            raise
        return LineStream(connection, response)

    def websocket(self, path: str) -> "WebSocket":
        connection = _Connection(self.endpoint)
        key = websocket.new_key()
        try:
            connection.connect()
            assert connection.sock is not None
            connection.sock.sendall(upgrade_head(self.endpoint, path, key))
            return WebSocket(connection.sock, _read_upgrade(connection.sock, key))
        except OSError as error:
            connection.close()
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error
        except BaseException:
            connection.close()
            raise


def _left(deadline: Optional[float]) -> Optional[float]:
    return None if deadline is None else max(0.001, deadline - time.monotonic())


def _lines(connection: _Connection, response: http.client.HTTPResponse, deadline: Optional[float]) -> Iterator[Any]:
    sock = connection.sock
    while True:
        if deadline is not None and sock is not None:
            sock.settimeout(_left(deadline))
        line = response.readline()
        if not line:
            return
        if line.strip():
            yield json.loads(line)


class LineStream:
    def __init__(self, connection: _Connection, response: http.client.HTTPResponse) -> None:
        self._connection, self._response = connection, response
        self._socket = connection.sock

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from _lines(self._connection, self._response, None)
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            return  # closed, from here or from there

    def close(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads
            except OSError:
                pass
        self._connection.close()


def upgrade_head(endpoint: Endpoint, path: str, key: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {endpoint.host_header}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
             f"Sec-WebSocket-Key: {key}"]
    if endpoint.key:
        lines.append(f"X-API-Key: {endpoint.key}")
    return "\r\n".join(lines + ["", ""]).encode()


def check_upgrade(head: bytes, key: str) -> Tuple[int, int]:
    """The status, and for a refusal the length of its body."""
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if status == 101 and headers.get("sec-websocket-accept") != websocket.accept(key):
        raise ServerUnavailable("the server's answer is no WebSocket", "unavailable")
    return status, int(headers.get("content-length") or 0)


def _read_upgrade(sock: socket.socket, key: str) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(_PIECE)
        if not piece:
            raise ServerUnavailable("the server closed the connection without an answer", "unavailable")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    status, length = check_upgrade(head, key)
    if status == 101:
        return rest
    while len(rest) < length:
        piece = sock.recv(_PIECE)
        if not piece:
            break
        rest += piece
    raise refusal(status, rest)


class WebSocket:
    """Messages both ways; one thread reads, any may send."""

    def __init__(self, sock: socket.socket, ahead: bytes) -> None:
        self._socket, self._lock = sock, threading.Lock()
        self._reader = websocket.Reader()
        self._reader.add(ahead)

    def send(self, op: int, payload: bytes) -> None:
        try:
            with self._lock:
                self._socket.sendall(websocket.frame(op, payload))
        except OSError as error:
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error

    def messages(self) -> Iterator[Tuple[int, bytes]]:
        """Until either side closes."""
        while True:
            for op, payload in self._reader.messages():
                if op == websocket.CLOSE:
                    return
                if op == websocket.PING:
                    self.send(websocket.PONG, payload)
                elif op in (websocket.TEXT, websocket.BINARY):
                    yield op, payload
            try:
                data = self._socket.recv(_PIECE)
            except OSError:
                return
            if not data:
                return
            self._reader.add(data)

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
