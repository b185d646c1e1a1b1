"""envd's protocol by hand: what the npm package does not ask for, and what no honest client would."""
import base64
import hashlib
import json
import os
import socket
import threading
import time
import unittest

from support import paddock, server

JSON = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
STREAM = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}


def envelope(message, flags=0):
    text = json.dumps(message).encode()
    return bytes([flags]) + len(text).to_bytes(4, "big") + text


def setUpModule():
    global served
    served = server.Server("root" if os.geteuid() == 0 else "user")
    served.__enter__()


def tearDownModule():
    served.__exit__()


class Envd(unittest.TestCase):
    def setUp(self):
        self.sandbox = served.create(timeout=120)
        self.addCleanup(lambda: served.kill(self.sandbox["sandboxID"]))

    def headers(self, *more):
        merged = served.data_headers(self.sandbox)
        for headers in more:
            merged.update(headers)
        return merged

    def unary(self, method, message, **headers):
        return served.request("POST", f"/{method}", json.dumps(message).encode(), self.headers(JSON, headers))

    def stream(self, method, message, **headers):
        return served.request("POST", f"/{method}", envelope(message), self.headers(STREAM, headers))

    def open_stream(self, method, message, **headers):
        """The bare connection, its answer's head read."""
        connection = served.connection()
        connection.request("POST", f"/{method}", body=envelope(message), headers=self.headers(STREAM, headers))
        return connection, connection.getresponse()

    def test_watchers_collect_until_they_are_asked(self):
        served.run(self.sandbox, "mkdir watched")
        made = self.unary("filesystem.Filesystem/CreateWatcher", {"path": "watched", "recursive": True})
        self.assertEqual(made.status, 200, made)
        watcher = made.json()["watcherId"]
        served.run(self.sandbox, "echo x > watched/a.txt")
        events = []
        deadline = time.monotonic() + 15
        while not any(event["name"] == "a.txt" for event in events) and time.monotonic() < deadline:
            events += self.unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher}).json()["events"]
        self.assertIn("EVENT_TYPE_CREATE", [event["type"] for event in events if event["name"] == "a.txt"])
        self.assertEqual(self.unary("filesystem.Filesystem/RemoveWatcher", {"watcherId": watcher}).status, 200)
        gone = self.unary("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})
        self.assertEqual((gone.status, gone.json()["code"]), (404, "not_found"))
        missing = self.unary("filesystem.Filesystem/CreateWatcher", {"path": "/nowhere"})
        self.assertEqual(missing.json()["code"], "not_found")

    def test_watchers_are_not_without_number(self):
        for _ in range(24):
            self.assertEqual(self.unary("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}).status, 200)
        self.assertEqual(self.unary("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}).json()["code"], "resource_exhausted")

    def test_files_are_composed(self):
        for name in ("one", "two"):
            put = served.request("POST", f"/files?path={name}", name.encode(), self.headers({"Content-Type": "application/octet-stream"}))
            self.assertEqual(put.status, 200, put)
        done = self.unary("files/compose", {"source_paths": ["one", "two"], "destination": "all"})
        self.assertEqual(done.json(), {"path": "/home/user/all", "name": "all", "type": "file"})
        self.assertEqual(served.run(self.sandbox, "cat all; ls")[1], "onetwoall\n")

    def test_health_metrics_and_environment(self):
        self.assertEqual(served.request("GET", "/health", headers=self.headers()).status, 204)
        metrics = served.request("GET", "/metrics", headers=self.headers()).json()
        for name in ("ts", "cpu_count", "cpu_used_pct", "mem_total", "mem_used", "disk_used", "disk_total"):
            self.assertIn(name, metrics)
        self.assertIsInstance(served.request("GET", "/envs", headers=self.headers()).json(), dict)

    def test_nothing_but_health_without_the_token(self):
        wrong = {"X-Access-Token": "wrong"}
        self.assertEqual(served.request("GET", "/health", headers=self.headers(wrong)).status, 204)
        for path in ("/metrics", "/envs", "/files?path=/etc/passwd"):
            self.assertEqual(served.request("GET", path, headers=self.headers(wrong)).status, 401, path)
        for method in ("process.Process/List", "filesystem.Filesystem/Stat", "files/compose"):
            self.assertEqual(self.unary(method, {"path": "/"}, **wrong).status, 401, method)
        other = served.create(timeout=60)
        self.addCleanup(lambda: served.kill(other["sandboxID"]))
        self.assertEqual(self.unary("process.Process/List", {}, **{"X-Access-Token": other["envdAccessToken"]}).status, 401)

    def test_the_internal_routes_of_envd_are_not_there(self):
        for path in ("/init", "/freeze", "/unfreeze", "/upgrade", "/collapse"):
            self.assertEqual(self.unary(path[1:], {}).status, 404, path)

    def test_errors_of_streams_stand_in_the_last_envelope(self):
        answer = self.stream("process.Process/Connect", {"process": {"pid": 999999}})
        self.assertEqual(answer.status, 200)
        (flags, last), = served.envelopes(answer.body)
        self.assertEqual((flags, last["error"]["code"]), (2, "not_found"))
        answer = self.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["100"]}}, **{"Connect-Timeout-Ms": "300"})
        self.assertEqual([message for _, message in served.envelopes(answer.body)][-1]["error"]["code"], "deadline_exceeded")

    def test_errors_of_input_signals_and_terminals(self):
        connection, answer = self.open_stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["100"]}, "stdin": False})
        pid = json.loads(self.read_envelope(answer))["event"]["start"]["pid"]
        chosen = {"process": {"pid": pid}}
        code = lambda method, message: self.unary(f"process.Process/{method}", message).json().get("code")
        self.assertEqual(code("SendInput", {**chosen, "input": {"stdin": base64.b64encode(b"x").decode()}}), "internal")
        self.assertEqual(code("SendInput", {**chosen, "input": {"pty": base64.b64encode(b"x").decode()}}), "internal")
        self.assertEqual(code("SendInput", {**chosen, "input": {"stdin": "not base64!"}}), "invalid_argument")
        self.assertEqual(code("Update", {**chosen, "pty": {"size": {"cols": 1, "rows": 1}}}), "internal")
        self.assertEqual(code("SendSignal", {**chosen, "signal": "SIGNAL_SIGHUP"}), "unimplemented")
        self.assertEqual(code("SendSignal", {"signal": "SIGNAL_SIGKILL"}), "invalid_argument")
        self.assertEqual(code("StreamInput", {}), "unimplemented")
        self.assertIsNone(code("SendSignal", {**chosen, "signal": "SIGNAL_SIGTERM"}))
        end = json.loads(self.read_envelope(answer))["event"]["end"]
        self.assertEqual(end, {"exitCode": -1, "exited": False, "status": "signal: terminated", "error": "signal: terminated"})
        connection.close()

    @staticmethod
    def read_envelope(answer):
        head = answer.read(5)
        return answer.read(int.from_bytes(head[1:], "big"))

    def test_a_silent_stream_is_kept_alive(self):
        connection, answer = self.open_stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["100"]}}, **{"Keepalive-Ping-Interval": "1"})
        self.read_envelope(answer)
        self.assertEqual(json.loads(self.read_envelope(answer)), {"event": {"keepalive": {}}})
        connection.close()

    def test_tags_select_processes(self):
        connection, answer = self.open_stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["100"]}, "tag": "mine"})
        self.read_envelope(answer)
        listed = self.unary("process.Process/List", {}).json()["processes"]
        self.assertEqual([process["tag"] for process in listed], ["mine"])
        self.assertEqual(self.unary("process.Process/SendSignal", {"process": {"tag": "mine"}, "signal": "SIGNAL_SIGKILL"}).status, 200)
        connection.close()

    def test_garbage_is_refused_and_harms_nobody(self):
        for body in (b"", b"\0", b"\0\xff\xff\xff\xff{}", envelope({}, flags=1), envelope({}) + envelope({}), b"\0\0\0\0\x03{x}"):
            answer = served.request("POST", "/process.Process/Start", body, self.headers(STREAM))
            self.assertEqual(answer.status, 200, body)
            self.assertEqual([message["error"]["code"] for _, message in served.envelopes(answer.body)], ["invalid_argument"], body)
        for body in (b"[]", b"nonsense", b'{"a":1,"a":2}', b"\xff\xfe"):
            self.assertEqual(served.request("POST", "/filesystem.Filesystem/Stat", body, self.headers(JSON)).status, 400, body)
        self.assertEqual(served.request("POST", "/process.Process/List", b"\x08\x01", self.headers({"Content-Type": "application/proto"})).status, 415)
        self.assertEqual(served.run(self.sandbox, "echo alive")[1], "alive\n")

    def test_a_killed_sandbox_cuts_what_streams_and_is_not_found(self):
        connection, answer = self.open_stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["100"]}})
        self.read_envelope(answer)
        self.assertEqual(served.kill(self.sandbox["sandboxID"]), 204)
        with self.assertRaises(Exception):
            if not answer.read():  # an end without the last chunk is an error to http.client only when it reads on
                raise ConnectionError
        gone = served.request("GET", "/health", headers=self.headers())
        self.assertEqual((gone.status, gone.json()), (502, {"sandboxId": self.sandbox["sandboxID"], "message": "The sandbox was not found", "code": 502}))
        connection.close()

    def test_a_client_that_reads_slowly_stops_only_its_own_command(self):
        slow = socket.create_connection(("127.0.0.1", served.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        message = envelope({"process": {"cmd": "/bin/sh", "args": ["-c", "yes 0123456789 | head -c 400000000; echo end > /tmp/written"]}})
        lines = [f"POST /process.Process/Start HTTP/1.1", "Host: x", f"Content-Length: {len(message)}", *[f"{name}: {value}" for name, value in self.headers(STREAM).items()]]
        slow.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + message)
        time.sleep(1)
        self.assertEqual(served.run(self.sandbox, "echo quick")[1], "quick\n")
        with open(f"/proc/{served.process.pid}/status") as status:
            resident = int(next(line for line in status if line.startswith("VmRSS:")).split()[1])
        self.assertLess(resident, paddock.resident(200 << 10), "the server keeps what the client does not take")
        self.assertEqual(served.run(self.sandbox, "cat /tmp/written 2>/dev/null || echo waiting")[1], "waiting\n")
        slow.close()
        deadline = time.monotonic() + 60  # nobody listens any more: it runs on, its output dropped
        while served.run(self.sandbox, "cat /tmp/written 2>/dev/null || echo waiting")[1] != "end\n":
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_a_client_that_vanishes_in_the_middle_of_an_upload(self):
        for _ in range(5):
            client = socket.create_connection(("127.0.0.1", served.port))
            lines = ["POST /files?path=half.bin HTTP/1.1", "Host: x", "Content-Length: 100000000", "Content-Type: application/octet-stream",
                     *[f"{name}: {value}" for name, value in self.headers().items()]]
            client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + b"x" * 1_000_000)
            client.close()
        self.assertEqual(served.run(self.sandbox, "echo alive")[1], "alive\n")

    def test_uploads_side_by_side_with_everything_else(self):
        failures = []

        def upload(number):
            body = bytes([number]) * 5_000_000
            answer = served.request("POST", f"/files?path=up{number}", body, self.headers({"Content-Type": "application/octet-stream"}))
            read = served.request("GET", f"/files?path=up{number}", headers=self.headers())
            if answer.status != 200 or hashlib.sha256(read.body).digest() != hashlib.sha256(body).digest():
                failures.append(number)

        threads = [threading.Thread(target=upload, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_what_uploads_refuse(self):
        post = lambda path, body, **headers: served.request("POST", path, body, self.headers(headers))
        self.assertEqual(post("/files?path=x", b"x", **{"Content-Type": "text/plain"}).status, 400)
        self.assertEqual(post("/files", b"x", **{"Content-Type": "application/octet-stream"}).status, 400)
        self.assertEqual(post("/files?path=x", b"not gzip", **{"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}).status, 400)
        self.assertEqual(post("/files?path=x", b"x", **{"Content-Type": "application/octet-stream", "Content-Encoding": "br"}).status, 400)
        twice = b"".join(b'--b\r\nContent-Disposition: form-data; name="file"; filename="same"\r\n\r\nx\r\n' for _ in range(2)) + b"--b--\r\n"
        self.assertEqual(post("/files", twice, **{"Content-Type": "multipart/form-data; boundary=b"}).status, 400)
        self.assertEqual(post("/files", twice[:40], **{"Content-Type": "multipart/form-data; boundary=b"}).status, 400)
        self.assertEqual(served.request("GET", "/files?path=x", headers=self.headers({"Accept-Encoding": "identity;q=0"})).status, 406)

    def test_another_tenant_sees_nothing(self):
        other = served.new_key("--tenant", "other")
        identity = self.sandbox["sandboxID"]
        for method, path, body in (("GET", f"/sandboxes/{identity}", None), ("DELETE", f"/sandboxes/{identity}", None), ("POST", f"/sandboxes/{identity}/pause", {}),
                                   ("POST", f"/v2/sandboxes/{identity}/connect", {}), ("POST", f"/sandboxes/{identity}/timeout", {"timeout": 1}),
                                   ("POST", f"/sandboxes/{identity}/snapshots", {}), ("POST", f"/sandboxes/{identity}/fork", {}),
                                   ("PUT", f"/sandboxes/{identity}/network", {}), ("GET", f"/sandboxes/{identity}/metrics", None), ("GET", f"/sandboxes/{identity}/logs", None)):
            answer = served.request(method, path, body, key=other)
            self.assertEqual((answer.status, answer.json()["code"]), (404, 404), (method, path, answer))
        self.assertEqual(served.request("GET", "/v2/sandboxes", key=other).json(), [])
        bulk = served.request("GET", f"/sandboxes/metrics?sandbox_ids={identity}", key=other)
        self.assertEqual(bulk.json(), {"sandboxes": {}})
        volume = served.request("POST", "/volumes", {"name": "theirs"}).json()
        self.assertEqual(served.request("GET", f"/volumes/{volume['volumeID']}", key=other).status, 404)
        self.assertEqual(served.request("GET", f"/volumecontent/{volume['volumeID']}/dir?path=/", key=other).status, 401)
        self.assertEqual(served.request("DELETE", f"/volumes/{volume['volumeID']}").status, 204)

    def test_ids_that_cannot_be(self):
        for identity in ("..%2f..%2fetc", "%2e%2e", "a%0ab", "a%00b", "x" * 300):
            answer = served.request("GET", f"/sandboxes/{identity}")
            self.assertIn(answer.status, (400, 404), identity)
        for identity in ("../x", "a b", "UPPER", ""):
            answer = served.request("GET", "/health", headers={"E2b-Sandbox-Id": identity})
            self.assertIn(answer.status, (400, 502), identity)


if __name__ == "__main__":
    paddock.main()
