"""Ports of a sandbox seen from outside: by header and by host, WebSockets, streams, tokens; and nothing of ours goes in."""
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

from support import paddock
from support.server import Server
from support.websocket import WebSocket

PORT = 8123


class Preview:
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        with open(os.path.join(paddock.SOURCE, "tests", "support", "preview_server.py"), "rb") as file:
            cls.program = file.read()
        cls.sandbox = cls.make()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @classmethod
    def make(cls, **body):
        made = cls.server.request("POST", "/v1/sandboxes", body).json()
        base = f"/v1/sandboxes/{made['id']}"
        assert cls.server.request("PUT", f"{base}/files?path=/home/user/server.py", cls.program).status == 200
        cls.server.request("POST", f"{base}/exec", {"argv": ["python3", "/home/user/server.py", str(PORT)], "background": True})
        deadline = time.monotonic() + 60
        headers = {"E2b-Traffic-Access-Token": made.get("traffic_token", "")}
        while cls.preview(made, "GET", "/", headers=headers).status != 200:
            assert time.monotonic() < deadline, cls.preview(made, "GET", "/", headers=headers)
            time.sleep(0.1)
        return made

    @classmethod
    def preview(cls, sandbox, method, path, body=None, headers=None, port=PORT, **options):
        return cls.server.request(method, path, body, {"E2b-Sandbox-Id": sandbox["id"], "E2b-Sandbox-Port": str(port), **(headers or {})}, **options)

    def seen_inside(self, sandbox=None, path="/", headers=None):
        answer = self.preview(sandbox or self.sandbox, "GET", path, headers=headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_the_host_that_the_sdk_names_is_found_by_curl(self):
        made = self.server.request("POST", "/v2/sandboxes", {"timeout": 60}).json()
        self.assertEqual(made["domain"], f"localhost:{self.server.port}")
        self.assertEqual(self.server.request("GET", f"/sandboxes/{made['sandboxID']}").json()["domain"], made["domain"])
        host = f"{PORT}-{self.sandbox['id']}.{made['domain']}"  # what getHost(PORT) of the E2B SDK gives
        done = subprocess.run(["curl", "--noproxy", "*", "-sS", f"http://{host}/seen"], capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(done.stdout)["path"], "/seen", done)

    def test_requests_reach_the_program_without_what_is_ours(self):
        seen = self.seen_inside(path="/a%2Fb?c=d%20e", headers={"X-Access-Token": "secret1", "Authorization": f"Bearer {self.server.key}", "X-Own": "kept", "Connection": "X-Gone", "X-Gone": "1"})
        self.assertEqual(seen["path"], "/a%2Fb?c=d%20e")
        names = {name.lower(): value for name, value in seen["headers"]}
        self.assertEqual(names["x-own"], "kept")
        for name in ("x-api-key", "x-access-token", "authorization", "e2b-sandbox-id", "e2b-sandbox-port", "x-gone"):
            self.assertNotIn(name, names)
        self.assertNotIn(self.server.key, json.dumps(seen))

    def test_the_programs_own_authorization_passes(self):
        names = dict(self.seen_inside(headers={"Authorization": "Basic abc"})["headers"])
        self.assertEqual(names["Authorization"], "Basic abc")

    def test_answers_come_back_without_what_was_said_to_the_neighbour(self):
        answer = self.preview(self.sandbox, "GET", "/")
        self.assertEqual(answer.headers["X-Inner"], "yes")
        self.assertNotIn("X-Hop", answer.headers)
        self.assertEqual(answer.headers.get_all("Set-Cookie"), ["a=b", "c=d"])
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        answer = self.preview(self.sandbox, "OPTIONS", "/")
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "http://only.example")

    def test_hosts_name_the_sandbox_too(self):
        answer = self.server.request("GET", "/by-host", headers={"Host": f"{PORT}-{self.sandbox['id']}.example.com"})
        self.assertEqual(answer.json()["path"], "/by-host")
        self.assertEqual(dict(answer.json()["headers"])["Host"], f"{PORT}-{self.sandbox['id']}.example.com")

    def test_bodies_go_both_ways(self):
        connection = self.server.connection()
        content = os.urandom(3 << 20)
        for chunked in (False, True):
            body = iter([content[:1000], content[1000:]]) if chunked else content
            headers = {"E2b-Sandbox-Id": self.sandbox["id"], "E2b-Sandbox-Port": str(PORT)}
            connection.request("POST", "/", body, headers, encode_chunked=chunked)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read().decode()), (201, hashlib.sha256(content).hexdigest()))
        self.assertEqual(len(self.preview(self.sandbox, "GET", "/big", connection=connection).body), 8 << 20)
        self.assertEqual(self.preview(self.sandbox, "HEAD", "/big", connection=connection).headers["Content-Length"], str(8 << 20))
        self.assertEqual(self.preview(self.sandbox, "GET", "/events", connection=connection).body, b"data: 0\n\ndata: 1\n\ndata: 2\n\n")
        self.assertEqual(self.server.request("GET", "/health", connection=connection).status, 200)
        connection.close()

    def test_websockets_are_tunnelled(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as sock:
            session = WebSocket(sock, "/ws", {"E2b-Sandbox-Id": self.sandbox["id"], "E2b-Sandbox-Port": str(PORT)})
            self.assertEqual(session.status, 101)
            for word in (b"hello", b"again"):
                session.send_frame(1, word)
                self.assertEqual(session.receive(), (1, word.upper()))
            session.send_frame(8, b"")
            self.assertEqual(sock.recv(100), b"")

    def test_closed_ports_and_bad_answers_are_502(self):
        answer = self.preview(self.sandbox, "GET", "/", port=9)
        self.assertEqual((answer.status, answer.json()), (502, {"sandboxId": self.sandbox["id"], "message": "The sandbox is running but port is not open", "port": 9, "code": 502}))
        self.assertEqual(self.preview(self.sandbox, "GET", "/garbage").status, 502)
        with self.assertRaises(Exception):  # half an answer must not look whole
            self.preview(self.sandbox, "GET", "/short")

    def test_killing_cuts_what_is_under_way(self):
        made = self.make()
        connection = self.server.connection()
        connection.request("GET", "/forever", headers={"E2b-Sandbox-Id": made["id"], "E2b-Sandbox-Port": str(PORT)})
        answer = connection.getresponse()
        self.assertEqual(answer.read(5), b"begun")
        self.assertEqual(self.server.request("DELETE", f"/v1/sandboxes/{made['id']}").status, 204)
        with self.assertRaises(Exception):
            answer.read()
        connection.close()
        self.assertEqual(self.preview(made, "GET", "/").json()["message"], "The sandbox was not found")

    def test_private_ports_need_the_token(self):
        made = self.make(public_traffic=False, mask_request_host="app.test:${PORT}")
        for headers in ({}, {"E2b-Traffic-Access-Token": "wrong"}, {"X-Access-Token": made["access_token"]}):
            answer = self.preview(made, "GET", "/", headers=headers)
            self.assertEqual((answer.status, answer.json()["code"]), (403, 403))
        seen = self.seen_inside(made, headers={"E2b-Traffic-Access-Token": made["traffic_token"]})
        self.assertEqual(dict(seen["headers"])["Host"], f"app.test:{PORT}")
        self.assertNotIn(made["traffic_token"], json.dumps(seen))
        self.server.request("DELETE", f"/v1/sandboxes/{made['id']}")

    def test_a_paused_sandbox_wakes_where_it_was_asked_to(self):
        made = self.make(auto_resume=True)
        self.server.request("POST", f"/v1/sandboxes/{made['id']}/pause", {})
        self.assertEqual(self.preview(made, "GET", "/").status, 200)
        self.server.request("DELETE", f"/v1/sandboxes/{made['id']}")


class AsRootTest(Preview, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Preview, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
