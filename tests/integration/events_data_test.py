"""What is done in living sandboxes is in the records, in order, before it is done; and what cannot be recorded is not done."""
import glob
import json
import os
import shutil
import socket
import subprocess
import unittest

from support import event_schema, paddock
from support.server import ServedSandbox, until
from support.websocket import WebSocket

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Recorded(ServedSandbox):
    body = dict(template="code-interpreter-v1")

    def e2b(self, sandbox=None):
        one = sandbox or self.sandbox
        return {"sandboxID": one["id"], "envdAccessToken": one["access_token"]}

    def records(self):
        lines = []
        for path in sorted(glob.glob(os.path.join(self.server.state, "audit/*.jsonl"))):
            with open(path) as file:
                lines += [json.loads(line) for line in file.read().splitlines()]
        return lines

    def since(self):
        """A function that gives what was recorded after this."""
        last = self.records()[-1]["seq"]
        return lambda *kinds: [record for record in self.records() if record["seq"] > last and (not kinds or record["kind"] in kinds)]

    def soon(self, new, kind, count=1):
        """Ends are noted: they come a moment later."""
        self.assertTrue(until(lambda: len(new(kind)) >= count, 30), new())
        return new(kind)

    def traced(self, span=PARENT):
        return {"traceparent": f"00-{TRACE}-{span}-01", "X-Paddock-Agent": "tester"}

    # ---- commands

    def test_a_command_from_start_to_end(self):
        new = self.since()
        self.ask("POST", "/exec?wait=1", {"argv": ["sh", "-c", "echo hi; exit 3"], "cwd": "/tmp", "user": "root", "env": {"NAME": "not to be recorded"}}, headers=self.traced())
        end = self.soon(new, "command.end")[0]
        start = new("command.start")[0]
        self.assertEqual((start["trace"], start["parent"], start["agent"], start["verdict"]), (TRACE, PARENT, "tester", "allow"))
        self.assertEqual((start["sandbox"], start["tenant"]), (self.sandbox["id"], "local"))
        data = start["data"]
        self.assertEqual((data["argv"], data["cwd"], data["user"], data["env"], data["terminal"], data["via"]),
                         (["sh", "-c", "echo hi; exit 3"], "/tmp", "root", ["NAME"], False, "exec"))
        self.assertEqual(len(data["policy"]), 64)
        self.assertEqual((end["span"], end["trace"], end["data"]["outcome"], end["data"]["stdout_bytes"]), (start["span"], TRACE, {"kind": "exited", "code": 3}, 3))
        self.assertGreater(end["duration_us"], 0)
        self.assertGreater(end["seq"], start["seq"])
        self.assertNotIn("not to be recorded", json.dumps(new()))

    def test_the_start_is_on_the_disk_before_it_happens(self):
        new = self.since()
        connection = self.server.connection()
        connection.request("POST", f"/v1/sandboxes/{self.sandbox['id']}/exec", json.dumps({"argv": ["sh", "-c", "echo started; sleep 600"]}), {"X-API-Key": self.server.key})
        answer = connection.getresponse()
        answer.readline()
        self.assertEqual(len(new("command.start")), 1)
        self.assertEqual(new("command.end"), [])
        answer.close()
        connection.close()
        end = self.soon(new, "command.end")[0]  # it ended with its client, and that is known
        self.assertEqual((end["data"]["outcome"], end["data"]["left_running"]), ({"kind": "signaled", "signal": "SIGKILL"}, True))

    def test_commands_in_the_background_are_followed_to_their_end(self):
        new = self.since()
        self.ask("POST", "/exec", {"argv": ["sh", "-c", "sleep 0.3; yes | head -c 3000000; exit 5"], "background": True})
        end = self.soon(new, "command.end")[0]
        self.assertEqual((end["data"]["outcome"], end["data"]["left_running"]), ({"kind": "exited", "code": 5}, True))

    def test_over_websocket_and_envd(self):
        new = self.since()
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        link = WebSocket(sock, f"/v1/sandboxes/{self.sandbox['id']}/exec/ws", {"X-API-Key": self.server.key, **self.traced()})
        link.send_json({"argv": ["true"], "terminal": {"rows": 5, "columns": 20}})
        link.until_closed()
        sock.close()
        self.assertEqual(self.server.run(self.e2b(), "exit 4")[0], 4)
        self.soon(new, "command.end", 2)
        first, second = new("command.start")
        self.assertEqual((first["data"]["via"], first["data"]["terminal"], first["trace"]), ("exec/ws", True, TRACE))
        self.assertEqual((second["data"]["via"], second["data"]["argv"][-1]), ("envd", "exit 4"))
        self.assertEqual([end["data"]["outcome"] for end in new("command.end")], [{"kind": "exited", "code": 0}, {"kind": "exited", "code": 4}])

    def test_what_does_not_start_and_what_its_sandbox_takes_along(self):
        made = self.make()
        new = self.since()
        self.ask("POST", "/exec", {"argv": ["/no/such"]}, made)
        self.assertEqual(self.soon(new, "command.end")[0]["data"]["outcome"]["kind"], "not_started")
        self.ask("POST", "/exec", {"argv": ["sleep", "600"], "background": True}, made)
        self.ask("DELETE", sandbox=made)
        self.assertEqual(self.soon(new, "command.end", 2)[1]["data"]["outcome"]["kind"], "unknown")

    def test_a_pause_is_no_end(self):
        made = self.make()
        new = self.since()
        self.ask("POST", "/exec", {"argv": ["sleep", "1"], "background": True}, made)
        self.ask("POST", "/pause", {}, made)
        self.ask("POST", "/resume", {}, made)
        self.assertEqual(self.soon(new, "command.end")[0]["data"]["outcome"], {"kind": "exited", "code": 0})
        self.ask("DELETE", sandbox=made)

    def test_long_arguments_are_cut_and_their_hash_stands(self):
        new = self.since()
        self.ask("POST", "/exec?wait=1", {"argv": ["true", "x" * 90000]})
        data = self.soon(new, "command.start")[0]["data"]
        self.assertEqual((data["argv_bytes"], len(data["argv_sha256"])), (90006, 64))
        self.assertLess(len(json.dumps(data)), 64 << 10)
        self.soon(new, "command.end")  # or the next test would find it

    # ---- code

    def test_cells(self):
        new = self.since()
        self.ask("POST", "/code", {"code": "x = 1\n" + "#" * 5000, "stream": False}, headers=self.traced())
        self.ask("POST", "/code", {"code": "1/0", "stream": False})
        headers = {**self.server.data_headers(self.e2b(), 49999), **self.traced()}
        self.server.request("POST", "/execute", json.dumps({"code": "2"}).encode(), headers)
        ends = self.soon(new, "code.end", 3)
        starts = new("code.start")
        self.assertEqual((starts[0]["data"]["language"], starts[0]["data"]["bytes"], starts[0]["trace"], starts[2]["trace"]), ("python", 5006, TRACE, TRACE))
        self.assertTrue(starts[0]["data"]["code"].startswith("x = 1\n###"))
        self.assertLess(len(starts[0]["data"]["code"]), 2100)
        self.assertEqual([end["data"]["outcome"] for end in ends], [{"kind": "done"}, {"kind": "error", "name": "ZeroDivisionError"}, {"kind": "done"}])

    # ---- files

    def test_files(self):
        new = self.since()
        headers = self.server.data_headers(self.e2b())
        self.ask("PUT", "/files?path=/tmp/a", b"12345")
        self.ask("POST", "/files/mkdir", {"path": "/tmp/d"})
        self.ask("POST", "/files/move", {"source": "/tmp/a", "destination": "/tmp/d/b"})
        self.ask("GET", "/files?path=/tmp/d/b")
        self.server.request("POST", "/files?path=/tmp/e", b"678", {**headers, "Content-Type": "application/octet-stream"})
        self.server.request("GET", "/files?path=/tmp/e", headers=headers)
        self.server.request("POST", "/filesystem.Filesystem/Remove", json.dumps({"path": "/tmp/e"}).encode(), {**headers, "Content-Type": "application/json"})
        self.ask("DELETE", "/files?path=/tmp/d")
        self.soon(new, "file.read", 2)
        writes = [record["data"] for record in new("file.write")]
        self.assertEqual([data["act"] for data in writes], ["upload", "mkdir", "move", "upload", "remove", "remove"])
        self.assertEqual((writes[0]["path"], writes[0]["bytes"], writes[2]["source"], writes[2]["destination"]), ("/tmp/a", 5, "/tmp/a", "/tmp/d/b"))
        self.assertEqual([(record["data"]["path"], record["data"]["bytes"]) for record in new("file.read")], [("/tmp/d/b", 5), ("/tmp/e", 3)])

    # ---- who may not

    def test_wrong_tokens(self):
        new = self.since()
        headers = {**self.server.data_headers(self.e2b()), "X-Access-Token": "wrong"}
        self.assertEqual(self.server.request("GET", "/files?path=/etc/passwd", headers=headers).status, 401)
        refused = self.soon(new, "auth.refused")[0]
        self.assertEqual((refused["sandbox"], refused["verdict"], refused["data"]["status"], refused["data"]["path"]), (self.sandbox["id"], "deny", 401, "/files"))
        self.assertNotIn("wrong", json.dumps({**refused, "data": {**refused["data"], "why": ""}}))

    # ---- all of them

    def test_all_are_as_the_document_says(self):
        for record in self.records():
            if record["kind"] in ("command.start", "command.end", "code.start", "code.end", "file.read", "file.write", "redaction", "auth.refused"):
                self.assertEqual(event_schema.problems(record), [], record)

    def test_a_server_that_is_killed_leaves_a_log_that_holds(self):
        made = self.make()
        for _ in range(3):
            connection = self.server.connection()
            connection.request("POST", f"/v1/sandboxes/{made['id']}/exec", json.dumps({"argv": ["sh", "-c", "while :; do echo x; done"]}), {"X-API-Key": self.server.key})
            connection.getresponse().readline()
            self.server.kill9()
            connection.close()
            self.server.start()
            verified = self.server.call("audit", "verify")
            self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.ask("DELETE", sandbox=made)

    def test_without_a_record_nothing_is_done(self):
        if self.user != "root":
            self.skipTest("needs root to mount a small disk")
        made = self.make()
        self.server.stop()
        audit = os.path.join(self.server.state, "audit")
        kept = audit + ".kept"
        shutil.copytree(audit, kept)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k,mode=0700", "tmpfs", audit], check=True)
        try:
            for name in os.listdir(kept):
                if not name.endswith(".jsonl") and name not in ("head", "index.db"):
                    shutil.copy2(os.path.join(kept, name), audit)
            self.server.start()
            with open(os.path.join(audit, "filler"), "wb") as file:
                try:
                    file.write(b"x" * (1 << 20))
                    file.flush()
                except OSError:
                    pass
            # Records of different lengths: a short one may still fit where a long one did not.
            for method, rest, body in (("POST", "/exec?wait=1", {"command": "touch /tmp/was-here"}), ("POST", "/code", {"code": "1", "stream": False}),
                                       ("PUT", "/files?path=/tmp/x", b"1"), ("POST", "/files/mkdir", {"path": "/tmp/y"})):
                answers = [self.ask(method, rest, body, made) for _ in range(40)]
                self.assertEqual((answers[-1].status, answers[-1].json()["error"]), (507, "exhausted"), (rest, answers[-1]))
                self.assertTrue(answers[-1].json()["hint"])
            with self.assertRaisesRegex(AssertionError, "resource_exhausted"):
                self.server.run(self.e2b(made), "touch /tmp/z")
            os.unlink(os.path.join(audit, "filler"))
            self.assertTrue(until(lambda: self.ask("POST", "/exec?wait=1", {"command": "true"}, made).status == 200, 30))
            self.assertEqual(self.ask("POST", "/exec?wait=1", {"command": "test ! -e /tmp/z"}, made).json()["outcome"], {"kind": "exited", "code": 0})
        finally:
            self.server.stop()
            subprocess.run(["umount", audit], check=True)
            self.server.start()
            shutil.rmtree(kept)


class AsRootTest(Recorded, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Recorded, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
