"""What is done to a server and its sandboxes is recorded before it is done, told to who listens, and has nothing in it that the document does not have."""
import contextlib
import glob
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

from support import event_schema, paddock
from support.server import Server, until


def records(server):
    """The audit log's records, in order."""
    found = []
    for path in sorted(glob.glob(os.path.join(server.state, "audit", "*.jsonl"))):
        with open(path) as file:
            found += [json.loads(line) for line in file]
    return found


class Stream(threading.Thread):
    """Reads GET /v1/events; `events` grows."""

    def __init__(self, server, query="", accept="application/x-ndjson", **options):
        super().__init__(daemon=True)
        self.connection = server.connection(timeout=60)
        self.connection.request("GET", f"/v1/events{query}", headers={"X-API-Key": options.get("key", server.key), "Accept": accept})
        self.answer = self.connection.getresponse()
        self.lines, self.ended = [], False
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in self.answer:
                self.lines.append(line.decode().rstrip("\n"))
            self.ended = True

    @property
    def events(self):
        return [json.loads(line.removeprefix("data: ")) for line in list(self.lines) if line.startswith(("{", "data: "))]

    def wait(self, test, kind, **fields):
        def found():
            return [event for event in self.events if event["kind"] == kind and all(event.get(key, event["data"].get(key)) == value for key, value in fields.items())]
        test.assertTrue(until(found, 30), (kind, fields, [(event["kind"], event["data"]) for event in self.events]))
        return found()[0]

    def __enter__(self):
        until(lambda: self.lines, 30)  # stream.open: it hears from now on
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.connection.sock.shutdown(2)
        self.connection.close()
        self.join(10)


