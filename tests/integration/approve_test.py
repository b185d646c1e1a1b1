"""`ask`: a call waits for somebody's word, by `paddock approve` in another process or by a webhook, and one word is for one call."""
import hashlib
import hmac
import http.server
import json
import os
import subprocess
import threading
import unittest

from support import event_schema, paddock
from support.server import until
from support.tools import Tools, text_of

ECHO = "import sys; print(sys.stdin.read())"
POLICY = """
[[tools]]
name = "echo"
run = ["python3", "tools/echo.py"]
ask = { timeout = "60s" }
"""


class Approve(Tools):
    def start(self, policy, params):
        """A call that waits, in a process of its own."""
        process = paddock.popen("tool", "call", "echo", "--params", json.dumps(params), "--policy", policy, "--json", user=self.user, env=self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def waiting(self):
        done = self.call("approve", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["waiting"]

    def one_waiting(self):
        self.assertTrue(until(self.waiting))
        (one,) = self.waiting()
        return one

    def end_of(self, process):
        out, err = process.communicate(timeout=120)
        try:
            return process.returncode, json.loads(out)
        except json.JSONDecodeError:
            self.fail(f"exit {process.returncode}\n{out[-2000:]}\n{err[-2000:]}")

    def test_another_process_approves_and_the_call_is_made_once(self):
        policy = self.policy(POLICY, echo=ECHO)
        process = self.start(policy, {"to": "ann"})
        asked = self.one_waiting()
        self.assertEqual((asked["tool"], asked["arguments"], asked["state"]), ("echo", {"to": "ann"}, "waiting"))
        shown = self.call("approve")
        self.assertIn(asked["id"], shown.stdout)
        self.assertIn(asked["hash"], shown.stdout)
        done = self.call("approve", asked["id"], "--why", "it is fine")
        self.assertEqual(done.returncode, 0, done.stderr)
        status, said = self.end_of(process)
        self.assertEqual((status, said["decision"]["verdict"]), (0, "allow"), said)
        self.assertIn("ann", text_of(said["result"]))
        self.assertEqual(self.call("approve", asked["id"]).returncode, 125)  # it was used
        second = self.start(policy, {"to": "ann"})
        self.assertNotEqual(self.one_waiting()["id"], asked["id"])
        second.kill()
        records = self.records()
        event_schema.check(self, records)
        calls = [record for record in records if record["kind"] == "tool.call"]
        self.assertEqual([record["verdict"] for record in calls][:2], ["ask", "allow"])
        self.assertIn("it is fine", calls[1]["data"]["approved"])
        self.assertIn("approval.approve", [record["data"].get("act") for record in records])

    def test_a_denial_says_why_and_stands(self):
        policy = self.policy(POLICY, echo=ECHO)
        process = self.start(policy, {"n": 1})
        asked = self.one_waiting()
        done = self.call("approve", asked["id"], "--deny", "--why", "not on Fridays", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["state"]), (0, "denied"), done.stderr)
        status, said = self.end_of(process)
        self.assertNotEqual(status, 0)
        self.assertEqual((said["decision"]["verdict"], said["decision"]["rule"]), ("deny", "tools.echo.ask"), said)
        self.assertIn("not on Fridays", said["decision"]["why"])
        status, said = self.end_of(self.start(policy, {"n": 1}))  # at once, and nobody is asked
        self.assertEqual(said["decision"]["verdict"], "deny", said)
        self.assertEqual(self.waiting(), [])

    def test_what_was_approved_is_not_what_is_changed_afterwards(self):
        policy = self.policy(POLICY.replace('timeout = "60s"', 'timeout = "60s", remember = "1h"'), echo=ECHO)
        process = self.start(policy, {"path": "/a"})
        asked = self.one_waiting()
        self.assertEqual(self.call("approve", asked["id"]).returncode, 0)
        self.assertEqual(self.end_of(process)[0], 0)
        self.assertEqual(self.end_of(self.start(policy, {"path": "/a"}))[0], 0)  # remembered
        other = self.start(policy, {"path": "/b"})
        self.assertEqual(self.one_waiting()["arguments"], {"path": "/b"})
        other.kill()
        other.wait()
        (asked,) = self.waiting()
        self.assertEqual(self.call("approve", asked["id"], "--deny").returncode, 0)
        changed = self.policy(POLICY.replace('timeout = "60s"', 'timeout = "60s", remember = "1h"') + 'rate = "1000/hour"\n', name="changed.toml", echo=ECHO)
        self.start(changed, {"path": "/a"})
        self.assertEqual(self.one_waiting()["arguments"], {"path": "/a"})

    def test_words_that_make_no_sense_are_refused(self):
        for arguments in (("aaaaaaaa",), ("../../etc/passwd",), ("--deny",), ("--why", "x")):
            done = self.call("approve", *arguments)
            self.assertEqual(done.returncode, 125, arguments)
            self.assertIn("paddock:", done.stderr)
        self.assertIn("nothing waits", self.call("approve").stdout)

    def test_others_cannot_approve(self):
        policy = self.policy(POLICY, echo=ECHO)
        self.start(policy, {"n": 1})
        asked = self.one_waiting()
        self.assertEqual(os.stat(os.path.join(self.state, "tools", "approvals")).st_mode & 0o777, 0o700)
        others = [user for user in paddock.USERS if user != self.user]
        if not others:
            self.skipTest("needs root, to be two users")
        done = paddock.call("approve", asked["id"], user=others[0], env=self.environment())
        self.assertEqual(done.returncode, 125, done.stdout)
        self.assertEqual(self.one_waiting()["id"], asked["id"])

    def test_a_webhook_decides(self):
        heard = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                heard.append((dict(self.headers), body))
                answer = json.dumps({"approve": json.loads(body)["arguments"]["n"] == 1, "why": "says the hook"}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        hook = f'webhook = "http://127.0.0.1:{server.server_port}/hook?x=1", webhook_secret = "env:HOOK_SECRET"'
        policy = self.policy(POLICY.replace('timeout = "60s"', f'timeout = "60s", {hook}'), echo=ECHO)
        secret = "a-secret-of-the-test"
        for number, verdict in ((1, "allow"), (2, "deny")):
            status, said = self.ask("call", policy, "echo", {"n": number, "token": "ghp_" + "a1B2" * 9}, env={"HOOK_SECRET": secret})
            self.assertEqual(said["decision"]["verdict"], verdict, said)
        for headers, body in heard:
            self.assertEqual(headers["X-Paddock-Signature"], "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
            self.assertNotIn(b"ghp_", body)
            self.assertEqual(json.loads(body)["tool"], "echo")
        self.assertEqual(len(heard), 2)


for one in paddock.USERS:
    name = f"ApproveAs{one.title()}"
    globals()[name] = type(name, (Approve, unittest.TestCase), {"user": one})

if __name__ == "__main__":
    paddock.main()
