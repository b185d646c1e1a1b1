"""A collector of the test's own gets the spans of a server and of a run: nested, timed, with the right ids and statuses."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from support import internet, paddock
from support.collector import Collector
from support.server import Server, free_port, until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
SERVER_PROGRAM = os.path.join(paddock.BUILD, "paddock-server")


def make_certificate(folder):
    """A certificate for 127.0.0.1 that signs itself."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    os.chmod(folder, 0o755)
    return certificate, key


class ServerTracesTest(unittest.TestCase):
    def inside(self, inner, outer):
        self.assertEqual((inner.trace, inner.parent), (outer.trace, outer.id), (inner, outer))
        self.assertGreaterEqual(inner.start, outer.start)

    def test_calls_sandboxes_and_commands_nest(self):
        for user in paddock.USERS:
            with self.subTest(user=user), Collector() as collector, Server(user=user, arguments=["--otlp", collector.url]) as server:
                began = time.time_ns()
                made = server.request("POST", "/v1/sandboxes", {}, headers={**TRACED, "X-Paddock-Agent": "planner"}).json()["id"]
                path = f"/v1/sandboxes/{made}"
                self.assertEqual(server.request("POST", f"{path}/exec?wait=1", {"command": "exit 3"}, headers=TRACED).status, 200)
                self.assertEqual(server.request("POST", f"{path}/exec?wait=1", {"command": "true"}).status, 200)
                self.assertEqual(server.request("POST", f"{path}/timeout", {"timeout_ms": 50000}).status, 204)
                self.assertEqual(server.request("DELETE", path).status, 204)

                life, = collector.named("sandbox")
                create, = collector.named("POST /v1/sandboxes")
                self.assertEqual((create.trace, create.parent, create.json["kind"]), (TRACE, PARENT, 2))
                self.inside(life, create)
                self.assertEqual((life.attributes["paddock.sandbox"], life.attributes["paddock.agent"]), (made, "planner"))
                self.assertEqual(life.events[-1], "sandbox.state")
                self.assertGreaterEqual(life.start, began)
                self.assertLessEqual(life.end, time.time_ns())

                commands = collector.named("command", 2)
                calls = {span.id: span for span in collector.named("POST /v1/sandboxes/{id}/exec", 2)}
                for command in commands:
                    self.inside(command, calls[command.parent])
                    self.assertLessEqual(command.end, calls[command.parent].end)
                self.assertEqual(sorted(command.status for command in commands), [1, 2])
                failed, = [command for command in commands if command.status == 2]
                self.assertEqual((failed.trace, failed.json["status"]["message"], failed.attributes["paddock.outcome.code"]), (TRACE, "exit status 3", "3"))
                timeout, = collector.named("POST /v1/sandboxes/{id}/timeout")
                self.assertEqual((timeout.events, timeout.attributes["http.response.status_code"]), (["admin"], "204"))
                self.assertEqual(len({span.id for span in collector.spans}), len(collector.spans))
                resource = collector.resources[0]
                self.assertEqual((resource["service.name"], bool(resource["service.version"])), ("paddock", True))

    def test_e2b_calls_are_traced_as_well(self):
        with Collector() as collector, Server(user=paddock.USERS[0], arguments=["--otlp", collector.url]) as server:
            sandbox = server.create()
            server.run(sandbox, "true")
            server.kill(sandbox["sandboxID"])
            create, = collector.named("POST /v2/sandboxes")
            life, = collector.named("sandbox")
            self.inside(life, create)
            command, = collector.named("command")
            call, = collector.named("POST data plane")
            self.inside(command, call)

    def test_a_collector_that_is_away_or_busy_gets_them_later(self):
        port = free_port()
        with Server(user=paddock.USERS[0], arguments=["--otlp", f"http://127.0.0.1:{port}"]) as server:
            sandbox = server.create()  # nobody listens there
            server.kill(sandbox["sandboxID"])
            with Collector(answers=[503, 429], port=port) as collector:
                collector.named("sandbox")
                self.assertGreaterEqual(collector.requests, 3)

    def test_what_a_collector_refuses_is_not_sent_again_and_nothing_waits(self):
        with Collector(answers=[400] * 1000) as collector, Server(user=paddock.USERS[0], arguments=["--otlp", collector.url]) as server:
            sandbox = server.create()
            self.assertEqual(server.run(sandbox, "echo fine")[:2], (0, "fine\n"))
            self.assertTrue(until(lambda: collector.requests > 0))
            server.kill(sandbox["sandboxID"])

    def test_tls_headers_and_the_last_spans_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder, Collector(certificate=make_certificate(folder)) as collector:
            env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_CERTIFICATE": os.path.join(folder, "certificate.pem"),
                   "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20very-secret-token", "OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "site=here"}
            with Server(user=paddock.USERS[0], env=env) as server:
                server.kill(server.create()["sandboxID"])
                with open(f"/proc/{server.process.pid}/cmdline") as file:
                    self.assertNotIn("very-secret", file.read())
                server.stop()
                collector.named("sandbox")
                self.assertEqual({headers.get("authorization") for headers in collector.headers}, {"Bearer very-secret-token"})
                self.assertEqual((collector.resources[0]["service.name"], collector.resources[0]["site"]), ("mine", "here"))
                log = subprocess.run(["cat", *[os.path.join(server.state, "audit", name) for name in os.listdir(os.path.join(server.state, "audit"))]], capture_output=True).stdout
                self.assertNotIn(b"very-secret", log)
                server.start()

    def test_a_certificate_that_is_not_trusted_is_not_sent_anything(self):
        with tempfile.TemporaryDirectory() as folder, Collector(certificate=make_certificate(folder)) as collector:
            events = json.dumps({"endpoint": collector.url, "headers": {"k": "v"}, "deadline_ms": 2000}) + "\n" + json.dumps(
                {"time": "2026-01-01T00:00:00.000000Z", "kind": "run.end", "trace": TRACE, "span": PARENT, "duration_us": 5, "data": {}}) + "\n"
            send = lambda env: subprocess.run([SERVER_PROGRAM, "telemetry-send"], input=events, capture_output=True, text=True, env=env, timeout=60)
            refused = send({})
            self.assertEqual(refused.returncode, 125)
            self.assertIn("certificate", refused.stderr)
            self.assertEqual(collector.spans, [])
            sent = send({"OTEL_EXPORTER_OTLP_CERTIFICATE": os.path.join(folder, "certificate.pem")})
            self.assertEqual((sent.returncode, sent.stderr), (0, ""))
            span, = collector.named("run")
            self.assertEqual((span.trace, span.id, span.end - span.start), (TRACE, PARENT, 5000))

    def test_a_wrong_endpoint_stops_the_server_at_its_start(self):
        with self.assertRaisesRegex(AssertionError, "not an http"):
            with Server(user=paddock.USERS[0], arguments=["--otlp", "collector:4318"]):
                pass