class Events:
    """Mixed into a TestCase once per user."""
    user = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(user=cls.user).__enter__()
        cls.admin = cls.server.new_key("--scope", "admin")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, method, path, body=None, status=None, **options):
        answer = self.server.request(method, path, body, **options)
        if status:
            self.assertEqual(answer.status, status, answer)
        return answer

    def make(self, headers=None, **body):
        return self.ask("POST", "/v1/sandboxes", body, 201, headers=headers).json()["id"]

    def recorded(self, kind, **fields):
        return [event for event in records(self.server)
                if event["kind"] == kind and all(event.get(key, event["data"].get(key)) == value for key, value in fields.items())]

    # ---- what is recorded

    def test_a_life_is_told_from_before_its_beginning_to_its_end(self):
        trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
        headers = {"traceparent": f"00-{trace}-{parent}-01", "X-Paddock-Agent": "planner \xe2\x80\xae" + "x" * 500}
        made = self.make(headers, limits={"memory": "256M"}, env={"A": "b"}, metadata={"m": "n"})
        create, = self.recorded("sandbox.create", sandbox=made)
        self.assertEqual((create["trace"], create["parent"], create["tenant"], create["verdict"]), (trace, parent, "local", "allow"))
        self.assertEqual((create["data"]["limits"]["memory"], create["data"]["wall"], create["data"]["env"]), (256 << 20, "container", ["A"]))
        self.assertRegex(create["data"]["policy"], "^[0-9a-f]{64}$")
        self.assertTrue(create["agent"].startswith("planner ") and create["agent"].isprintable() and len(create["agent"]) <= 128, create["agent"])
        self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "exit 3"}, 200)
        self.ask("POST", f"/v1/sandboxes/{made}/timeout", {"timeout_ms": 100000}, 204)
        self.ask("POST", f"/v1/sandboxes/{made}/pause", {}, 200)
        self.ask("POST", f"/v1/sandboxes/{made}/resume", {}, 200)
        self.ask("DELETE", f"/v1/sandboxes/{made}", None, 204)
        self.assertTrue(until(lambda: self.recorded("sandbox.end", sandbox=made)))
        end, = self.recorded("sandbox.end", sandbox=made)
        self.assertEqual((end["trace"], end["span"], end["data"]["because"]), (trace, create["span"], "killed"))
        self.assertGreater(end["duration_us"], 0)
        self.assertGreater(end["data"]["usage"]["cpu_ms"], 0)
        states = [event["data"]["state"] for event in self.recorded("sandbox.state", sandbox=made)]
        self.assertEqual(states, ["running", "pausing", "paused", "resuming", "running", "ending", "ended"])
        acts = [event["data"]["act"] for event in self.recorded("admin", sandbox=made)]
        self.assertEqual(acts, ["sandbox.timeout", "sandbox.pause", "sandbox.resume", "sandbox.kill"])
        start, = self.recorded("command.start", sandbox=made)
        command, = self.recorded("command.end", sandbox=made)
        self.assertEqual((start["span"], start["data"]["policy"]), (command["span"], create["data"]["policy"]))
        self.assertEqual(command["data"]["outcome"], {"kind": "exited", "code": 3})

    def test_what_is_weakened_is_recorded(self):
        shut, wide = self.make(), self.server.create()["sandboxID"]  # E2B's sandboxes reach every public host unless told otherwise
        self.assertTrue(until(lambda: self.recorded("weakening", sandbox=wide)))
        self.assertEqual([event["data"]["danger"] for event in self.recorded("weakening", sandbox=wide)], ["network.wide"])
        self.assertEqual(self.recorded("weakening", sandbox=shut), [])
        for each in (shut, wide):
            self.server.kill(each)

    def test_e2b_clients_say_the_agent_in_the_metadata(self):
        made = self.server.create(metadata={"agent": "coder"})["sandboxID"]
        self.assertEqual([event["agent"] for event in self.recorded("sandbox.create", sandbox=made)], ["coder"])
        self.server.kill(made)

    def test_administrative_acts_are_recorded_with_who_did_them(self):
        key = self.ask("POST", "/v1/keys", {"tenant": "other", "scopes": ["read"], "name": "a key"}, 201, key=self.admin).json()
        self.ask("DELETE", f"/v1/keys/{key['id']}", None, 204, key=self.admin)
        self.ask("PUT", "/v1/tenants/other", {"quota": {"sandboxes": 3}}, 200, key=self.admin)
        volume = self.ask("POST", "/v1/volumes", {"name": "recorded"}, 201).json()
        self.ask("DELETE", f"/v1/volumes/{volume['id']}", None, 204)
        made = self.make(timeout_ms=60000)
        self.ask("POST", f"/v1/sandboxes/{made}/snapshots", {"name": "kept"}, 201)
        forks = self.ask("POST", f"/v1/sandboxes/{made}/fork", {"count": 1}, 201).json()["sandboxes"]
        self.ask("DELETE", "/v1/templates/kept", None, 204)
        for each in (made, forks[0]["sandbox"]["id"]):
            self.ask("DELETE", f"/v1/sandboxes/{each}", None, 204)
        ids = json.loads(self.server.call("key", "ls", "--json").stdout)["keys"]
        for act, fields in (("key.create", {"tenant": "local"}), ("key.created", {"id": key["id"]}), ("key.revoke", {"id": key["id"]}), ("tenant.set", {}), ("volume.create", {}),
                            ("volume.remove", {"volume": volume["id"]}), ("sandbox.snapshot", {"sandbox": made}), ("sandbox.fork", {"sandbox": made, "count": 1}),
                            ("template.remove", {"template": "kept"}), ("server.start", {})):
            self.assertTrue(self.recorded("admin", act=act), act)
            found = [event for event in self.recorded("admin", act=act) if all(event.get(name, event["data"].get(name)) == value for name, value in fields.items())]
            self.assertTrue(found, (act, fields))
        revoke, = self.recorded("admin", act="key.revoke", id=key["id"])
        self.assertIn(revoke["data"]["key"], [each["id"] for each in ids])
        # The command line's, without the server.
        self.assertTrue([event for event in self.recorded("admin", act="key.create") if "user" in event["data"]])
        self.assertNotIn(key["key"], json.dumps(records(self.server)))

    def test_who_is_refused_is_recorded_and_cannot_fill_the_log(self):
        before = len(self.recorded("auth.refused"))
        for _ in range(100):
            self.ask("GET", "/v1/sandboxes", None, 401, key="e2b_" + "0" * 40)
        reader = self.server.new_key("--scope", "read")
        self.ask("POST", "/v1/sandboxes", {}, 403, key=reader)
        self.ask("GET", "/v1/sandboxes", None, 403, key=reader, headers={"X-Paddock-Tenant": "other"})
        self.assertTrue(until(lambda: len(self.recorded("auth.refused")) > before))
        refused = self.recorded("auth.refused")[before:]
        self.assertLess(len(refused), 60)
        self.assertEqual({event["verdict"] for event in refused}, {"deny"})
        self.assertTrue({event["data"]["status"] for event in refused} <= {401, 403})

    def test_runs_of_the_same_user_are_in_the_same_log(self):
        done = self.server.call("run", "--json", "--agent", "runner", "--", "sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 5, done.stderr)
        run = json.loads(done.stdout)["id"]
        start, = self.recorded("run.start", sandbox=run)
        end, = self.recorded("run.end", sandbox=run)
        self.assertEqual((start["span"], start["agent"], end["data"]["outcome"]), (end["span"], "runner", {"kind": "exited", "code": 5}))

    def test_builds_are_recorded_with_all_that_they_run(self):
        body = {"name": "built", "steps": [{"type": "RUN", "args": ["echo made"]}]}
        self.ask("POST", "/v1/templates/build", body, 200)
        begin, = self.recorded("admin", act="template.build", name="built")
        end, = self.recorded("admin", act="template.built", name="built")
        self.assertEqual((begin["span"], begin["data"]["steps"]), (end["span"], ["RUN echo made"]))
        self.assertNotIn("error", end["data"])
        made = [event for event in self.recorded("sandbox.create") if event.get("parent") == begin["span"]]
        self.assertTrue(made and made[0]["trace"] == begin["trace"])

    def test_values_of_variables_are_nowhere_in_the_records(self):
        plain = {name: f"plain-{name}-zq17" for name in ("policy", "env", "secret", "e2b", "build", "command", "code")}
        made = self.make(policy={"version": 1, "env": {"set": {"FROM_POLICY": plain["policy"]}}}, env={"FROM_ENV": plain["env"]}, secrets={"FROM_SECRETS": plain["secret"]})
        create, = self.recorded("sandbox.create", sandbox=made)
        self.assertEqual(create["data"]["asked"]["env"], {"set": ["FROM_POLICY"]})
        other = self.server.create(envVars={"FROM_E2B": plain["e2b"]})["sandboxID"]
        seen = self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "env", "env": {"FROM_EXEC": plain["command"]}}, 200).json()["stdout"]
        for name in ("policy", "env", "command"):
            self.assertIn(plain[name], seen)
        self.ask("POST", "/v1/templates/build", {"name": "variables", "steps": [{"type": "ENV", "args": ["FROM_BUILD", plain["build"]]}]}, 200)
        build, = self.recorded("admin", act="template.build", name="variables")
        self.assertEqual(build["data"]["steps"], ["ENV FROM_BUILD=…"])
        for each in (made, other):
            self.server.kill(each)
        self.assertTrue(until(lambda: self.recorded("sandbox.end", sandbox=other)))
        everything = json.dumps(records(self.server))
        self.assertIn("FROM_E2B", everything)
        for name, value in plain.items():
            self.assertNotIn(value, everything, name)

    def test_what_is_refused_costs_no_record(self):
        made = self.make()
        self.ask("POST", f"/v1/sandboxes/{made}/pause", {}, 200)
        before = len(self.recorded("admin"))
        for method, path, body, status in (
                ("POST", "/v1/volumes", {"name": "../../x"}, 400), ("POST", "/v1/volumes", {"name": "x" * 60000}, 400), ("POST", "/volumes", {"name": "a b"}, 400),
                ("DELETE", "/v1/volumes/none", None, 404), ("DELETE", "/volumes/none", None, 404), ("DELETE", "/v1/templates/none", None, 404),
                ("DELETE", "/templates/none", None, 404), ("DELETE", "/v1/templates/base", None, 403), ("POST", "/templates/tags", {"target": "none", "tags": ["a"]}, 404),
                ("DELETE", "/templates/tags", {"name": "none", "tags": ["a"]}, 404), ("POST", "/v1/keys", {"scopes": ["everything"]}, 400), ("DELETE", "/v1/keys/none", None, 404),
                ("PUT", "/v1/tenants/Wrong", {}, 400), ("PUT", "/v1/tenants/right", {"policy": "no-such-preset"}, None),
                ("POST", f"/v1/sandboxes/{made}/timeout", {"timeout_ms": 1000}, 409), ("POST", f"/sandboxes/{made}/timeout", {"timeout": 1}, 409),
                ("PUT", f"/v1/sandboxes/{made}/network", {"allow": ["a.example"]}, 409), ("PUT", f"/sandboxes/{made}/network", {}, 409),
                ("PUT", "/v1/templates/files/nothash", b"x", 400), ("PUT", "/templates/upload/nopermit", b"x", 404)):
            answer = self.ask(method, path, body, status, key=self.admin)
            self.assertGreaterEqual(answer.status, 400, (path, answer))
        self.assertEqual([event["data"] for event in self.recorded("admin")[before:]], [])
        self.server.kill(made)

    def test_what_was_recorded_and_then_failed_is_told_in_the_same_span(self):
        self.ask("PUT", "/v1/tenants/narrow", {"quota": {"disk_bytes": 1 << 20}}, 200, key=self.admin)
        narrow = self.server.new_key("--tenant", "narrow")
        answer = self.ask("POST", "/v1/volumes", {"name": "large", "quota_bytes": 1 << 40}, key=narrow)
        self.assertGreaterEqual(answer.status, 400, answer)
        self.assertTrue(until(lambda: len(self.recorded("admin", tenant="narrow", act="volume.create")) == 2))
        act, failed = self.recorded("admin", tenant="narrow", act="volume.create")
        self.assertEqual((act["verdict"], act["data"]["name"], failed.get("verdict"), failed["span"]), ("allow", "large", None, act["span"]))
        self.assertEqual(failed["data"]["failed"], answer.json()["error"])
        self.assertEqual(failed["data"]["message"], answer.json()["message"])
        made = self.make()
        self.ask("POST", f"/v1/sandboxes/{made}/files/move", {"source": "/nothing/here", "destination": "/tmp/x"}, 404)
        self.assertTrue(until(lambda: len(self.recorded("file.write", sandbox=made)) == 2))
        act, failed = self.recorded("file.write", sandbox=made)
        self.assertEqual((act["verdict"], failed["data"]["failed"], failed["span"]), ("allow", "not_found", act["span"]))
        self.server.kill(made)

    def test_what_is_long_is_cut(self):
        hosts = [f"host-{number}.example" for number in range(900)]
        made = self.make(policy={"version": 1, "network": {"allow": hosts}}, metadata={"long": "x" * 1000})
        create, = self.recorded("sandbox.create", sandbox=made)
        self.assertLess(len(json.dumps(create["data"]["asked"])), 10000)
        self.assertIn("cut, of 900", json.dumps(create["data"]["asked"]))
        self.assertRegex(create["data"]["asked_sha256"], "^[0-9a-f]{64}$")
        self.server.kill(made)

    def start_cat(self, made):
        """Its pid. It reads its stdin, and stays when that is closed."""
        message = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "cat > /tmp/typed; sleep 1000"]}, "stdin": True, "tag": "cat"}).encode()
        connection = self.server.connection()
        self.addCleanup(connection.close)
        connection.request("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message,
                           {**self.server.data_headers(made), "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"})
        answer = connection.getresponse()
        size = int.from_bytes(answer.read(5)[1:], "big")
        return json.loads(answer.read(size))["event"]["start"]["pid"]

    def test_signals_input_and_contexts_are_recorded(self):
        box = self.server.create()
        made, pid = box["sandboxID"], self.start_cat(box)
        for _ in range(20):
            self.ask("POST", f"/v1/sandboxes/{made}/processes/{pid}/input", b"never recorded\n", 204)
        self.ask("POST", f"/v1/sandboxes/{made}/processes/{pid}/input?close=1", b"", 204)
        self.assertTrue(until(lambda: any(event["data"].get("closed") for event in self.recorded("command.input", sandbox=made))))
        inputs = self.recorded("command.input", sandbox=made, pid=pid)
        self.assertEqual(sum(event["data"]["bytes"] for event in inputs), 20 * 15)
        self.assertLess(len(inputs), 20)
        self.assertNotIn("never recorded", json.dumps(records(self.server)))
        self.ask("POST", f"/v1/sandboxes/{made}/processes/{pid}/signal", {"signal": "SIGKILL"}, 204)
        self.ask("POST", f"/v1/sandboxes/{made}/processes/999999/signal", {"signal": "SIGTERM"}, 404)
        self.assertTrue(until(lambda: len(self.recorded("command.signal", sandbox=made)) == 3))
        sent, other, failed = self.recorded("command.signal", sandbox=made)
        self.assertEqual((sent["data"], sent["verdict"]), ({"pid": pid, "signal": "SIGKILL"}, "allow"))
        self.assertEqual((failed["span"], failed["data"]["failed"]), (other["span"], "not_found"))
        context = self.ask("POST", f"/v1/sandboxes/{made}/contexts", {"language": "python"}).json()
        self.ask("POST", f"/v1/sandboxes/{made}/contexts", {"language": "cobol"}, 400)
        if "id" in context:  # where the host has an interpreter
            self.ask("POST", f"/v1/sandboxes/{made}/contexts/{context['id']}/restart", {}, 204)
            self.ask("DELETE", f"/v1/sandboxes/{made}/contexts/{context['id']}", None, 204)
            acts = [(event["data"]["act"], event["data"].get("context"), event["data"]["language"]) for event in self.recorded("code.context", sandbox=made)]
            self.assertEqual(acts, [("create", None, "python"), ("restart", context["id"], "python"), ("remove", context["id"], "python")])
        self.server.kill(made)

    def test_envd_s_signals_and_input_are_recorded(self):
        made = self.server.create()
        rpc = lambda method, message: self.ask("POST", f"/process.Process/{method}", message, headers=self.server.data_headers(made))
        self.start_cat(made)
        chosen = {"process": {"tag": "cat"}}
        self.assertEqual(rpc("SendInput", {**chosen, "input": {"stdin": "eHh4"}}).status, 200)
        self.assertEqual(rpc("SendSignal", {**chosen, "signal": "SIGNAL_SIGKILL"}).status, 200)
        box = made["sandboxID"]
        self.assertEqual([event["data"] for event in self.recorded("command.signal", sandbox=box)], [{"tag": "cat", "signal": "SIGKILL"}])
        self.server.kill(box)
        self.assertTrue(until(lambda: self.recorded("sandbox.end", sandbox=box)))
        self.assertEqual([event["data"] for event in self.recorded("command.input", sandbox=box)], [{"tag": "cat", "bytes": 3}])

    def test_files_for_templates_are_recorded(self):
        self.ask("PUT", f"/v1/templates/files/{'a' * 64}", b"not looked at", 204)
        permit = self.ask("GET", f"/templates/any/files/{'b' * 64}", None, 201).json()["url"].rpartition("/")[2]
        self.ask("PUT", f"/templates/upload/{permit}", b"not looked at", 200)
        for letter in "ab":
            act, = self.recorded("admin", act="template.upload", files=letter * 64)
            self.assertEqual((act["tenant"], act["verdict"]), ("local", "allow"))

    def test_a_wake_up_call_is_recorded_with_who_called(self):
        made = self.make(auto_resume=True)
        self.ask("POST", f"/v1/sandboxes/{made}/pause", {}, 200)
        trace, parent = "5bf92f3577b34da6a3ce929d0e0e4736", "10f067aa0ba902b7"
        self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "true"}, 200, headers={"traceparent": f"00-{trace}-{parent}-01"})
        woken, = [event for event in self.recorded("sandbox.state", sandbox=made) if event["data"].get("because") == "auto resume"]
        self.assertEqual((woken["trace"], woken["parent"], woken["data"]["state"]), (trace, parent, "resuming"))
        self.assertEqual([event["data"]["state"] for event in self.recorded("sandbox.state", sandbox=made)], ["running", "pausing", "paused", "resuming", "running"])
        self.server.kill(made)

    def test_who_tries_at_a_sandbox_or_with_an_old_key_is_told_to_its_tenant(self):
        tenant = self.server.new_key("--tenant", "tried")
        made = self.ask("POST", "/v1/sandboxes", {}, 201, key=tenant).json()
        self.addCleanup(self.server.request, "DELETE", f"/v1/sandboxes/{made['id']}", key=tenant)
        headers = {"E2b-Sandbox-Id": made["id"], "E2b-Sandbox-Port": "49983", "X-Access-Token": "wrong"}
        old = self.server.new_key("--tenant", "tried", "--expires", "1ms")

        def at_the_sandbox():  # a few a second are recorded: other cases may have had these
            self.ask("POST", "/process.Process/List", {}, headers=headers)
            return self.recorded("auth.refused", tenant="tried", sandbox=made["id"])

        def with_the_key():
            self.ask("GET", "/v1/sandboxes", None, 401, key=old)
            return [event for event in self.recorded("auth.refused", tenant="tried") if "key" in event["data"]]
        self.assertTrue(until(at_the_sandbox))
        self.assertTrue(until(with_the_key))

    def test_many_addresses_cannot_fill_the_log_either(self):
        before = len(self.recorded("auth.refused"))
        for last in range(2, 202):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30, source_address=(f"127.0.0.{last}", 0))
            with contextlib.closing(connection):
                self.ask("GET", "/v1/sandboxes", None, 401, key="e2b_" + "0" * 40, connection=connection)
        self.assertLess(len(self.recorded("auth.refused")) - before, 150)

    # ---- the stream

    def test_one_tenant_cannot_take_every_place_of_a_listener(self):
        crowd, other = self.server.new_key("--tenant", "crowd"), self.server.new_key("--tenant", "quiet")
        with contextlib.ExitStack() as streams:
            for _ in range(16):
                streams.enter_context(Stream(self.server, key=crowd))
            self.ask("GET", "/v1/events", None, 429, key=crowd)
            with Stream(self.server, key=other) as stream:
                self.assertEqual(stream.answer.status, 200)
        self.assertTrue(until(lambda: self.listens(crowd)))

    def listens(self, key):
        with Stream(self.server, key=key) as stream:
            return stream.answer.status == 200

    def test_who_listens_hears_what_happens(self):
        with Stream(self.server) as lines, Stream(self.server, accept="text/event-stream") as sent:
            self.assertEqual(lines.answer.headers["Content-Type"], "application/x-ndjson")
            self.assertEqual(sent.answer.headers["Content-Type"], "text/event-stream")
            made = self.make()
            self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "true"}, 200)
            self.ask("DELETE", f"/v1/sandboxes/{made}", None, 204)
            for stream in (lines, sent):
                stream.wait(self, "sandbox.create", sandbox=made)
                stream.wait(self, "command.end", sandbox=made)
                stream.wait(self, "sandbox.end", sandbox=made)
            self.assertIn("event: sandbox.end", sent.lines)

    def test_filters_and_tenants_are_kept(self):
        other = self.server.new_key("--tenant", "stranger")
        made = self.make()
        with Stream(self.server, f"?sandbox={made}&kind=command") as mine, Stream(self.server, key=other) as stranger, Stream(self.server, "?tenant=*", key=self.admin) as all_of_them:
            self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"command": "true"}, 200)
            theirs = self.ask("POST", "/v1/sandboxes", {}, 201, key=other).json()["id"]
            self.ask("DELETE", f"/v1/sandboxes/{theirs}", None, 204, key=other)
            stranger.wait(self, "sandbox.end", sandbox=theirs)
            all_of_them.wait(self, "sandbox.end", sandbox=theirs)
            all_of_them.wait(self, "command.end", sandbox=made)
            mine.wait(self, "command.end", sandbox=made)
            self.assertEqual({event["kind"] for event in mine.events}, {"stream.open", "command.start", "command.end"})
            self.assertEqual({event.get("tenant") for event in stranger.events if not event["kind"].startswith("stream.")}, {"stranger"})
        self.ask("DELETE", f"/v1/sandboxes/{made}", None, 204)
        self.ask("GET", "/v1/events?tenant=*", None, 403)
        self.ask("GET", "/v1/events?kind=nonsense", None, 400)
        self.ask("GET", "/v1/events?colour=red", None, 400)

    def test_a_reader_that_does_not_read_loses_events_and_is_told(self):
        made = self.make()
        connection = self.server.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/events", headers={"X-API-Key": self.server.key, "Accept": "application/x-ndjson"})
        answer = connection.getresponse()
        for _ in range(300):  # 9 MB of arguments: more than socket buffers and the queue hold
            self.ask("POST", f"/v1/sandboxes/{made}/exec?wait=1", {"argv": ["true", "x" * 30000]}, 200)
        events = (json.loads(line) for line in answer)
        lost = next(event["data"]["count"] for event in events if event["kind"] == "stream.lost")
        self.assertGreater(lost, 0)
        self.ask("DELETE", f"/v1/sandboxes/{made}", None, 204)

    # ---- everything so far, last by its name

    def test_z_nothing_is_in_an_event_that_the_document_does_not_have(self):
        all_of_them = records(self.server)
        self.assertGreater(len(all_of_them), 50)
        event_schema.check(self, all_of_them)


