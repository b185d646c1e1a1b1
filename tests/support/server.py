"""A `paddock serve` of a test's own: its own state directory, a free port, an API key; everything it made is gone at the end."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from support import paddock


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds=60):
    """Whether it comes true in that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


class Served:
    """Mixed into a TestCase once per user: one server for the whole class, and what it is prepared with."""
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        try:
            cls.prepare()
        except BaseException:
            cls.server.__exit__()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @classmethod
    def prepare(cls):
        pass


class ServedSandbox(Served):
    """The same with a sandbox for all tests."""
    body = {}

    @classmethod
    def prepare(cls):
        cls.sandbox = cls.make(**cls.body)

    @classmethod
    def make(cls, **body):
        answer = cls.server.request("POST", "/v1/sandboxes", {"timeout_ms": 600000, **body})
        assert answer.status == 201, answer
        return answer.json()

    def ask(self, method, rest="", body=None, sandbox=None, **options):
        return self.server.request(method, f"/v1/sandboxes/{(sandbox or self.sandbox)['id']}{rest}", body, **options)


class Answer:
    """One HTTP answer, read whole."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Server:
    def __init__(self, user="root", arguments=(), env=None, parent="/tmp", before=()):
        self.user, self.arguments, self.env, self.before = user, list(arguments), dict(env or {}), before
        self.state = paddock.folder(user, parent)
        os.chmod(self.state, 0o700)
        self.port = free_port()
        self.process = None
        self.key = None
        self.created = []  # ids of all sandboxes

    def __enter__(self):
        try:
            self.start()
            self.key = self.new_key()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            with contextlib.suppress(Exception):
                self.kill_all()
            self.stop()
        shutil.rmtree(self.state, ignore_errors=True)

    def environment(self):
        return {**self.env, "PADDOCK_STATE": self.state}

    def start(self):
        ready, its_ready = os.pipe()
        self.log = open(os.path.join(self.state, "serve.log"), "ab")
        self.process = paddock.popen("serve", "--listen", f"127.0.0.1:{self.port}", "--ready-fd", str(its_ready), *self.arguments,
                                     user=self.user, env=self.environment(), before=self.before, pass_fds=(its_ready,), stdin=subprocess.DEVNULL,
                                     stdout=self.log, stderr=self.log)
        os.close(its_ready)
        with os.fdopen(ready) as said:
            if said.readline().strip() != "ready":
                self.process.wait(timeout=30)
                raise AssertionError(f"paddock serve did not get ready:\n{self.output()}")

    def output(self):
        with open(os.path.join(self.state, "serve.log"), errors="replace") as file:
            return file.read()

    def stop(self):
        """As an operator would: SIGTERM. The sandboxes stay."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def kill9(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def call(self, *arguments, **options):
        """paddock ARGUMENTS… of the same user and state."""
        return paddock.call(*arguments, user=self.user, env=self.environment(), **options)

    def new_key(self, *arguments):
        done = self.call("key", "create", "--json", *arguments)
        if done.returncode != 0:
            raise AssertionError(f"paddock key create: {done.stderr}")
        return json.loads(done.stdout)["key"]

    def connection(self, timeout=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, key=None, connection=None, timeout=120):
        """A body that is no bytes goes as JSON."""
        all_headers = {"X-API-Key": key or self.key}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        all_headers.update(headers or {})
        used = connection or self.connection(timeout)
        try:
            used.request(method, path, body=body, headers=all_headers)
            answer = used.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            if not connection:
                used.close()

    # The E2B side, which needs no guessing: its wire is fixed.
    def create(self, **body):
        answer = self.request("POST", "/v2/sandboxes", {"templateID": "base", **body})
        if answer.status != 201:
            raise AssertionError(f"create: {answer}\n{self.output()[-2000:]}")
        self.created.append(answer.json()["sandboxID"])
        return answer.json()

    def kill(self, sandbox):
        return self.request("DELETE", f"/sandboxes/{sandbox}").status

    def sandboxes(self):
        answer = self.request("GET", "/v2/sandboxes?limit=100")
        return answer.json()

    def kill_all(self):
        deadline = time.monotonic() + 60
        while (left := self.sandboxes()) and time.monotonic() < deadline:
            for sandbox in left:
                self.kill(sandbox["sandboxID"])

    def data_headers(self, sandbox, port=49983):
        return {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(port), "X-Access-Token": sandbox.get("envdAccessToken") or ""}

    def run(self, sandbox, command, timeout=60, connection=None, **config):
        """A shell command by envd's process.Process/Start: (exit code, stdout, stderr)."""
        message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command], **config}, "stdin": False}).encode()
        headers = {**self.data_headers(sandbox), "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        answer = self.request("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message, headers,
                              timeout=timeout, connection=connection)
        if answer.status != 200:
            raise AssertionError(f"run {command!r}: {answer}")
        return self.outcome(answer.body)

    @staticmethod
    def envelopes(body):
        while body:
            size = int.from_bytes(body[1:5], "big")
            yield body[0], json.loads(body[5:5 + size])
            body = body[5 + size:]

    @classmethod
    def outcome(cls, body):
        import base64
        code, streams = None, {"stdout": b"", "stderr": b""}
        for flags, message in cls.envelopes(body):
            event = message.get("event", {})
            for name, data in event.get("data", {}).items():
                streams[name] = streams.get(name, b"") + base64.b64decode(data)
            if "end" in event:
                code = event["end"].get("exitCode", 0)
            if flags & 2 and "error" in message:
                raise AssertionError(f"the stream ended with {message['error']}")
        return code, streams["stdout"].decode(errors="replace"), streams["stderr"].decode(errors="replace")
