"""GET /metrics as Prometheus reads it: well formed, true, for those who may, and without a text that somebody chose."""
import os
import re
import shutil
import socket
import subprocess
import unittest

from support import paddock
from support.server import Server, until

PROMTOOL = shutil.which("promtool") or "/usr/local/lib/paddock-test/promtool"
SAMPLE = re.compile(r'^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_][a-z0-9_]*)="((?:[^"\\]|\\.)*)"')
SECRET = "AKIAQ7W3EXAMPLE2NAME"


def parse(text):
    """{name: [(labels, value)]}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        found.setdefault(name, []).append((dict(LABEL.findall(labels or "")), float(value)))
    return found


class Metrics:
    """Mixed into a TestCase once per user."""
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        cls.reader = cls.server.new_key("--scope", "metrics")
        answer = cls.server.request("POST", "/v1/sandboxes", {"name": SECRET, "metadata": {"note": SECRET}, "env": {"TOKEN": SECRET}, "limits": {"memory": "256M"}})
        assert answer.status == 201, answer
        cls.sandbox = answer.json()["id"]

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def text(self):
        answer = self.server.request("GET", "/metrics", key=self.reader)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return answer.body.decode()

    def metrics(self):
        return parse(self.text())

    def of_sandbox(self, name):
        return [value for labels, value in self.metrics().get(name, []) if labels.get("sandbox") == self.sandbox]

    def test_promtool_finds_nothing_to_complain_about(self):
        if not os.access(PROMTOOL, os.X_OK):
            self.skipTest("promtool is not here (scripts/install.sh test fetches it)")
        self.assertTrue(until(lambda: self.of_sandbox("paddock_sandbox_memory_bytes")))
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=self.text(), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_each_metric_is_explained_before_its_samples_and_stands_once(self):
        seen, current = set(), None
        for line in self.text().splitlines():
            if line.startswith("# HELP "):
                current = line.split(" ", 3)[2]
                self.assertNotIn(current, seen)
                self.assertRegex(line, r"^# HELP \S+ [A-Z1].*\.$")
                seen.add(current)
            elif line.startswith("# TYPE "):
                self.assertEqual(line.split(" ")[2], current)
            else:
                self.assertRegex(line, rf"^{current}(_bucket|_sum|_count)?[{{ ]")

    def test_a_sandbox_is_told_of(self):
        self.assertTrue(until(lambda: self.of_sandbox("paddock_sandbox_memory_bytes")))
        self.assertGreater(self.of_sandbox("paddock_sandbox_memory_bytes")[0], 0)
        self.assertEqual(self.of_sandbox("paddock_sandbox_memory_limit_bytes"), [256 << 20])
        self.assertEqual(self.of_sandbox("paddock_sandbox_network_connections"), [0])
        labels = self.metrics()["paddock_sandbox_cpu_percent"][0][0]
        self.assertEqual(set(labels), {"sandbox", "tenant", "template"})

    def test_states_creations_and_ends_are_counted(self):
        def value(name, **wanted):
            return sum(number for labels, number in self.metrics().get(name, []) if wanted.items() <= labels.items())
        created, killed = value("paddock_sandboxes_created_total"), value("paddock_sandboxes_ended_total", reason="killed")
        answer = self.server.request("POST", "/v1/sandboxes", {"policy": {"monitor": {"kill_if": {"pids": ">2"}}}})
        self.assertEqual(answer.status, 201, answer)
        other = self.server.request("POST", "/v1/sandboxes", {}).json()["id"]
        self.assertEqual(value("paddock_sandboxes_created_total"), created + 2)
        self.assertGreaterEqual(value("paddock_sandboxes", state="running"), 2)
        self.server.request("DELETE", f"/v1/sandboxes/{other}")
        self.server.request("POST", f"/v1/sandboxes/{answer.json()['id']}/exec?wait=1", {"command": "sleep 60 & sleep 60 & sleep 60 & wait"})
        self.assertTrue(until(lambda: value("paddock_sandboxes_ended_total", reason="killed") == killed + 1))
        self.assertTrue(until(lambda: value("paddock_sandboxes_ended_total", reason="monitor") == 1))
        self.assertEqual(value("paddock_monitor_rules_total", rule="monitor.kill_if.pids"), 1)
        self.assertEqual(value("paddock_limits_total", limit="monitor.kill_if.pids"), 1)
        self.assertGreaterEqual(value("paddock_events_total", kind="sandbox.create"), 2)
        self.assertEqual(value("paddock_audit_failing"), 0)
        self.assertGreater(value("paddock_audit_records_total"), 0)

    def test_names_of_secrets_are_nobody_elses(self):
        made = self.server.request("POST", "/v1/sandboxes", {"secrets": {"THEIR_NAME": "correct-horse-battery"}}).json()["id"]
        self.server.request("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "echo $THEIR_NAME"})
        kinds = lambda: {labels["kind"] for labels, _ in self.metrics().get("paddock_redactions_total", [])}
        self.assertTrue(until(lambda: "secret" in kinds()), kinds())
        self.assertNotIn("THEIR_NAME", kinds())
        self.server.request("DELETE", f"/v1/sandboxes/{made}")

    def test_requests_are_counted_by_route_and_never_by_path(self):
        self.server.request("GET", f"/v1/sandboxes/{self.sandbox}")
        self.server.request("GET", f"/v1/nothing/{SECRET}")
        expected = {("/v1/sandboxes/{id}", "GET", "2xx"), ("none", "GET", "4xx")}

        def counted():  # a request is counted when it is over, which is after its answer
            return {(labels["route"], labels["method"], labels["status"]) for labels, _ in self.metrics()["paddock_http_requests_total"]}
        self.assertTrue(until(lambda: expected <= counted()), counted())
        buckets = [number for labels, number in self.metrics()["paddock_http_request_duration_seconds_bucket"]
                   if (labels["route"], labels["method"]) == ("/v1/sandboxes/{id}", "GET")]
        self.assertEqual(buckets, sorted(buckets))

    def test_the_process_itself(self):
        metrics = self.metrics()
        for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_start_time_seconds"):
            self.assertGreater(metrics[name][0][1], 0, name)
        with open(f"/proc/{self.server.process.pid}/stat") as stat:
            self.assertIn("paddock", stat.read())

    def test_no_text_that_somebody_chose_is_in_it(self):
        self.assertTrue(until(lambda: self.of_sandbox("paddock_sandbox_memory_bytes")))
        self.assertNotIn(SECRET, self.text())

    def test_who_may(self):
        self.assertEqual(self.server.request("GET", "/metrics").status, 403)  # a key as SDKs have it
        self.assertEqual(self.server.request("GET", "/metrics", key="e2b_" + "0" * 40).status, 401)
        self.assertEqual(self.server.request("GET", "/metrics", key=self.server.new_key("--scope", "admin")).status, 200)
        self.assertEqual(self.server.request("GET", "/v1/sandboxes", key=self.reader).status, 403)
        if os.geteuid() == 0 and self.user == "user":
            return  # the socket belongs to that user; below we would ask as root
        with socket.socket(socket.AF_UNIX) as local:
            local.connect(os.path.join(self.server.state, "server.sock"))
            local.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertTrue(local.recv(64).startswith(b"HTTP/1.1 200"))


class AsRootTest(Metrics, unittest.TestCase):
    user = "root" if "root" in paddock.USERS else "user"


@unittest.skipUnless("user" in paddock.USERS and "root" in paddock.USERS, "there is one kind of user only")
class AsUserTest(Metrics, unittest.TestCase):
    user = "user"


if __name__ == "__main__":
    paddock.main()
