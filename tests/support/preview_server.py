"""Runs inside a sandbox: a web server that shows what a preview passes on. python3 preview_server.py PORT"""
import base64
import hashlib
import http.server
import json
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            whole = b""
            while (size := int(self.rfile.readline(), 16)):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        if self.path == "/ws":
            return self.websocket()
        if self.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()  # no length: until it closes
            for number in range(3):
                self.wfile.write(f"data: {number}\n\n".encode())
                self.wfile.flush()
            self.close_connection = True
            return None
        if self.path == "/forever":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"begun")
            self.wfile.flush()
            threading.Event().wait()
        if self.path == "/big":
            return self.answer(200, b"x" * (8 << 20))
        if self.path == "/garbage":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
            return None
        if self.path == "/short":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
            return None
        body = json.dumps({"path": self.path, "headers": [[name, value] for name, value in self.headers.items()]}).encode()
        return self.answer(200, body, [("Content-Type", "application/json"), ("X-Inner", "yes"), ("Connection", "X-Hop"), ("X-Hop", "secret"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d")])

    do_HEAD = do_GET

    def do_POST(self):
        self.answer(201, hashlib.sha256(self.body()).hexdigest().encode())

    def do_OPTIONS(self):
        self.answer(204, b"", [("Access-Control-Allow-Origin", "http://only.example")])

    def websocket(self):
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        self.wfile.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        self.wfile.flush()
        while (head := self.rfile.read(2)) and head[0] & 15 != 8:
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([head[0], len(payload)]) + payload.upper())
            self.wfile.flush()
        self.close_connection = True


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
