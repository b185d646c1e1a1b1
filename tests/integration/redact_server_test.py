"""Secrets of living sandboxes do not come back: by exec, WebSocket, envd, terminals, cells, files and errors, in whatever form and pieces."""
import base64
import binascii
import json
import os
import socket
import unittest
import urllib.parse

from support import paddock
from support.server import ServedSandbox, Server
from support.websocket import WebSocket

SECRET = 'Zq7"pass/word+Wörd-42xK'
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MARK = "[redacted:API_KEY]"
# One byte at a time, each written by itself.
TRICKLE = "import os,sys,time\nfor b in os.environ['API_KEY'].encode():\n os.write(1,bytes([b])); time.sleep(%s)\nos.write(1,b'\\nend\\n')"


def forms(secret):
    """What programs print of it, by how they do it."""
    raw = secret.encode()
    yield "plain", raw
    for shift in range(3):
        cut = base64.b64encode(b"#" * shift + raw + b"##")
        yield f"base64 {shift}", cut
    yield "base64url", base64.urlsafe_b64encode(raw)
    yield "hex", binascii.hexlify(raw)
    yield "HEX", binascii.hexlify(raw).upper()
    yield "url", urllib.parse.quote(secret, safe="").encode()
    yield "json", json.dumps(secret)[1:-1].encode()
    yield "utf-16", secret.encode("utf-16-le")


