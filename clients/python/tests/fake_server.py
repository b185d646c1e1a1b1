"""A server that answers what a test tells it to: real HTTP, no sandboxes."""
import http.server
import json
import threading


class FakeServer:
    """routes: "METHOD /path" → function(request) → (status, value), value an object, bytes, or a list of NDJSON objects."""

    def __init__(self, routes):
        self.requests = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self._body()
                request = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body}
                fake.requests.append(request)
                route = routes.get(f"{self.command} {self.path.split('?')[0]}")
                status, value = route(request) if route else (404, {"code": 404, "error": "not_found", "message": "no such thing", "hint": ""})
                self.send_response(status)
                if isinstance(value, list):
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for each in value:
                        line = json.dumps(each).encode() + b"\n"
                        for piece in (line[:3], line[3:]):
                            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    content = value if isinstance(value, bytes) else json.dumps(value).encode()
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def _body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                whole = b""
                while True:
                    size = int(self.rfile.readline(), 16)
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                    if size == 0:
                        return whole

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
