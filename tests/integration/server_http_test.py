"""The HTTP server itself: connections, framing, limits, keys, scopes, TLS, the UNIX socket, draining. No sandbox is made."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from support import paddock
from support.server import Server


def read_answer(sock):
    """One answer with a Content-Length, by hand: (status, headers, body)."""
    file = sock.makefile("rb")
    status = int(file.readline().split()[1])
    headers = {}
    while (line := file.readline().strip()):
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    return status, headers, file.read(int(headers.get("content-length", 0)))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class ServerHttpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @contextlib.contextmanager
    def raw(self, data=b""):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as sock:
            sock.sendall(data)
            yield sock

    def closed_with(self, data):
        """The status that garbage gets; the connection is closed behind it."""
        with self.raw(data) as sock:
            answer = b""
            while (piece := sock.recv(65536)):
                answer += piece
            return int(answer.split()[1]) if answer else None

    def test_one_connection_carries_many_requests(self):
        connection = self.server.connection()
        sockets = set()
        for _ in range(5):
            answer = self.server.request("GET", "/health", connection=connection)
            self.assertEqual(answer.status, 200)
            self.assertNotIn("close", answer.headers.get("Connection", ""))
            sockets.add(connection.sock.getsockname())
        self.assertEqual(len(sockets), 1)
        connection.close()

    def test_requests_may_come_before_the_answers(self):
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        with self.raw(one * 10 + b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as sock:
            answer = b""
            while (piece := sock.recv(65536)):
                answer += piece
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 11)
        self.assertTrue(answer.endswith(b'"api":"v1"}'))

    def test_heads_and_bodies_may_come_byte_by_byte(self):
        body = b'5\r\n{"tim\r\n10;x=y\r\neout_ms":1234567\r\n1\r\n}\r\n0\r\n\r\n'
        head = f"POST /v1/sandboxes/nobody/timeout HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        with self.raw() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in head + body:
                sock.sendall(bytes([byte]))
            status, _, answer = read_answer(sock)
            self.assertEqual((status, json.loads(answer)["error"]), (404, "not_found"))
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(read_answer(sock)[0], 200)

    def test_expect_100_continue(self):
        head = f"POST /v1/sandboxes/nobody/timeout HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n"
        with self.raw(head.encode()) as sock:
            self.assertEqual(sock.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(b'{"timeout_ms": 1000}')
            self.assertEqual(read_answer(sock)[0], 404)

    def test_garbage_is_refused_and_closes(self):
        for data, status in ((b"hello\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400),
                             (b"GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", 400), (b"\x16\x03\x01" + b"\0" * 200 + b"\n\n", 400),
                             (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                             (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 70000 + b"\r\n\r\n", 431)):
            self.assertEqual(self.closed_with(data), status, data[:60])

    def test_a_body_that_is_too_large_is_413(self):
        answer = self.server.request("POST", "/v1/sandboxes", b" " * (2 << 20))
        self.assertEqual(answer.status, 413)
        head = f"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        with self.raw(head) as sock:
            with contextlib.suppress(OSError):
                for _ in range(40):
                    sock.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
            self.assertEqual(read_answer(sock)[0], 413)

    def test_a_broken_chunk_is_400(self):
        head = f"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode()
        self.assertEqual(self.closed_with(head), 400)

    def test_clients_that_vanish_harm_nobody(self):
        head = f"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nContent-Length: 1000\r\n\r\n{{".encode()
        for data in (b"", b"GET", head, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"):
            for reset in (False, True):
                with self.raw(data) as sock:
                    if reset:
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.assertEqual(self.server.request("GET", "/health").status, 200)

    def test_a_slow_client_does_not_hold_up_the_others(self):
        with self.raw(b"GET /health HTTP/1.1\r\nHo") as slow:
            for _ in range(20):
                self.assertEqual(self.server.request("GET", "/health").status, 200)
            slow.sendall(b"st: x\r\n\r\n")
            self.assertEqual(read_answer(slow)[0], 200)

    def test_head_has_no_body(self):
        with self.raw(b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as sock:
            answer = b""
            while (piece := sock.recv(65536)):
                answer += piece
        self.assertEqual(answer.count(b'"status":"ok"'), 1)

    def test_browsers_may_ask_from_anywhere(self):
        answer = self.server.request("OPTIONS", "/v2/sandboxes", headers={"Origin": "http://a.example", "Access-Control-Request-Method": "POST",
                                                                          "Access-Control-Request-Headers": "x-api-key, content-type"})
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
        self.assertIn("x-api-key", answer.headers["Access-Control-Allow-Headers"])
        self.assertIn("DELETE", answer.headers["Access-Control-Allow-Methods"])
        answer = self.server.request("GET", "/nothing")
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (404, "*"))
        self.assertIn("X-Next-Token", answer.headers["Access-Control-Expose-Headers"])

    def test_paths_that_cannot_be_are_refused(self):
        for path in ("/v1/sandboxes/..%2f..%2fetc", "/v1/sandboxes/%2e%2e", "/v1/sandboxes/a%0ab", "/v1/sandboxes/a%00", "/v1/sandboxes/" + "a" * 500,
                     "/sandboxes/..%2fx", "/sandboxes/a%0d%0aX-Y:%20z"):
            answer = self.server.request("GET", path)
            self.assertIn(answer.status, (400, 404), path)
            self.assertIn("code", answer.json())
        self.assertEqual(self.server.request("PATCH", "/v1/sandboxes").status, 405)

    def test_ids_of_the_data_plane_are_checked(self):
        for headers, status in (({"E2b-Sandbox-Id": "../x"}, 400), ({"E2b-Sandbox-Id": "A"}, 400), ({"E2b-Sandbox-Id": ""}, 400),
                                ({"E2b-Sandbox-Id": "abc", "E2b-Sandbox-Port": "0"}, 400), ({"E2b-Sandbox-Id": "abc", "E2b-Sandbox-Port": "99999"}, 400),
                                ({"E2b-Sandbox-Id": "abc", "E2b-Sandbox-Port": "3000"}, 502), ({"E2b-Sandbox-Id": "abc-client"}, 502),
                                ({"Host": "3000-abc.example.com"}, 502), ({"Host": "99999-abc.example.com"}, 400)):
            answer = self.server.request("GET", "/health", headers=headers)
            self.assertEqual(answer.status, status, headers)
            if status == 502:
                self.assertEqual(answer.json(), {"sandboxId": "abc", "message": "The sandbox was not found", "code": 502})

    def test_keys_open_what_their_scopes_say(self):
        reader = self.server.new_key("--scope", "read")
        self.assertEqual(self.server.request("GET", "/v1/sandboxes", key=reader).status, 200)
        refused = self.server.request("POST", "/v1/sandboxes", {}, key=reader)
        self.assertEqual((refused.status, refused.json()["code"]), (403, 403))
        self.assertEqual(self.server.request("GET", "/v1/keys").status, 403)
        admin = self.server.new_key("--scope", "admin")
        self.assertEqual(self.server.request("GET", "/v1/keys", key=admin).status, 200)
        self.assertEqual(self.server.request("GET", "/v1/me", key=admin, headers={"X-Paddock-Tenant": "b"}).json()["tenant"], "b")
        self.assertEqual(self.server.request("GET", "/v1/me", key=reader, headers={"X-Paddock-Tenant": "b"}).status, 403)
        for key in ("e2b_" + "0" * 40, "nonsense", ""):
            answer = self.server.request("GET", "/v1/sandboxes", headers={"X-API-Key": key})
            self.assertEqual((answer.status, answer.json()["code"]), (401, 401))
        bearer = self.server.request("GET", "/v1/me", headers={"X-API-Key": "", "Authorization": f"Bearer {reader}"})
        self.assertEqual(bearer.json()["scopes"], ["read"])

    def test_keys_are_kept_hashed_and_can_be_revoked_and_expire(self):
        made = json.loads(self.server.call("key", "create", "--json", "--name", "gone soon").stdout)
        self.assertRegex(made["key"], "^e2b_[0-9a-f]{40}$")
        path = os.path.join(self.server.state, "keys.json")
        with open(path) as file:
            text = file.read()
        self.assertNotIn(made["key"], text)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(self.server.request("GET", "/v1/me", key=made["key"]).status, 200)
        self.assertIn("gone soon", self.server.call("key", "ls").stdout)
        self.assertEqual(self.server.call("key", "revoke", made["id"]).returncode, 0)
        self.assertEqual(self.server.request("GET", "/v1/me", key=made["key"]).status, 401)
        self.assertEqual(self.server.call("key", "revoke", made["id"]).returncode, 125)
        short = self.server.new_key("--expires", "1ms")
        time.sleep(0.01)
        self.assertEqual(self.server.request("GET", "/v1/me", key=short).status, 401)

    def test_keys_over_the_api(self):
        admin = self.server.new_key("--scope", "admin")
        made = self.server.request("POST", "/v1/keys", {"tenant": "b", "scopes": ["read"]}, key=admin).json()
        self.assertEqual(self.server.request("GET", "/v1/me", key=made["key"]).json()["tenant"], "b")
        self.assertEqual(self.server.request("DELETE", f"/v1/keys/{made['id']}", key=admin).status, 204)
        self.assertEqual(self.server.request("GET", "/v1/me", key=made["key"]).status, 401)
        self.assertEqual(self.server.request("POST", "/v1/keys", {"scopes": ["root"]}, key=admin).status, 400)

    def test_the_unix_socket_knows_who_asks(self):
        path = os.path.join(self.server.state, "server.sock")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        connection = UnixConnection(path)
        connection.request("GET", "/v1/me")
        self.assertEqual(json.loads(connection.getresponse().read())["tenant"], "local")
        connection.close()

    @unittest.skipUnless("user" in paddock.USERS and os.geteuid() == 0, "needs root and an ordinary user")
    def test_the_unix_socket_refuses_other_users(self):
        folder = tempfile.mkdtemp(prefix="paddock-test-")
        path = os.path.join(folder, "s.sock")
        try:
            with Server(arguments=["--socket", path]):
                os.chmod(folder, 0o711)
                os.chmod(path, 0o666)  # as if its directory had not kept them out
                script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r}); s.sendall(b'GET /v1/me HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(4096).decode())"
                done = subprocess.run(paddock.as_user(["python3", "-c", script], "user"), capture_output=True, text=True, cwd="/")
                self.assertIn("401", done.stdout.split("\r\n")[0], done.stderr)
        finally:
            shutil.rmtree(folder)

    def test_the_openapi_document_has_every_native_route(self):
        answer = self.server.request("GET", "/openapi.json", headers={"X-API-Key": ""})
        document = answer.json()
        self.assertEqual(document["openapi"], "3.1.0")
        for path, methods in (("/v1/sandboxes", ["get", "post"]), ("/v1/sandboxes/{id}/exec", ["post"]), ("/v1/sandboxes/{id}/files", ["get", "put", "delete"])):
            for method in methods:
                operation = document["paths"][path][method]
                self.assertTrue(operation["responses"], path)
        names = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
        self.assertEqual(len(names), sum(len(methods) for methods in document["paths"].values()))
        text = json.dumps(document)
        for reference in set(part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]):
            self.assertIn(reference, document["components"]["schemas"])


class ServerStartTest(unittest.TestCase):
    def test_too_many_requests_are_429_with_a_time(self):
        with Server(arguments=["--rate", "5"]) as server:
            answers = [server.request("GET", "/v1/me") for _ in range(30)]
            refused = [answer for answer in answers if answer.status == 429]
            self.assertTrue(refused)
            self.assertRegex(refused[0].headers["Retry-After"], "^[1-9][0-9]*$")
            self.assertEqual(refused[0].json()["code"], 429)

    def test_other_addresses_need_tls(self):
        folder = tempfile.mkdtemp(prefix="paddock-test-")
        try:
            done = paddock.call("serve", "--listen", "0.0.0.0:0", env={"PADDOCK_STATE": folder}, timeout=30)
            self.assertEqual(done.returncode, 125)
            self.assertIn("in the clear", done.stderr)
            self.assertIn("--certificate", done.stderr)
        finally:
            shutil.rmtree(folder)

    def test_tls(self):
        folder = tempfile.mkdtemp(prefix="paddock-test-")
        try:
            certificate, key = os.path.join(folder, "c.pem"), os.path.join(folder, "k.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)

            class TlsServer(Server):
                def connection(self, timeout=120):
                    context = ssl.create_default_context(cafile=certificate)
                    context.set_alpn_protocols(["h2", "http/1.1"])
                    return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=context)

            with TlsServer(arguments=["--certificate", certificate, "--key", key]) as server:
                connection = server.connection()
                for _ in range(3):
                    self.assertEqual(server.request("GET", "/v1/me", connection=connection).status, 200)
                self.assertEqual(connection.sock.selected_alpn_protocol(), "http/1.1")
                self.assertEqual(server.request("POST", "/v1/sandboxes", b" " * (2 << 20), connection=connection).status, 413)
                connection.close()
                with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
                    plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.assertNotIn(b"200 OK", plain.recv(1000))
                self.assertEqual(server.request("GET", "/health").status, 200)
        finally:
            shutil.rmtree(folder)

    def test_a_second_server_on_the_same_state_is_refused(self):
        with Server() as server:
            done = server.call("serve", "--no-socket", "--listen", "127.0.0.1:0", timeout=60)
            self.assertEqual(done.returncode, 125, done.stdout)
            done = server.call("serve", "--listen", "127.0.0.1:0", timeout=60)
            self.assertEqual(done.returncode, 125, done.stdout)
            self.assertEqual(server.request("GET", "/health").status, 200)

    def test_it_drains_when_told_to_end(self):
        with Server() as server:
            idle = server.connection()
            self.assertEqual(server.request("GET", "/health", connection=idle).status, 200)
            body = b'{"timeout_ms": 1000}'
            head = f"POST /v1/sandboxes/nobody/timeout HTTP/1.1\r\nHost: x\r\nX-API-Key: {server.key}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as busy:
                busy.sendall(head + body[:5])
                self.assertEqual(server.request("GET", "/health").status, 200)  # by now the other is under way
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(idle.sock.recv(100), b"")  # who waits is closed
                busy.sendall(body[5:])
                self.assertEqual(read_answer(busy)[0], 404)  # who is busy gets an answer
            self.assertEqual(server.process.wait(timeout=30), 0)
            self.assertFalse(os.path.exists(os.path.join(server.state, "server.sock")))
            idle.close()
            server.log.close()
            server.start()

    def test_it_ends_with_its_parent_when_asked_to(self):
        folder = tempfile.mkdtemp(prefix="paddock-test-")
        try:
            state = os.path.join(folder, "state")
            os.mkdir(state, 0o700)
            process = paddock.popen("serve", "--no-listen", "--with-parent", "--exit-kills", "--temporary", "--json", env={"PADDOCK_STATE": state},
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertTrue(json.loads(process.stdout.readline())["ready"])
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
            process.stdout.close()
            deadline = time.monotonic() + 60  # a child of its own removes it
            while os.path.exists(state) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertFalse(os.path.exists(state))
        finally:
            shutil.rmtree(folder)

    @unittest.skipUnless("user" in paddock.USERS, "the programs cannot be reached by an ordinary user")
    def test_it_serves_an_ordinary_user(self):
        with Server(user="user") as server:
            self.assertEqual(server.request("GET", "/v1/me").status, 200)


if __name__ == "__main__":
    paddock.main()