class RunTracesTest(unittest.TestCase):
    def run_traced(self, user, collector, *arguments):
        return paddock.run_json(*arguments, user=user, env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})

    def test_a_run_is_one_trace(self):
        for user in paddock.USERS:
            with self.subTest(user=user), Collector() as collector:
                result = self.run_traced(user, collector, "--", "sh", "-c", "exit 4")
                self.assertEqual(result["outcome"], {"kind": "exited", "code": 4})
                run, = collector.named("run")
                program, = collector.named("program")
                start, = collector.named("start")
                self.assertIsNone(run.parent)
                self.assertEqual(run.status, 2)
                for inner in (program, start):
                    self.assertEqual((inner.trace, inner.parent), (run.trace, run.id))
                    self.assertGreaterEqual(inner.start, run.start)
                    self.assertLessEqual(inner.end, run.end)
                self.assertLessEqual(start.end, program.end)

    def test_a_collector_that_is_away_does_not_fail_a_run(self):
        for user in paddock.USERS:
            result = paddock.run_json("--", "true", user=user, env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"})
            self.assertEqual(result["outcome"], {"kind": "exited", "code": 0})
            told, = [note for note in result["notes"] if note.startswith("its trace was not sent: ")]
            self.assertIn("refused", told)  # at once, not when a deadline had passed

    def test_a_collector_that_does_not_answer_is_left(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            result = paddock.run_json("--", "true", user=paddock.USERS[0], env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}"})
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0})
        self.assertEqual(len([note for note in result["notes"] if note.startswith("its trace was not sent: ")]), 1, result["notes"])

    def test_it_can_be_switched_off(self):
        with Collector() as collector:
            result = paddock.run_json("--", "true", user=paddock.USERS[0], env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SDK_DISABLED": "True"})
            self.assertEqual((result["notes"], collector.spans, collector.requests), ([], [], 0))


@unittest.skipIf(os.geteuid() != 0, "an Internet of the test's own needs root")
class ConnectionTracesTest(unittest.TestCase):
    """In the machine of an Internet of the test's own: what a sandbox reaches and does not is a span in its life."""

    def test_connections_are_spans_of_what_made_them(self):
        with internet.Internet() as net:
            done = subprocess.run([*net.machine.enter(), sys.executable, __file__, "inside"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = json.loads(done.stdout)
        for where in ("server", "run"):
            self.assertEqual(found[where]["nested"], True, found)
            self.assertEqual(found[where]["verdicts"], {"good.example": "allow", "evil.example": "deny"}, found)


def connections(collector, parent_name):
    parents = {span.id: span for span in collector.named(parent_name)}
    spans = collector.named("connection", 2)
    verdicts = {span.attributes.get("paddock.name"): span.attributes["paddock.verdict"] for span in spans}
    nested = all(span.parent in parents and span.trace == parents[span.parent].trace for span in spans)
    denied = all((span.status == 2) == (span.attributes["paddock.verdict"] == "deny") for span in spans if "paddock.error" not in span.attributes)
    return {"nested": nested and denied, "verdicts": {name: verdict for name, verdict in verdicts.items() if name in ("good.example", "evil.example")}}


def inside():
    ask = "curl -s -o /dev/null --max-time 10 http://good.example/; curl -s -o /dev/null --max-time 10 http://evil.example/; true"
    found = {}
    with Collector() as collector, Server("root", arguments=["--otlp", collector.url]) as server:
        made = server.request("POST", "/v1/sandboxes", {"allow_net": ["good.example"]}).json()["id"]
        server.request("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": ask})
        until(lambda: len([span for span in collector.spans if span.name == "connection"]) >= 2, 20)
        server.request("DELETE", f"/v1/sandboxes/{made}")
        found["server"] = connections(collector, "sandbox")
    with Collector() as collector:
        paddock.run_json("--allow-net", "good.example", "--", "sh", "-c", ask, env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        found["run"] = connections(collector, "program")
    print(json.dumps(found))


if __name__ == "__main__":
    inside() if sys.argv[1:] == ["inside"] else paddock.main()
