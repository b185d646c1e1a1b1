"""The same over asyncio's streams."""
from __future__ import annotations

import asyncio
import inspect
import json
import ssl
from typing import Any, AsyncIterator, Dict, List, Optional, Tuple, TypeVar

from . import websocket
from .calls import Call, refusal
from .endpoint import Endpoint
from .errors import ServerUnavailable, TimeoutException
from .http import check_upgrade, request_headers, upgrade_head

T = TypeVar("T")
_PIECE = 64 << 10
_LONGEST_LINE = 16 << 20
_MOST_IDLE = 8
Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connect(endpoint: Endpoint) -> Streams:
    try:
        if endpoint.socket_path:
            return await asyncio.open_unix_connection(endpoint.socket_path, limit=_LONGEST_LINE)
        context = ssl.create_default_context() if endpoint.tls else None
        return await asyncio.open_connection(endpoint.host, endpoint.port, ssl=context, limit=_LONGEST_LINE)
    except OSError as error:
        raise ServerUnavailable(f"connect to the server at {endpoint.socket_path or endpoint.host_header}: {error}", "unavailable", "start one with: paddock serve") from error


class _Response:
    """One answer's head and body."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: Dict[str, str]) -> None:
        self._reader, self.status, self.headers = reader, status, headers
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        length = headers.get("content-length")
        self._left: Optional[int] = 0 if status in (204, 304) else int(length) if length is not None else None
        self.done = self._left == 0 and not self._chunked
        self.keep = headers.get("connection", "").lower() != "close" and (self._chunked or self._left is not None)

    async def piece(self) -> bytes:
        """The next bytes of the body; none at its end."""
        if self.done:
            return b""
        if self._chunked and not self._left:
            self._left = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            if self._left == 0:
                while await self._reader.readuntil(b"\r\n") != b"\r\n":
                    pass
                self.done = True
                return b""
        data = await self._reader.read(_PIECE if self._left is None else min(_PIECE, self._left))
        if not data and self._left is not None:
            raise ServerUnavailable("the answer broke off in the middle", "unavailable")
        if not data:
            self.done = True
            return b""
        if self._left is not None:
            self._left -= len(data)
            if self._chunked and self._left == 0:
                await self._reader.readexactly(2)
            elif self._left == 0:
                self.done = True
        return data

    async def body(self) -> bytes:
        whole = bytearray()
        while True:
            data = await self.piece()
            if not data:
                return bytes(whole)
            whole += data

    async def lines(self) -> AsyncIterator[Any]:
        rest = b""
        while True:
            data = await self.piece()
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.strip():
                    yield json.loads(line)
        if rest.strip():
            yield json.loads(rest)


async def _read_response(reader: asyncio.StreamReader) -> _Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = head.split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    return _Response(reader, int(lines[0].split(" ")[1]), headers)


async def _settle(value: Any) -> None:
    if inspect.isawaitable(value):
        await value


class AsyncTransport:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle: List[Tuple[asyncio.AbstractEventLoop, Streams]] = []

    async def _take(self) -> Streams:
        loop = asyncio.get_running_loop()
        while self._idle:
            owner, (reader, writer) = self._idle.pop()
            if owner is loop and not reader.at_eof() and not writer.is_closing():
                return reader, writer
            if owner is loop:
                writer.close()
        return await _connect(self.endpoint)

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for owner, (_, writer) in idle:
            if not owner.is_closed():
                writer.close()

    async def _begin(self, streams: Streams, call: "Call[Any]") -> _Response:
        reader, writer = streams
        headers = request_headers(self.endpoint, call)
        head = f"{call.method} {call.path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        try:
            writer.write(head.encode() + (call.body or b""))
            for piece in call.pieces or ():
                if piece:
                    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    await writer.drain()
            if call.pieces is not None:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server that had enough says why in its answer
        response = await _read_response(reader)
        if response.status // 100 != 2:
            raise refusal(response.status, await response.body())
        return response

    async def _converse(self, streams: Streams, call: "Call[T]") -> Tuple[T, bool]:
        response = await self._begin(streams, call)
        body = b""
        if call.on_line is not None:
            async for line in response.lines():
                await _settle(call.on_line(line))
        elif call.on_piece is not None:
            while True:
                piece = await response.piece()
                if not piece:
                    break
                await _settle(call.on_piece(piece))
        else:
            body = await response.body()
        return call.parse(body), response.done and response.keep

    async def call(self, call: "Call[T]") -> T:
        streams = await self._take()
        keep = False
        try:
            value, keep = await asyncio.wait_for(self._converse(streams, call), call.timeout)
            return value
        except asyncio.TimeoutError as error:
            raise TimeoutException(f"no answer within {call.timeout} seconds", "deadline_exceeded") from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error
        finally:
            if keep and len(self._idle) < _MOST_IDLE:
                self._idle.append((asyncio.get_running_loop(), streams))
            else:
                streams[1].close()

    async def lines(self, path: str) -> "AsyncLineStream":
        streams = await _connect(self.endpoint)
        try:
            return AsyncLineStream(streams, await self._begin(streams, Call("GET", path, bytes)))
        except BaseException:
            streams[1].close()
            raise

    async def websocket(self, path: str) -> "AsyncWebSocket":
        reader, writer = await _connect(self.endpoint)
        key = websocket.new_key()
        try:
            writer.write(upgrade_head(self.endpoint, path, key))
            head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
            status, length = check_upgrade(head, key)
            if status != 101:
                raise refusal(status, await reader.readexactly(length))
            return AsyncWebSocket(reader, writer)
        except (OSError, asyncio.IncompleteReadError) as error:
            writer.close()
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error
        except BaseException:
            writer.close()
            raise


class AsyncLineStream:
    def __init__(self, streams: Streams, response: _Response) -> None:
        self._writer, self._response = streams[1], response

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            async for line in self._response.lines():
                yield line
        except (OSError, asyncio.IncompleteReadError, ServerUnavailable):
            return

    def close(self) -> None:
        self._writer.close()


class AsyncWebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._frames = websocket.Reader()

    async def send(self, op: int, payload: bytes) -> None:
        try:
            self._writer.write(websocket.frame(op, payload))
            await self._writer.drain()
        except OSError as error:
            raise ServerUnavailable(f"the connection to the server broke: {error}", "unavailable") from error

    async def messages(self) -> AsyncIterator[Tuple[int, bytes]]:
        while True:
            for op, payload in self._frames.messages():
                if op == websocket.CLOSE:
                    return
                if op == websocket.PING:
                    await self.send(websocket.PONG, payload)
                elif op in (websocket.TEXT, websocket.BINARY):
                    yield op, payload
            try:
                data = await self._reader.read(_PIECE)
            except OSError:
                return
            if not data:
                return
            self._frames.add(data)

    def close(self) -> None:
        self._writer.close()
