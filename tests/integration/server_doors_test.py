"""What a request can do to the server before, and besides, what it asks for: nobody waits long for somebody else's body, no body is
read for a stranger, and no call is given more than the operator granted."""
import base64
import gzip
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import unittest

from support import mcp, paddock
from support.server import Served, ServedSandbox, Server

PATIENCE = 5.0  # generous: what is tested here took half a minute, on an idle machine


class Watch:
    """Asks all the time whether the server answers, and remembers the longest wait."""

    def __init__(self, server):
        self.server, self.worst, self.stopped = server, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.stopped.is_set():
            began = time.monotonic()
            self.server.request("GET", "/health")
            self.worst = max(self.worst, time.monotonic() - began)
            time.sleep(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


class Patience(ServedSandbox, unittest.TestCase):
    """One request, however it is made, does not keep the others waiting."""
    user = "root"

    @classmethod
    def prepare(cls):
        cls.sandbox = cls.server.create(timeout=600)

    def nobody_waits(self, *arguments, **options):
        with Watch(self.server) as watch:
            answer = self.server.request(*arguments, **options)
        self.assertLess(watch.worst, PATIENCE, answer)
        return answer

    def upload(self, body, kind, compressed=False):
        headers = {**self.server.data_headers(self.sandbox), "Content-Type": kind}
        if compressed:
            headers["Content-Encoding"] = "gzip"
        return self.nobody_waits("POST", "/files?path=/tmp/x", body, headers)

    def test_a_small_body_that_becomes_large(self):
        zeros = gzip.compress(b"\0" * (16 << 20), 9)
        body = gzip.compress(b'--xx\r\nContent-Disposition: form-data; name="other"\r\n\r\n') + zeros * 60 + gzip.compress(b"\r\n--xx--\r\n")
        self.assertEqual(self.upload(body, "multipart/form-data; boundary=xx", True).status, 200)

    def test_many_streams_of_nothing(self):
        self.assertEqual(self.upload(gzip.compress(b"") * 200_000, "application/octet-stream", True).status, 200)

    @unittest.skipIf(paddock.SANITIZED, "without optimization coroutines that never wait call each other, and the stack is finite")
    def test_many_parts(self):
        body = b'--xx\r\nContent-Disposition: form-data; name="o"\r\n\r\n\r\n' * 90_000 + b"--xx--\r\n"
        self.assertEqual(self.upload(body, "multipart/form-data; boundary=xx").status, 200)

    def test_a_tool_call_of_many_members(self):
        for arguments in ({f"m{i}": i for i in range(150_000)}, {"env": {f"M{i}": "x" for i in range(150_000)}}, {"allow_hosts": ["a.example"] * 150_000}):
            answer = self.nobody_waits("POST", "/v1/tools/create_sandbox/call", {"arguments": arguments})
            self.assertEqual(answer.status, 403, answer)
            self.assertIn("calls.values", answer.json()["message"])

    def test_a_policy_of_many_entries(self):
        network = f"/v1/sandboxes/{self.sandbox['sandboxID']}/network"
        inject = [{"host": f"h{i}.example", "header": "x", "secret": "abc-def-123"} for i in range(14_000)]
        for body in ({"inject": inject}, {"allow": [f"h{i}.example" for i in range(40_000)]}):
            self.assertEqual(self.nobody_waits("PUT", network, body).status, 400)
            self.assertEqual(self.nobody_waits("POST", "/v1/sandboxes", {"policy": {"network": body}}).status, 400)
        self.assertEqual(self.nobody_waits("POST", "/v1/sandboxes", {"policy": ["strict"] * 90_000}).status, 400)

    def test_an_upload_for_a_template(self):
        body = os.urandom(1 << 20) * 200
        answer = self.nobody_waits("PUT", f"/v1/templates/files/{'a' * 64}", body)
        self.assertLess(answer.status, 300, answer)


class Strangers(Served, unittest.TestCase):
    """Who shows no key or token has no body read."""
    user = "root"

    def unfinished(self, head):
        """A connection with a request of which half the body is there."""
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=30)
        self.addCleanup(connection.close)
        connection.sendall(head + b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" + b" " * 500_000)
        return connection

    def test_the_token_comes_first(self):
        for method, path in (("PATCH", "/volumecontent/x/path?path=/a"), ("PUT", "/volumecontent/x/file?path=/a"), ("PUT", "/templates/upload/x"),
                             ("POST", "/v1/sandboxes"), ("POST", "/v2/sandboxes"), ("POST", "/mcp"), ("POST", "/v1/tools/run_code/call")):
            with self.subTest(path):
                connection = self.unfinished(f"{method} {path} HTTP/1.1\r\n".encode())
                status = connection.recv(100).split(b" ")[1]
                self.assertIn(status, (b"401", b"404"))

    def test_unfinished_bodies_leave_room_for_others(self):
        for _ in range(300):
            self.unfinished(b"PATCH /volumecontent/x/path HTTP/1.1\r\n")
        self.assertEqual(self.server.request("POST", "/v1/sandboxes/none/timeout", {"timeout_ms": 1}).status, 404)

    def test_a_key_has_its_share(self):
        greedy = self.server.new_key()
        for _ in range(160):
            self.unfinished(f"POST /v1/sandboxes HTTP/1.1\r\nX-API-Key: {greedy}\r\n".encode())
        deadline = time.monotonic() + 30
        status = None
        while status != 429 and time.monotonic() < deadline:  # until all of it was read
            status = self.server.request("POST", "/v1/sandboxes/none/timeout", {"timeout_ms": 1, "x": "y" * 700_000}, key=greedy).status
        self.assertEqual(status, 429)
        self.assertEqual(self.server.request("POST", "/v1/sandboxes/none/timeout", {"timeout_ms": 1}).status, 404)


class Narrowing(unittest.TestCase):
    """A call is given at most what the operator granted."""

    def policy(self, text):
        folder = paddock.folder("root")
        self.addCleanup(shutil.rmtree, folder, True)
        path = os.path.join(folder, "policy.toml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_no_call_reads_the_servers_environment(self):
        with Server(env={"OPERATOR_TOKEN": "sesame-open-0001"}) as server:
            rules = {"good.example": [{"transform": {"headers": {"X-Leak": "OPERATOR_TOKEN"}}}]}
            made = server.create(network={"rules": rules})
            policy = server.request("GET", f"/v1/sandboxes/{made['sandboxID']}").json()["policy"]
            self.assertNotIn("env:", json.dumps(policy))
            for secret in ("OPERATOR_TOKEN", "env:OPERATOR_TOKEN", "file:/etc/passwd"):
                inject = [{"host": "good.example", "header": "x", "secret": secret}]
                body = {"policy": {"network": {"allow": ["good.example"], "inject": inject}}}
                self.assertEqual(server.request("POST", "/v1/sandboxes", body).status, 403, secret)

    def test_a_network_that_nobody_granted_is_not_there(self):
        with Server(arguments=["--policy", self.policy('[limits]\nmemory = "512M"\n')]) as server:
            for asked in ({"allow_net": ["evil.example"]}, {"limits": {"pids": 100_000}}):
                answer = server.request("POST", "/v1/sandboxes", asked)
                self.assertGreaterEqual(answer.status, 400, answer)

    def test_the_operators_headers_do_not_stop_the_server(self):
        text = ('[network]\nallow = ["api.example.com", "pypi.org"]\n'
                '[[network.inject]]\nhost = "api.example.com"\nheader = "x-key"\nsecret = "env:SOME_KEY"\n')
        with Server(arguments=["--policy", self.policy(text)], env={"SOME_KEY": "sesame-open-0001"}) as server:
            for hosts, count in (([], 0), (["pypi.org"], 0), (["api.example.com"], 1)):
                made = server.request("POST", "/v1/sandboxes", {"allow_net": hosts})
                self.assertEqual(made.status, 201, made)
                policy = server.request("GET", f"/v1/sandboxes/{made.json()['id']}").json()["policy"]
                self.assertEqual(len(policy.get("network", {}).get("inject", [])), count, hosts)

    def test_who_may_only_read_sees_no_variables(self):
        text = '[env.set]\nPLAIN = "sesame-open-0001"\n[network]\nallow = []\n'
        with Server(arguments=["--policy", self.policy(text)]) as server:
            made = server.request("POST", "/v1/sandboxes", {"policy": {"env": {"set": {"MINE": "sesame-open-0002"}}}}).json()
            seen = server.request("GET", f"/v1/sandboxes/{made['id']}", key=server.new_key("--scope", "read"))
            self.assertEqual(seen.status, 200, seen)
            self.assertNotIn(b"sesame", seen.body)
            self.assertIn(b"PLAIN", seen.body)
            self.assertIn(b"sesame-open-0002", server.request("GET", f"/v1/sandboxes/{made['id']}").body)

    def mcp(self, *arguments):
        state = paddock.state_folder(self, "root")
        process = paddock.popen("mcp", *arguments, user="root", env={"PADDOCK_STATE": state}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        client = mcp.Stdio(process)
        self.addCleanup(client.close)
        return client.open()

    def hosts_given(self, client, *asked):
        result = client.tool("create_sandbox", allow_hosts=list(asked))
        if result.get("isError"):
            return []
        given = result["structuredContent"]
        if len(given["allow_hosts"]) < len(asked):
            self.assertTrue(given["notes"], given)
        return given["allow_hosts"]

    def test_a_model_cannot_open_the_network_by_itself(self):
        workspace = paddock.folder("root")
        self.addCleanup(shutil.rmtree, workspace, True)
        client = self.mcp("--workspace", f"{workspace}:rw")
        for asked in ("*", "evil.example", "0.0.0.0/0"):
            self.assertEqual(self.hosts_given(client, asked), [])

    def test_a_model_can_ask_for_less(self):
        client = self.mcp("--allow-net", "*.example.com", "--allow-net", "localhost:8099")
        self.assertEqual(self.hosts_given(client, "api.example.com"), ["api.example.com"])
        self.assertLessEqual(set(self.hosts_given(client, "*")), {"*.example.com", "localhost:8099"})
        self.assertEqual(self.hosts_given(client, "localhost:8099"), ["localhost:8099"])
        self.assertNotIn("other.example", self.hosts_given(client, "localhost:8099", "other.example"))


class Previews(ServedSandbox, unittest.TestCase):
    user = "root"

    @classmethod
    def prepare(cls):
        cls.sandbox = cls.server.create(timeout=600)
        program = ("import http.server,json\n"
                   "class H(http.server.BaseHTTPRequestHandler):\n"
                   "  def do_GET(s):\n"
                   "    b=json.dumps(dict(s.headers)).encode(); s.send_response(200); s.send_header('Content-Length',str(len(b))); s.end_headers(); s.wfile.write(b)\n"
                   "http.server.HTTPServer(('127.0.0.1',3000),H).serve_forever()")
        cls.server.run(cls.sandbox, f"echo {base64.b64encode(program.encode()).decode()} | base64 -d > /tmp/s.py; (setsid python3 /tmp/s.py >/dev/null 2>&1 &) ; "
                                    "for i in $(seq 100); do curl -s --noproxy '*' -o /dev/null http://127.0.0.1:3000/ && break; sleep 0.1; done")

    def seen(self, authorization):
        headers = {"E2b-Sandbox-Id": self.sandbox["sandboxID"], "E2b-Sandbox-Port": "3000", "Authorization": authorization}
        answer = self.server.request("GET", "/", headers=headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json().get("Authorization")

    def test_our_keys_stay_outside(self):
        def basic(pair):
            return "Basic " + base64.b64encode(pair.encode()).decode()
        for shown in (f"Bearer {self.server.key}", basic(f"user:{self.server.key}"), basic(f"{self.server.key}:"), "basic  " + basic(f"x:{self.server.key}")[6:]):
            self.assertIsNone(self.seen(shown), shown)
        self.assertEqual(self.seen(basic("ann:secret")), basic("ann:secret"))


if __name__ == "__main__":
    unittest.main()
