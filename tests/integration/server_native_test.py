"""The native API with real sandboxes: exec in its three ways, terminals, files, tenants."""
import base64
import io
import json
import os
import socket
import tarfile
import unittest

from support import paddock
from support.server import Server, until
from support.websocket import WebSocket


class Native:
    """Mixed into a TestCase once per user."""
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        cls.sandbox = cls.make()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @classmethod
    def make(cls, key=None, **body):
        answer = cls.server.request("POST", "/v1/sandboxes", body, key=key)
        assert answer.status == 201, answer
        return answer.json()

    def url(self, rest="", sandbox=None):
        return f"/v1/sandboxes/{(sandbox or self.sandbox)['id']}{rest}"

    def ask(self, method, rest="", body=None, sandbox=None, **options):
        return self.server.request(method, self.url(rest, sandbox), body, **options)

    def run_in(self, command, sandbox=None, **options):
        answer = self.ask("POST", "/exec?wait=1", {"command": command, **options}, sandbox)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def websocket(self, rest, sandbox=None):
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        self.addCleanup(sock.close)
        return WebSocket(sock, self.url(rest, sandbox), {"X-API-Key": self.server.key})

    # ---- sandboxes

    def test_a_sandbox_tells_of_itself(self):
        made = self.make(name="teller", metadata={"a": "b"}, env={"X": "y"}, limits={"memory": "256M"}, timeout_ms=60000)
        seen = self.ask("GET", sandbox={"id": "teller"}).json()
        self.assertEqual(seen["id"], made["id"])
        self.assertEqual((seen["state"], seen["metadata"], seen["env"], seen["memory_bytes"]), ("running", {"a": "b"}, {"X": "y"}, 256 << 20))
        self.assertIn("memory", json.dumps(seen["enforced"]))
        self.assertEqual(self.run_in("echo $X", made)["stdout"], "y\n")
        found = self.server.request("GET", "/v1/sandboxes?metadata.a=b&state=running").json()["sandboxes"]
        self.assertEqual([one["id"] for one in found], [made["id"]])
        self.assertEqual(self.ask("POST", "/timeout", {"timeout_ms": 120000}, made).status, 204)
        self.assertGreater(self.ask("GET", sandbox=made).json()["ends_ms"], seen["ends_ms"])
        self.assertEqual(self.ask("DELETE", sandbox=made).status, 204)
        self.assertEqual(self.ask("GET", sandbox=made).status, 404)

    def test_what_is_not_understood_is_refused_with_a_hint(self):
        for body, word in (({"templat": "base"}, "template"), ({"timeout_ms": "soon"}, "timeout_ms"), ({"limits": {"memry": "1M"}}, "memory"), ({"policy": "nonsense"}, "nonsense"),
                           ({"volumes": [{"name": "x"}]}, "path"), ([], "object"), ({"on_timeout": "sleep"}, "on_timeout")):
            answer = self.server.request("POST", "/v1/sandboxes", body)
            self.assertIn(answer.status, (400, 404), body)
            self.assertIn(word, answer.body.decode(), body)

    def test_a_call_has_no_wall_but_those_that_the_operator_enabled(self):
        for isolation, status, words in (({"wall": "runc"}, 403, "[isolation] walls = ["), ({"walls": ["runc"]}, 403, "isolation.walls"),
                                         ({"at_least": "vm"}, 400, "no wall as strong as 'vm'")):
            answer = self.server.request("POST", "/v1/sandboxes", {"policy": {"isolation": isolation}})
            self.assertEqual(answer.status, status, answer.body)
            self.assertIn(words, json.dumps(answer.json()), isolation)
        self.assertEqual(self.ask("GET").json()["policy"]["isolation"]["wall"], "container")

    def test_pause_and_resume_keep_what_runs(self):
        made = self.make()
        self.run_in("(while :; do date +%s%N > /home/user/tick; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.2", made)
        paused = self.ask("POST", "/pause", {}, made)
        self.assertEqual((paused.status, paused.json()["state"]), (200, "paused"))
        self.assertEqual(self.ask("POST", "/pause", {}, made).status, 200)
        refused = self.ask("POST", "/exec?wait=1", {"command": "true"}, made)
        self.assertEqual((refused.status, refused.json()["error"]), (409, "conflict"))
        self.assertEqual(self.ask("POST", "/resume", {}, made).json()["state"], "running")
        before = self.run_in("cat /home/user/tick", made)["stdout"]
        self.assertTrue(until(lambda: self.run_in("cat /home/user/tick", made)["stdout"] != before))
        self.ask("DELETE", sandbox=made)

    def test_snapshots_and_forks_have_the_files(self):
        made = self.make()
        self.run_in("echo kept > /home/user/file", made)
        snapshot = self.ask("POST", "/snapshots", {"name": "mine"}, made)
        self.assertEqual(snapshot.status, 201, snapshot)
        self.assertIn(snapshot.json()["id"], [one["id"] for one in self.server.request("GET", "/v1/snapshots").json()["snapshots"]])
        other = self.make(template=snapshot.json()["id"])
        self.assertEqual(self.run_in("cat /home/user/file", other)["stdout"], "kept\n")
        forked = self.ask("POST", "/fork", {"count": 2}, made)
        self.assertEqual(forked.status, 201, forked)
        copies = [one["sandbox"] for one in forked.json()["sandboxes"]]
        self.assertEqual([self.run_in("cat /home/user/file", one)["stdout"] for one in copies], ["kept\n"] * 2)
        for one in [made, other] + copies:
            self.assertEqual(self.ask("DELETE", sandbox=one).status, 204)

    def test_volumes_outlive_sandboxes(self):
        made = self.server.request("POST", "/v1/volumes", {"name": "shared"})
        self.assertEqual(made.status, 201, made)
        one = self.make(volumes=[{"name": "shared", "path": "/mnt/v"}])
        self.assertEqual(self.run_in("echo x > /mnt/v/f", one)["outcome"], {"kind": "exited", "code": 0})
        self.ask("DELETE", sandbox=one)
        two = self.make(volumes=[{"name": "shared", "path": "/mnt/v", "read_only": True}])
        self.assertEqual(self.run_in("cat /mnt/v/f; echo y > /mnt/v/f", two)["stdout"], "x\n")
        self.assertEqual(self.server.request("DELETE", "/v1/volumes/shared").status, 409)
        self.ask("DELETE", sandbox=two)
        self.assertEqual(self.server.request("DELETE", "/v1/volumes/shared").status, 204)
        self.assertEqual(self.server.request("GET", "/v1/volumes").json()["volumes"], [])

    # ---- commands

    def test_output_comes_in_lines_of_json_with_an_end(self):
        answer = self.ask("POST", "/exec", {"argv": ["bash", "-c", r"echo out; echo err >&2; printf '\xff'; exit 7"]})
        events = answer.lines()
        self.assertEqual(answer.headers["Content-Type"], "application/x-ndjson")
        self.assertEqual(events[0]["type"], "start")
        self.assertGreater(events[0]["pid"], 0)
        text = "".join(event.get("data", "") for event in events if event["type"] == "stdout")
        raw = b"".join(base64.b64decode(event["base64"]) if "base64" in event else event["data"].encode() for event in events if event["type"] == "stdout")
        self.assertIn("out\n", text + raw.decode(errors="replace"))
        self.assertEqual(raw, b"out\n\xff")
        self.assertEqual([event["data"] for event in events if event["type"] == "stderr"], ["err\n"])
        self.assertEqual(events[-1], {"type": "end", "outcome": {"kind": "exited", "code": 7}, "redactions": 0})

    def test_one_object_when_waited_for(self):
        done = self.run_in("cat; echo $A; pwd", stdin="given ", env={"A": "b"}, cwd="/tmp")
        self.assertEqual((done["stdout"], done["outcome"]), ("given b\n/tmp\n", {"kind": "exited", "code": 0}))
        self.assertEqual(self.run_in("kill -TERM $$")["outcome"], {"kind": "signaled", "signal": "SIGTERM"})
        self.assertEqual(self.run_in("sleep 100", timeout_ms=100)["outcome"]["limit"], "wall_time")
        big = self.run_in("head -c 3000000 /dev/zero | tr '\\0' x")
        self.assertEqual((len(big["stdout"]), big["stdout_truncated"]), (1 << 20, True))

    def test_commands_that_cannot_start_say_why(self):
        answer = self.ask("POST", "/exec", {"argv": ["/no/such/program"]})
        self.assertEqual((answer.status, answer.json()["error"]), (404, "not_found"))
        for body in ({}, {"argv": []}, {"argv": ["x"], "command": "y"}, {"argv": [1]}, {"command": "x", "cwd": "/nowhere"}, {"command": "x", "user": "nobody-here"}):
            self.assertEqual(self.ask("POST", "/exec", body).status, 400, body)

    def test_a_command_that_takes_too_much_memory_says_so(self):
        made = self.make(limits={"memory": "128M"})
        done = self.run_in("exec python3 -c 'x = bytearray(400 << 20); print(len(x))'", made)
        self.assertEqual((done["outcome"]["kind"], done["outcome"].get("limit")), ("limit", "memory"), done)
        self.ask("DELETE", sandbox=made)

    def test_a_command_ends_with_the_client_that_wanted_it(self):
        head = json.dumps({"command": "echo $$ > /tmp/pid; exec sleep 1000"}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as sock:
            sock.sendall(f"POST {self.url('/exec')} HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.server.key}\r\nContent-Length: {len(head)}\r\n\r\n".encode() + head)
            self.assertIn(b"200 OK", sock.recv(100))
            self.assertTrue(until(lambda: "sleep" in self.run_in("ps ax || true; cat /proc/$(cat /tmp/pid)/cmdline")["stdout"]))
        self.assertTrue(until(lambda: self.run_in("test -e /proc/$(cat /tmp/pid) || echo gone")["stdout"] == "gone\n"))

    def test_a_command_in_the_background_lives_on(self):
        events = self.ask("POST", "/exec", {"command": "exec sleep 1000", "background": True}).lines()
        self.assertEqual([event["type"] for event in events], ["start"])
        pid = events[0]["pid"]
        self.assertIn(pid, [one["pid"] for one in self.ask("GET", "/processes").json()["processes"]])
        self.assertEqual(self.ask("POST", f"/processes/{pid}/signal", {"signal": "SIGKILL"}).status, 204)
        self.assertTrue(until(lambda: pid not in [one["pid"] for one in self.ask("GET", "/processes").json()["processes"]]))
        self.assertEqual(self.ask("POST", f"/processes/{pid}/signal", {}).status, 404)

    def test_a_stream_ends_with_an_error_when_the_sandbox_is_killed(self):
        made = self.make()
        connection = self.server.connection()
        connection.request("POST", self.url("/exec", made), json.dumps({"command": "sleep 1000"}), {"X-API-Key": self.server.key})
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "start")
        self.ask("DELETE", sandbox=made)
        self.assertEqual(json.loads(answer.readline())["type"], "error")
        connection.close()

    # ---- WebSockets

    def test_commands_over_a_websocket(self):
        session = self.websocket("/exec/ws")
        session.send_json({"argv": ["cat"], "stdin": True})
        session.send_input(b"one ")
        session.send_frame(9, b"are you there")
        session.send_frame(2, b"\0two", last=False)
        session.send_frame(0, b" three", last=True)
        session.send_json({"type": "close_stdin"})
        events, streams, code = session.until_closed()
        self.assertEqual((streams[1], code), (b"one two three", 1000))
        self.assertEqual([event["type"] for event in events], ["start", "end"])
        self.assertEqual(events[1]["outcome"], {"kind": "exited", "code": 0})

    def test_terminals_over_a_websocket(self):
        session = self.websocket("/exec/ws")
        session.send_json({"argv": ["bash", "--norc"], "stdin": True, "terminal": {"rows": 33, "columns": 101}})
        session.send_input(b"stty size; test -t 0 && echo is-a-tty; echo $((1000 + 1))\n")
        seen = b""
        while b"\n1001" not in seen:
            opcode, payload = session.receive()
            seen += payload[1:] if opcode == 2 else b""
        self.assertIn(b"33 101", seen)
        self.assertIn(b"is-a-tty\r\n", seen)
        session.send_json({"type": "resize", "rows": 44, "columns": 55})
        session.send_input(b"sleep 0.3; stty size; exit 5\n")
        events, streams, _ = session.until_closed()
        self.assertIn(b"44 55", streams[3])
        self.assertEqual(events[-1]["outcome"], {"kind": "exited", "code": 5})

    def test_signals_and_attaching_over_a_websocket(self):
        session = self.websocket("/exec/ws")
        session.send_json({"command": "echo begun; exec sleep 1000", "background": True})
        started = json.loads(session.receive()[1])
        self.assertEqual(session.receive(), (2, b"\1begun\n"))
        session.sock.close()
        other = self.websocket(f"/processes/{started['pid']}/ws")
        self.assertEqual(json.loads(other.receive()[1]), started)
        other.send_json({"type": "signal", "signal": "SIGINT"})
        events, _, _ = other.until_closed()
        self.assertEqual(events[-1]["outcome"], {"kind": "signaled", "signal": "SIGINT"})

    def test_a_client_of_a_websocket_that_goes_takes_its_command_along(self):
        session = self.websocket("/exec/ws")
        session.send_json({"command": "exec sleep 1000"})
        pid = json.loads(session.receive()[1])["pid"]
        session.sock.close()
        self.assertTrue(until(lambda: pid not in [one["pid"] for one in self.ask("GET", "/processes").json()["processes"]]))

    def test_websockets_that_break_the_rules_are_closed(self):
        for break_it, code in ((lambda s: s.send_frame(1, b"{}", masked=False), 1002), (lambda s: s.send_frame(1, b"\xff"), 1007), (lambda s: s.send_frame(2, b"x" * (2 << 20)), 1009),
                               (lambda s: s.send_frame(3, b""), 1002)):
            session = self.websocket("/exec/ws")
            try:
                break_it(session)
            except OSError:
                pass
            self.assertEqual(session.until_closed()[2], code)
        session = self.websocket("/exec/ws")
        session.send_json({"argv": "no list"})
        self.assertEqual(session.until_closed()[0][0]["error"]["code"], "invalid")
        self.assertEqual(self.ask("GET", "/exec/ws").status, 426)

    # ---- files

    def test_files_go_in_and_out_as_streams(self):
        content = os.urandom(5 << 20)
        put = self.ask("PUT", "/files?path=/home/user/a/b.bin&mode=640", content)
        self.assertEqual((put.status, put.json()["entry"]["size"], put.json()["entry"]["mode"]), (200, len(content), 0o640))
        got = self.ask("GET", "/files?path=/home/user/a/b.bin")
        self.assertEqual((got.body == content, got.headers["Content-Length"]), (True, str(len(content))))
        part = self.ask("GET", "/files?path=/home/user/a/b.bin", headers={"Range": "bytes=1000-1999"})
        self.assertEqual((part.status, part.body), (206, content[1000:2000]))
        self.assertEqual(part.headers["Content-Range"], f"bytes 1000-1999/{len(content)}")
        self.assertEqual(self.ask("GET", "/files?path=/home/user/a/b.bin", headers={"Range": "bytes=9999999-"}).status, 416)
        self.assertEqual(self.ask("POST", "/files/move", {"source": "/home/user/a/b.bin", "destination": "/home/user/c/d"}).status, 200)
        self.assertEqual(self.ask("GET", "/files?path=/home/user/a/b.bin").status, 404)
        self.assertEqual(self.ask("GET", "/files/stat?path=/home/user/c/d").json()["entry"]["size"], len(content))
        self.assertEqual(self.ask("DELETE", "/files?path=/home/user/c").status, 204)
        self.assertTrue(self.ask("GET", "/files?path=/proc/version").body.startswith(b"Linux"))
        self.assertEqual(self.ask("GET", "/files?path=/home/user").status, 400)

    def test_directories_are_listed_and_made(self):
        self.assertEqual(self.ask("POST", "/files/mkdir", {"path": "/home/user/dir/sub"}).status, 200)
        self.ask("PUT", "/files?path=/home/user/dir/sub/f", b"x")
        entries = self.ask("GET", "/files/list?path=/home/user/dir&depth=2").json()["entries"]
        self.assertEqual([one["path"] for one in entries], ["/home/user/dir/sub", "/home/user/dir/sub/f"])
        self.assertEqual(self.ask("GET", "/files/list?path=/home/user/nothing").status, 404)

    def test_trees_go_in_and_out_as_tar(self):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            for name, content in (("x/one", b"1"), ("x/two", b"22")):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        put = self.ask("PUT", "/tar?path=/home/user/t", data.getvalue())
        self.assertEqual(put.status, 200, put)
        got = self.ask("GET", "/tar?path=/home/user/t")
        with tarfile.open(fileobj=io.BytesIO(got.body)) as tar:
            self.assertEqual({member.name.strip("./"): tar.extractfile(member).read() for member in tar if member.isfile()}, {"x/one": b"1", "x/two": b"22"})

    def test_changes_are_told(self):
        self.ask("POST", "/files/mkdir", {"path": "/home/user/watched"})
        connection = self.server.connection()
        connection.request("GET", self.url("/files/watch?path=/home/user/watched&recursive=1"), headers={"X-API-Key": self.server.key})
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline()), {"type": "started"})
        self.ask("PUT", "/files?path=/home/user/watched/f", b"x")
        event = json.loads(answer.readline())
        self.assertEqual((event["name"], event["type"]), ("f", "create"))
        connection.close()

    def test_the_log_tells_what_happened(self):
        made = self.make()
        connection = self.server.connection()
        connection.request("GET", self.url("/logs?follow=1", made), headers={"X-API-Key": self.server.key})
        answer = connection.getresponse()
        self.ask("DELETE", sandbox=made)
        lines = answer.read().splitlines()
        self.assertTrue(lines)
        for line in lines:
            json.loads(line)
        connection.close()

    # ---- tenants

    def test_a_tenant_sees_nothing_of_another(self):
        other = self.server.new_key("--tenant", "other")
        mine = self.make(name="private")
        self.ask("POST", "/snapshots", {"name": "secret"}, mine)
        self.server.request("POST", "/v1/volumes", {"name": "hidden"})
        self.assertEqual(self.server.request("GET", "/v1/sandboxes", key=other).json()["sandboxes"], [])
        self.assertEqual(self.server.request("GET", "/v1/snapshots", key=other).json()["snapshots"], [])
        self.assertEqual(self.server.request("GET", "/v1/volumes", key=other).json()["volumes"], [])
        for method, rest, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/exec", {"command": "true"}), ("POST", "/pause", {}), ("POST", "/resume", {}), ("POST", "/fork", {}),
                                   ("POST", "/snapshots", {}), ("POST", "/timeout", {"timeout_ms": 1}), ("GET", "/files?path=/etc/passwd", None), ("PUT", "/files?path=/tmp/x", b"x"),
                                   ("GET", "/logs", None), ("GET", "/metrics", None), ("GET", "/exec/ws", None), ("GET", "/tar?path=/", None), ("GET", "/enforced", None)):
            for name in (mine["id"], "private"):
                answer = self.server.request(method, f"/v1/sandboxes/{name}{rest}", body, key=other)
                self.assertEqual(answer.status, 404, (method, rest, answer))
        self.assertIn(self.server.request("POST", "/v1/sandboxes", {"volumes": [{"name": "hidden", "path": "/v"}]}, key=other).status, (400, 404))
        self.assertEqual(self.server.request("DELETE", "/v1/volumes/hidden", key=other).status, 404)
        same_name = self.make(key=other, name="private")
        self.assertNotEqual(same_name["id"], mine["id"])
        self.assertEqual(self.server.request("DELETE", "/v1/sandboxes/private", key=other).status, 204)
        self.assertEqual(self.ask("DELETE", sandbox=mine).status, 204)
        self.server.request("DELETE", "/v1/volumes/hidden")

    def test_a_tenants_quota_holds(self):
        admin, small = self.server.new_key("--scope", "admin"), self.server.new_key("--tenant", "small")
        self.assertEqual(self.server.request("PUT", "/v1/tenants/small", {"quota": {"sandboxes": 1}}, key=admin).status, 200)
        one = self.make(key=small)
        refused = self.server.request("POST", "/v1/sandboxes", {}, key=small)
        self.assertEqual((refused.status, refused.json()["error"]), (429, "exhausted"))
        self.server.request("DELETE", f"/v1/sandboxes/{one['id']}", key=small)

    def test_who_may_only_look_gets_no_tokens(self):
        reader = self.server.new_key("--scope", "read")
        seen = self.ask("GET", key=reader).json()
        self.assertNotIn("access_token", seen)
        self.assertNotIn("env", seen)
        self.assertEqual(self.ask("GET", "/files?path=/etc/passwd", key=reader).status, 403)
        self.assertEqual(self.ask("GET", "/processes", key=reader).status, 403)
        self.assertNotIn("envdAccessToken", self.server.request("GET", f"/sandboxes/{seen['id']}", key=reader).json())


class AsRootTest(Native, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Native, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