class Redacted(ServedSandbox):
    body = dict(template="code-interpreter-v1", secrets={"API_KEY": SECRET})

    def run_in(self, command, sandbox=None, **options):
        answer = self.ask("POST", "/exec?wait=1", {"command": command, **options}, sandbox)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def python_in(self, code, sandbox=None):
        answer = self.ask("POST", "/exec?wait=1", {"argv": ["python3", "-c", code]}, sandbox)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def e2b(self, sandbox=None):
        one = sandbox or self.sandbox
        return {"sandboxID": one["id"], "envdAccessToken": one["access_token"]}

    def assertClean(self, told, secret=SECRET):
        raw = told if isinstance(told, bytes) else json.dumps(told, ensure_ascii=False).encode()
        for name, form in forms(secret):
            core = form[4:-4] if name.startswith("base64") else form  # what stands beside it may be shown
            self.assertNotIn(core, raw, name)

    # ---- how it is printed

    def test_every_form_is_taken_out_and_counted(self):
        code = ("import os,base64,binascii,json,sys,urllib.parse as u\ns=os.environ['API_KEY']; r=s.encode(); w=sys.stdout.buffer.write\n"
                "for f in [r]+[base64.b64encode(b'#'*n+r+b'##') for n in range(3)]+[base64.urlsafe_b64encode(r),binascii.hexlify(r),binascii.hexlify(r).upper(),"
                "u.quote(s,safe='').encode(),json.dumps(s)[1:-1].encode(),s.encode('utf-16-le')]: w(f+b'\\n')")
        done = self.python_in(code)
        raw = base64.b64decode(done["stdout_base64"]) if "stdout_base64" in done else done["stdout"].encode()
        self.assertClean(raw)
        self.assertEqual(raw.count(MARK.encode()), 10, raw)
        self.assertEqual((done["redactions"], done["redacted"]), (10, {"API_KEY": 10}))

    def test_what_looks_like_a_secret_goes_too_and_other_text_stays(self):
        done = self.run_in(f"echo {GITHUB}; echo API_KEY is set; echo commit 0123456789abcdef0123456789abcdef01234567 >&2")
        self.assertEqual(done["stdout"], "[redacted:github-token]\nAPI_KEY is set\n")
        self.assertIn("0123456789abcdef0123456789abcdef01234567", done["stderr"])
        self.assertEqual(done["redacted"], {"github-token": 1})

    def test_one_byte_at_a_time_with_pauses(self):
        answer = self.ask("POST", "/exec", {"argv": ["python3", "-c", TRICKLE % 0.01]})
        events = answer.lines()
        self.assertEqual("".join(event.get("data", "") for event in events if event["type"] == "stdout"), f"{MARK}\nend\n")
        self.assertEqual((events[-1]["type"], events[-1]["redactions"]), ("end", 1))

    def test_an_unfinished_secret_is_shown_at_the_end(self):
        done = self.python_in(f"import os; os.write(1, {SECRET.encode()[:9]!r})")
        self.assertEqual((done["stdout"], done["redactions"]), (SECRET.encode()[:9].decode(), 0))

    def test_a_prompt_is_not_held_back(self):
        connection = self.server.connection(timeout=60)
        body = json.dumps({"argv": ["python3", "-c", "import os,time; os.write(1,b'Password: '); time.sleep(600)"]}).encode()
        connection.request("POST", f"/v1/sandboxes/{self.sandbox['id']}/exec", body, {"X-API-Key": self.server.key})
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "start")
        self.assertEqual(json.loads(answer.readline()), {"type": "stdout", "data": "Password: "})
        answer.close()
        connection.close()

    # ---- by which way

    def websocket(self, rest):
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        self.addCleanup(sock.close)
        return WebSocket(sock, f"/v1/sandboxes/{self.sandbox['id']}{rest}", {"X-API-Key": self.server.key})

    def test_over_a_websocket(self):
        link = self.websocket("/exec/ws")
        link.send_json({"argv": ["python3", "-c", TRICKLE % 0.002]})
        events, streams, _ = link.until_closed()
        self.assertEqual(streams, {1: f"{MARK}\nend\n".encode()})
        self.assertEqual(events[-1]["redacted"], {"API_KEY": 1})

    def test_on_a_terminal_and_typing_is_seen(self):
        link = self.websocket("/exec/ws")
        link.send_json({"argv": ["bash", "--norc"], "stdin": True, "terminal": {"rows": 24, "columns": 200}, "env": {"PS1": "> "}})
        seen = b""

        def see(word):
            nonlocal seen
            while word not in seen:
                opcode, payload = link.receive()
                if opcode == 2:
                    seen += payload[1:]
        see(b"> ")
        seen = b""
        link.send_input(SECRET[0].encode())  # begins a secret, and must be echoed before anything follows
        see(SECRET[0].encode())
        link.send_input(b"\x15echo $API_KEY; exit\n")
        _, streams, _ = link.until_closed()
        seen += streams.get(3, b"")
        self.assertIn(MARK.encode(), seen)
        self.assertClean(seen)

    def test_who_attaches_gets_it_redacted(self):
        started = self.ask("POST", "/exec", {"argv": ["python3", "-c", "import time; time.sleep(1)\n" + TRICKLE % 0.002], "background": True}).lines()[0]
        link = self.websocket(f"/processes/{started['pid']}/ws")
        _, streams, _ = link.until_closed()
        self.assertEqual(streams.get(1), f"{MARK}\nend\n".encode())

    def test_by_envd(self):
        code, out, err = self.server.run(self.e2b(), f"echo $API_KEY; echo $API_KEY >&2; echo {GITHUB}")
        self.assertEqual((code, out, err), (0, f"{MARK}\n[redacted:github-token]\n", f"{MARK}\n"))

    def test_by_envd_on_a_terminal(self):
        message = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "echo $API_KEY"]}, "pty": {"size": {"cols": 200, "rows": 24}}}).encode()
        headers = {**self.server.data_headers(self.e2b()), "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        answer = self.server.request("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message, headers)
        data = b"".join(base64.b64decode(event["event"]["data"]["pty"]) for _, event in Server.envelopes(answer.body) if "data" in event.get("event", {}))
        self.assertEqual(data.strip(), MARK.encode())

    def test_lists_of_processes_and_errors(self):
        started = self.ask("POST", "/exec", {"argv": ["sleep", "60"], "env": {"GIVEN": SECRET}, "tag": GITHUB, "background": True}).lines()[0]
        self.assertClean(self.ask("GET", "/processes").body)
        self.assertNotIn(GITHUB, self.ask("GET", "/processes").body.decode())
        self.ask("POST", f"/processes/{started['pid']}/signal", {"signal": "SIGKILL"})
        for answer in (self.ask("POST", "/exec", {"argv": [f"/no/{SECRET}"]}), self.ask("GET", "/files?path=/no/" + urllib.parse.quote(SECRET))):
            self.assertGreaterEqual(answer.status, 400)
            self.assertClean(answer.body)
            self.assertIn("redacted", answer.body.decode())

    # ---- cells

    def cell(self, code, **more):
        answer = self.ask("POST", "/code", {"code": code, "stream": False, **more})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def test_cells_print_show_and_raise_without_it(self):
        done = self.cell("import os,sys,time\ns=os.environ['API_KEY']\nfor c in s:\n    print(c, end='', flush=True)\n    time.sleep(0.002)\nprint('.')\nprint(s, file=sys.stderr)\n"
                         "class Rich:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {'text/plain': s, 'text/html': '<b>'+s+'</b>', 'text/markdown': s, 'text/latex': s,"
                         " 'image/svg+xml': '<svg>'+s+'</svg>', 'application/json': {'deep': [s, {s: 1}]}}\nRich()")
        self.assertClean(done)
        self.assertEqual("".join(done["stdout"]), f"{MARK}.\n")
        self.assertEqual("".join(done["stderr"]), f"{MARK}\n")
        self.assertEqual(done["results"][0]["html"], f"<b>{MARK}</b>", done)
        self.assertGreaterEqual(done["redacted"]["API_KEY"], 8)
        failed = self.cell("raise ValueError(s)")
        self.assertClean(failed)
        self.assertIn(MARK, failed["error"]["value"])

    def test_pictures_and_long_results_stay_whole(self):
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + GITHUB.encode() * 3 + bytes(range(256)) * 400).decode()
        done = self.cell(f"class P:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {{'image/png': {png!r}, 'text/plain': 'x'*200000 + ' {GITHUB}'}}\nP()")
        self.assertEqual(done["results"][0]["png"], png)
        self.assertTrue(done["results"][0]["text"].startswith("xxxx"))
        self.assertNotIn(GITHUB, done["results"][0]["text"])

    def test_cells_by_the_code_interpreter_of_e2b(self):
        headers = {**self.server.data_headers(self.e2b(), 49999), "Content-Type": "application/json"}
        answer = self.server.request("POST", "/execute", json.dumps({"code": "import os\nprint(os.environ['API_KEY'])\nos.environ['API_KEY']"}).encode(), headers)
        self.assertEqual(answer.status, 200, answer)
        self.assertClean(answer.body)
        self.assertEqual(answer.lines()[-1], {"type": "end_of_execution", "redactions": 2, "redacted": {"API_KEY": 2}})

    # ---- files

    def test_files_are_redacted_when_that_is_asked_for(self):
        self.python_in("import os; open('/tmp/kept','w').write('x'*100000 + os.environ['API_KEY'] + 'y'*100000)")
        whole = self.ask("GET", "/files?path=/tmp/kept").body.decode()
        self.assertIn(SECRET, whole)
        for options in ({}, {"headers": {"Range": "bytes=100003-100010"}}):
            answer = self.ask("GET", "/files?path=/tmp/kept&redact=1", **options)
            self.assertEqual((answer.status, answer.body.decode()), (200, whole.replace(SECRET, MARK)))
            self.assertNotIn("Content-Length", answer.headers)

    def test_files_are_redacted_where_the_policy_says_so(self):
        made = self.make(secrets={"API_KEY": SECRET}, policy={"version": 1, "redact": {"files": True}})
        self.python_in("import os; open('/tmp/kept','w').write(os.environ['API_KEY'])", made)
        self.assertEqual(self.ask("GET", "/files?path=/tmp/kept", sandbox=made).body.decode(), MARK)
        headers = self.server.data_headers(self.e2b(made))
        self.assertEqual(self.server.request("GET", "/files?path=/tmp/kept", headers={**headers, "Range": "bytes=2-9"}).body.decode(), MARK)
        self.ask("PUT", f"/files?path=/tmp/{GITHUB}", b"", made)
        listing = json.dumps({"path": "/tmp"}).encode()
        for answer in (self.ask("GET", "/files/list?path=/tmp", sandbox=made),
                       self.server.request("POST", "/filesystem.Filesystem/ListDir", listing, {**headers, "Content-Type": "application/json"})):
            self.assertIn("[redacted:github-token]", answer.body.decode())
            self.assertNotIn(GITHUB, answer.body.decode())
        refused = self.ask("GET", "/tar?path=/tmp", sandbox=made)
        self.assertEqual((refused.status, refused.json()["error"]), (400, "unsupported"))
        self.ask("DELETE", sandbox=made)

    def test_names_in_listings_only_when_asked(self):
        self.run_in(f"mkdir -p /tmp/names && touch /tmp/names/{GITHUB}")
        self.assertIn(GITHUB, self.ask("GET", "/files/list?path=/tmp/names").body.decode())
        asked = self.ask("GET", "/files/list?path=/tmp/names&redact=1").body.decode()
        self.assertNotIn(GITHUB, asked)
        self.assertIn("[redacted:github-token]", asked)

    # ---- whose secrets

    def test_nobody_is_shown_a_secret(self):
        seen = self.ask("GET").json()
        self.assertEqual(seen["secrets"], ["API_KEY"])
        for answer in (self.ask("GET"), self.server.request("GET", "/v1/sandboxes"), self.ask("GET", "/logs"), self.server.request("GET", f"/sandboxes/{self.sandbox['id']}"),
                       self.server.request("GET", "/envs", headers=self.server.data_headers(self.e2b()))):
            self.assertEqual(answer.status, 200, answer)
            self.assertClean(answer.body)

    def test_its_own_tokens_are_secrets(self):
        done = self.run_in(f"echo {self.sandbox['access_token']}")
        self.assertEqual(done["stdout"], "[redacted:sandbox-access-token]\n")

    def test_forks_have_them_and_snapshots_do_not(self):
        made = self.make(secrets={"API_KEY": SECRET})
        forked = self.ask("POST", "/fork", {"count": 1}, made).json()["sandboxes"][0]["sandbox"]
        self.assertEqual(self.run_in("echo $API_KEY", forked)["stdout"], f"{MARK}\n")
        snapshot = self.ask("POST", "/snapshots", {}, made).json()
        other = self.make(template=snapshot["id"])
        self.assertEqual(self.run_in("echo [$API_KEY]", other)["stdout"], "[]\n")
        for one in (made, forked, other):
            self.ask("DELETE", sandbox=one)

    def test_e2b_variables_that_are_called_secrets_are_secrets(self):
        made = self.server.create(envVars={"MY_VAR": "plain-value-1", "SERVICE_PASSWORD": "hunter2-hunter2", "DB_PASSWORD": "postgres"})
        _, out, _ = self.server.run(made, "echo $MY_VAR $SERVICE_PASSWORD $DB_PASSWORD; printenv SERVICE_PASSWORD | wc -c")
        self.assertEqual(out, "plain-value-1 [redacted:SERVICE_PASSWORD] postgres\n16\n")
        self.server.kill(made["sandboxID"])

    def test_what_cannot_be_a_secret_is_refused_and_what_looks_like_one_is_noted(self):
        for body, word in (({"secrets": {"A": "abc"}}, "shorter"), ({"secrets": {"A": "long enough"}, "env": {"A": "x"}}, "env"), ({"secrets": {"A=B": "long enough"}}, "name"),
                           ({"secrets": {f"S{i}": "long enough" for i in range(65)}}, "64"), ({"secrets": ["x"]}, "object"),
                           ({"policy": {"version": 1, "redact": {"custom": [{"name": "x", "pattern": "("}]}}}, "redact.custom")):
            answer = self.server.request("POST", "/v1/sandboxes", body)
            self.assertEqual(answer.status, 400, (body, answer))
            self.assertIn(word, answer.body.decode(), body)
        made = self.make(env={"GITHUB_TOKEN": GITHUB})
        self.assertIn("GITHUB_TOKEN", " ".join(made["notes"]))
        self.ask("DELETE", sandbox=made)

    def test_a_pattern_of_the_policy(self):
        made = self.make(policy={"version": 1, "redact": {"custom": [{"name": "badge", "pattern": "BADGE-[0-9]{6}"}]}})
        self.assertEqual(self.run_in("echo BADGE-123456 BADGE-12345", made)["stdout"], "[redacted:badge] BADGE-12345\n")
        self.ask("DELETE", sandbox=made)

    def test_a_restart_goes_on_and_nothing_else_on_disk_has_it(self):
        made = self.make(secrets={"API_KEY": SECRET}, metadata={"m": "n"})
        self.run_in(f"echo $API_KEY; : {GITHUB}", made)
        self.ask("POST", "/exec", {"argv": ["/no", SECRET, GITHUB]}, made)
        self.ask("PUT", "/files?path=/tmp/" + urllib.parse.quote(f"{GITHUB}"), b"x", made)
        self.server.kill9()
        self.server.start()
        self.assertEqual(self.run_in("echo $API_KEY", made)["stdout"], f"{MARK}\n")
        verified = self.server.call("audit", "verify", "--json")
        self.assertEqual(verified.returncode, 0, verified)
        secrets = [form[4:-4] if name.startswith("base64") else form for name, form in forms(SECRET)] + [GITHUB.encode(), self.server.key.encode(), made["access_token"].encode()]
        for folder, _, names in os.walk(self.server.state):
            inside = "/upper" in folder or "/layers/" in folder or "/templates/" in folder  # the sandboxes' own files
            for name in names:
                path = os.path.join(folder, name)
                if inside or name == "record.json" or not os.path.isfile(path) or os.path.islink(path):
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                for secret in secrets:
                    self.assertNotIn(secret, content, path)
        record = os.path.join(self.server.state, "server/sandboxes", made["id"], "record.json")
        self.assertEqual(os.stat(record).st_mode & 0o777, 0o600)
        self.ask("DELETE", sandbox=made)

    def test_the_commands_for_people_take_secrets(self):
        made = paddock.call("create", "--secret", f"API_KEY={SECRET}", "--secret", "FROM_HERE", "--json", user=self.user,
                            env={**self.server.environment(), "FROM_HERE": "taken-over-1"})
        self.assertEqual(made.returncode, 0, made.stderr)
        sandbox = json.loads(made.stdout)
        done = self.server.call("exec", sandbox["id"], "--", "sh", "-c", "echo $API_KEY $FROM_HERE")
        self.assertEqual((done.stdout, done.stderr), (f"{MARK} [redacted:FROM_HERE]\n", "paddock: redacted: 2 (API_KEY 1, FROM_HERE 1)\n"))
        self.server.call("kill", sandbox["id"])


class AsRootTest(Redacted, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Redacted, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