@unittest.skipUnless("root" in paddock.USERS, "not run as root")
class EventsAsRoot(Events, unittest.TestCase):
    user = "root"


@unittest.skipUnless("user" in paddock.USERS, "the programs are not where an ordinary user can reach them")
class EventsAsUser(Events, unittest.TestCase):
    user = "user"


class EventsEndTest(unittest.TestCase):
    def test_a_stream_ends_with_the_server(self):
        with Server(user=paddock.USERS[0]) as server:
            with Stream(server) as stream:
                server.stop()
                self.assertTrue(until(lambda: stream.ended, 30))
            stops = [event for event in records(server) if event["data"].get("act") == "server.stop"]
            self.assertEqual(len(stops), 1)
            server.start()

    def test_commands_beside_a_server_follow_it_to_its_log(self):
        user = paddock.USERS[0]
        place = paddock.folder(user)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        policy = os.path.join(place, "policy.toml")
        with open(policy, "w") as file:
            file.write(f'version = 1\nextends = "server"\n[audit]\npath = "{place}/log"\n')
        os.chmod(policy, 0o644)
        with Server(user=user, arguments=["--policy", policy]) as server:
            with open(os.path.join(server.state, "audit.place")) as file:
                self.assertEqual(file.read(), f"{place}/log\n")
            self.assertEqual(server.call("run", "--", "true").returncode, 0)
            self.assertFalse(os.path.exists(os.path.join(server.state, "audit")))
            with open(os.path.join(place, "log", "00000001.jsonl")) as file:
                kinds = [(event["kind"], event["data"].get("act")) for event in map(json.loads, file)]
            for each in (("admin", "server.start"), ("admin", "key.create"), ("run.start", None), ("run.end", None)):
                self.assertIn(each, kinds)
            shown = server.call("audit", "show", "--json")
            self.assertIn("server.start", shown.stdout, shown)
            granted = server.call("run", "--write", f"{place}/log", "--", "true")
            self.assertNotEqual(granted.returncode, 0)
            self.assertIn("keeps its records", granted.stderr)
            server.stop()
            server.arguments = []
            server.start()
            self.assertFalse(os.path.exists(os.path.join(server.state, "audit.place")))

    @unittest.skipIf(os.geteuid() != 0, "a small filesystem of the test's own needs root")
    def test_without_room_for_records_nothing_new_happens_but_ends_do(self):
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", place], check=True)
            try:
                policy = os.path.join(place, "policy.toml")
                with open(policy, "w") as file:
                    file.write(f'version = 1\nextends = "server"\n[audit]\npath = "{place}/audit"\n[danger]\nallow = ["network.wide"]\n')
                with Server(arguments=["--policy", policy]) as server:
                    self.fill(server, place)
            finally:
                subprocess.run(["umount", place], check=True)

    def fill(self, server, place):
        admin = server.new_key("--scope", "admin")
        first, second = server.create()["sandboxID"], server.create()["sandboxID"]
        self.assertEqual(server.request("GET", "/health").json()["status"], "ok")
        with open(os.path.join(place, "filler"), "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(b"x" * 4096)
            with contextlib.suppress(OSError):
                while True:
                    filler.write(b"x")
        execute = lambda: server.request("POST", f"/v1/sandboxes/{first}/exec?wait=1", {"command": "true"})
        self.assertTrue(until(lambda: execute().status == 507), execute())  # what is left of the last page is used up first
        for method, path, body in (("POST", "/v1/sandboxes", {}), ("POST", "/v2/sandboxes", {"templateID": "base"}), ("POST", "/v1/keys", {}), ("PUT", "/v1/tenants/x", {}),
                                   ("POST", "/v1/volumes", {"name": "v"}), ("POST", f"/v1/sandboxes/{first}/timeout", {"timeout_ms": 1000})):
            answer = server.request(method, path, body, key=admin)
            self.assertEqual(answer.status, 507, (path, answer))
            self.assertIn("record", answer.json()["message"])
        self.assertEqual(server.request("GET", "/health").json()["status"], "degraded")
        self.assertEqual(server.request("GET", f"/v1/sandboxes/{first}").status, 200)
        self.assertEqual(server.request("GET", "/v1/sandboxes").status, 200)
        self.assertEqual(server.request("DELETE", f"/v1/sandboxes/{first}").status, 204)
        os.unlink(os.path.join(place, "filler"))
        self.assertTrue(until(lambda: server.request("POST", f"/v1/sandboxes/{second}/exec?wait=1", {"command": "true"}).status == 200))
        self.assertTrue(until(lambda: server.request("GET", "/health").json()["status"] == "ok"))


if __name__ == "__main__":
    paddock.main()
