"""An HTTP/1.1 server for tests. It reads leniently on purpose: what a strict proxy refuses must be seen not to arrive.

  /  names host, address and port             /echo      the request as JSON        /redirect?to=URL
  /chunked?size=N  the echo in small chunks   /gzip      the echo, compressed       /headers  request headers as response headers
  /slow?seconds=S  a body in ten parts        /big?size=N   /endless                /sink     counts the body
  /silent  never answers                      /endless-header                       TRACE     the request's head
  /ws  WebSocket, echoing one short message after the other; /simple, /git, /wheels: files
"""
import asyncio
import base64
import gzip
import hashlib
import json
import os
import urllib.parse

LARGEST_HEAD, KEPT_BODY = 1 << 20, 4096
FILES = ("simple", "wheels", "git")


class Request:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.head = head
        self.method, self.target, self.version = (lines[0].split(" ") + ["", "", ""])[:3]
        self.headers = [tuple(part.strip() for part in (line.split(":", 1) + [""])[:2]) for line in lines[1:] if line]
        self.path, _, query = self.target.partition("?")
        self.query = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
        self.body, self.body_size = b"", 0

    def header(self, name, default=""):
        return next((value for key, value in self.headers if key.lower() == name), default)

    def describe(self):
        return {"method": self.method, "target": self.target, "headers": self.headers, "body": self.body.decode("latin-1"), "body_size": self.body_size}


async def _read_body(request, reader):
    async def take(count):
        while count:
            part = await reader.read(min(count, 1 << 16))
            if not part:
                raise ConnectionError("the body ended early")
            count -= len(part)
            request.body_size += len(part)
            request.body = (request.body + part)[:KEPT_BODY]

    if "chunked" in request.header("transfer-encoding").lower():
        while size := int((await reader.readline()).split(b";")[0], 16):
            await take(size)
            await reader.readline()
        await reader.readline()
    else:
        await take(int(request.header("content-length", "0") or 0))


def _response(status, body, *headers):
    if isinstance(body, str):
        body = body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class HttpServer:
    def __init__(self, folder, log, connections, where):
        self._folder, self._log, self._connections, self._where = folder, log, connections, where

    async def serve(self, reader, writer):
        try:
            self._connections.append(self._place(writer))
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, OSError):
            pass
        finally:
            writer.close()

    def _place(self, writer):
        address, port = writer.get_extra_info("sockname")[:2]
        secured = writer.get_extra_info("ssl_object")
        place = {"address": address.removeprefix("::ffff:"), "port": port, "tls": secured is not None}
        return place | ({"sni": getattr(secured, "asked_name", None)} if secured else {})

    async def _one(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        request = Request(head)
        entry = self._place(writer) | request.describe()
        self._log.append(entry)
        await _read_body(request, reader)
        entry |= request.describe()
        if request.header("upgrade").lower() == "websocket":
            await self._websocket(request, reader, writer)
            return False
        kept = await self._answer(request, writer)
        await writer.drain()
        return kept and request.header("connection").lower() != "close"

    async def _answer(self, request, writer):
        """Writes the answer; whether the connection can go on."""
        seen = json.dumps(request.describe())
        name = request.path.strip("/").partition("/")[0]
        if request.method == "TRACE":
            writer.write(_response("200 OK", request.head, "Content-Type: message/http"))
        elif name in FILES:
            writer.write(self._file(request))
        elif name == "echo":
            writer.write(_response("200 OK", seen, "Content-Type: application/json"))
        elif name == "sink":
            writer.write(_response("200 OK", json.dumps({"bytes": request.body_size})))
        elif name == "redirect":
            writer.write(_response("302 Found", "", f"Location: {request.query['to']}"))
        elif name == "headers":
            writer.write(_response("200 OK", "see the headers", *(f"X-Echo-{key}: {value}" for key, value in request.headers)))
        elif name == "gzip":
            writer.write(_response("200 OK", gzip.compress(seen.encode()), "Content-Encoding: gzip"))
        elif name == "chunked":
            await self._chunked(writer, seen.encode(), int(request.query.get("size", "3")))
        elif name == "slow":
            await self._slow(writer, float(request.query.get("seconds", "1")))
        elif name == "big":
            await self._big(writer, int(request.query["size"]))
        elif name == "interim":
            hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
            writer.write(hints * int(request.query["count"]) + _response("200 OK", "at last\n"))
        elif name in ("endless", "endless-header"):
            await self._endless(writer, name)
        elif name == "silent":
            await asyncio.sleep(3600)
        elif name == "":
            place = self._place(writer)
            text = f"{self._where} {request.header('host')} at {place['address']} {place['port']} {'tls' if place['tls'] else 'plain'}\n"
            writer.write(_response("200 OK", b"" if request.method == "HEAD" else text))
        else:
            writer.write(_response("404 Not Found", "no such page\n"))
        return True

    def _file(self, request):
        path = os.path.normpath(os.path.join(self._folder, "files", urllib.parse.unquote(request.path).lstrip("/")))
        if os.path.isdir(path):
            path = os.path.join(path, "index.html")
        if not path.startswith(self._folder) or not os.path.isfile(path):
            return _response("404 Not Found", "no such file\n")
        kind = "text/html" if path.endswith(".html") else "application/octet-stream"
        with open(path, "rb") as file:
            return _response("200 OK", file.read(), f"Content-Type: {kind}")

    @staticmethod
    async def _chunked(writer, body, size):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), size):
            part = body[start:start + size]
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    @staticmethod
    async def _slow(writer, seconds):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        for _ in range(10):
            await asyncio.sleep(seconds / 10)
            writer.write(b"s")
            await writer.drain()

    @staticmethod
    async def _big(writer, size):
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        block = b"b" * (1 << 16)
        while size:
            part = block[:size]
            writer.write(part)
            await writer.drain()
            size -= len(part)

    @staticmethod
    async def _endless(writer, what):
        block = b"X-More: " + b"h" * 8182 + b"\r\n" if what == "endless-header" else b"2000\r\n" + b"e" * 8192 + b"\r\n"
        writer.write(b"HTTP/1.1 200 OK\r\n" + (b"" if what == "endless-header" else b"Transfer-Encoding: chunked\r\n\r\n"))
        while True:
            writer.write(block)
            await writer.drain()

    @staticmethod
    async def _websocket(request, reader, writer):
        key = request.header("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        writer.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        while True:
            _, size = await reader.readexactly(2)
            mask = await reader.readexactly(4)
            text = bytes(byte ^ mask[n % 4] for n, byte in enumerate(await reader.readexactly(size & 0x7f)))
            writer.write(bytes([0x81, len(text)]) + text)
            await writer.drain()
