"""The end of a living sandbox comes also without its server, is told to whoever asks, and is remembered."""
import json
import os
import signal
import time
import unittest

from support import paddock
from support.leftovers import children, read
from support.server import Server, until


def alive(pid):
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def family(server):
    """The keepers and egress processes that the server started, and what runs in their sandboxes."""
    found, todo = [], children(server.process.pid)
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children(pid)
    return found


class LifetimeTest(unittest.TestCase):
    def each_user(self, test, **options):
        for user in paddock.USERS:
            with self.subTest(user=user), Server(user, **options) as server:
                try:
                    test(server)
                finally:
                    if server.process.poll() is not None:
                        server.start()  # so that it ends what is left

    def make(self, server, **body):
        answer = server.request("POST", "/v1/sandboxes", body)
        self.assertEqual(answer.status, 201, answer)
        return answer.json()

    def missing(self, server, sandbox):
        answer = server.request("GET", f"/v1/sandboxes/{sandbox['id']}")
        self.assertEqual(answer.status, 404, answer)
        return answer.json()["message"]

    def exec(self, server, sandbox, *argv, **body):
        return server.request("POST", f"/v1/sandboxes/{sandbox['id']}/exec?wait=1", {"argv": list(argv), **body}).json()

    # ---- without a server

    def test_the_end_of_life_comes_without_a_server_and_is_known_afterwards(self):
        def test(server):
            sandbox = self.make(server, timeout_ms=4000, policy={"network": {"allow": ["example.com"]}})
            others = family(server)
            self.assertTrue(any("egress" in read(f"/proc/{pid}/comm") for pid in others))
            server.kill9()
            self.assertTrue(all(map(alive, others)))
            self.assertTrue(until(lambda: not any(map(alive, others)), 20), "it outlives its time")
            server.start()
            self.assertIn("reached its time to live (4s)", self.missing(server, sandbox))
        self.each_user(test)

    def test_a_server_that_hangs_does_not_prolong_a_life(self):
        def test(server):
            self.make(server, timeout_ms=1500)
            others = family(server)
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                self.assertTrue(until(lambda: not any(alive(pid) for pid in others if pid != server.process.pid), 40))
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
        self.each_user(test)

    def test_a_moved_end_counts_and_a_paused_one_stays(self):
        def test(server):
            moved = self.make(server, timeout_ms=2000)
            answer = server.request("POST", f"/v1/sandboxes/{moved['id']}/timeout", {"timeout_ms": 60000})
            self.assertLess(answer.status, 300, answer)
            paused = self.make(server, timeout_ms=2000)
            self.assertLess(server.request("POST", f"/v1/sandboxes/{paused['id']}/pause", {}).status, 300)
            others = family(server)
            server.kill9()
            time.sleep(5)
            self.assertTrue(all(map(alive, others)))
            server.start()
            states = {each["id"]: each["state"] for each in server.request("GET", "/v1/sandboxes").json()["sandboxes"]}
            self.assertEqual(states, {moved["id"]: "running", paused["id"]: "paused"})
        self.each_user(test)

    def test_one_that_is_to_be_paused_is_paused_without_a_server(self):
        def test(server):
            sandbox = self.make(server, timeout_ms=4000, on_timeout="pause")
            self.exec(server, sandbox, "sh", "-c", "(while :; do date +%s >> /tmp/clock; sleep 0.2; done) > /dev/null 2>&1 &")
            keepers = children(server.process.pid)
            server.kill9()
            time.sleep(12)
            self.assertTrue(any(map(alive, keepers)))
            server.start()
            answer = server.request("GET", f"/v1/sandboxes/{sandbox['id']}").json()
            self.assertEqual(answer["state"], "paused", answer)
            self.assertLess(server.request("POST", f"/v1/sandboxes/{sandbox['id']}/resume", {"timeout_ms": 60000}).status, 300)
            time.sleep(1)
            clock = [int(line) for line in self.exec(server, sandbox, "cat", "/tmp/clock")["stdout"].split()]
            gaps = [after - before for before, after in zip(clock, clock[1:])]
            self.assertGreaterEqual(max(gaps), 6, gaps)  # it stood still, and goes on
        self.each_user(test)

    def test_files_are_kept_where_only_they_should_be(self):
        def test(server):
            body = {"templateID": "base", "timeout": 3, "autoPause": True, "autoPauseMemory": False}
            answer = server.request("POST", "/v2/sandboxes", body)
            self.assertEqual(answer.status, 201, answer)
            sandbox = {"id": answer.json()["sandboxID"]}
            self.exec(server, sandbox, "sh", "-c", "echo kept > /home/user/note")
            others = family(server)
            server.kill9()
            self.assertTrue(until(lambda: not any(map(alive, others)), 20))
            server.start()
            answer = server.request("GET", f"/v1/sandboxes/{sandbox['id']}").json()
            self.assertEqual(answer["state"], "paused", answer)
            self.assertLess(server.request("POST", f"/v1/sandboxes/{sandbox['id']}/resume", {}).status, 300)
            self.assertEqual(self.exec(server, sandbox, "cat", "/home/user/note")["stdout"], "kept\n")
        self.each_user(test)

    def test_idle_times_and_rules_hold_without_a_server(self):
        def test(server):
            idle = self.make(server, timeout_ms=600000, idle_timeout_ms=2000)
            busy = self.make(server, timeout_ms=600000, policy={"monitor": {"kill_if": {"memory": ">40M"}}})
            self.exec(server, busy, "sh", "-c", "(sleep 2; exec python3 -c 'b = bytearray(80 << 20); import time; time.sleep(600)') > /dev/null 2>&1 &")
            others = family(server)
            server.kill9()
            self.assertTrue(until(lambda: not any(map(alive, others)), 30), "something holds no more")
            server.start()
            self.assertIn("was idle for as long as it may be (2s)", self.missing(server, idle))
            self.assertIn("monitor.kill_if.memory", self.missing(server, busy))
        self.each_user(test)

    # ---- what is told

    def test_an_ended_one_is_remembered(self):
        def test(server):
            named = self.make(server, name="box", timeout_ms=2000)
            killed = self.make(server)
            self.assertLess(server.request("DELETE", f"/v1/sandboxes/{killed['id']}").status, 300)
            self.assertTrue(until(lambda: "ended" in server.request("GET", f"/v1/sandboxes/{named['id']}").json().get("message", ""), 30))
            for command in (["exec", "box", "--", "true"], ["logs", "box"], ["exec", named["id"], "--", "true"]):
                done = server.call(*command)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, r"ended \d+ seconds? ago: reached its time to live \(2s\)")
            server.stop()
            server.start()
            listed = server.call("ls", "-a").stdout
            self.assertIn("reached its time to live", listed)
            self.assertIn("it was killed", listed)
            ended = server.request("GET", "/v1/sandboxes?state=ended").json()["sandboxes"]
            self.assertEqual({each["id"] for each in ended}, {named["id"], killed["id"]})
            self.assertEqual(server.request("GET", "/v1/sandboxes").json()["sandboxes"], [])
            self.assertEqual(server.request("GET", f"/sandboxes/{named['id']}").status, 404)
        self.each_user(test)

    def test_create_says_when_it_ends(self):
        with Server(paddock.USERS[0]) as server:
            made = server.call("create")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertRegex(made.stdout, r"^\w+\n$")
            self.assertIn("ends, with its files, in 1h", made.stderr)
            self.assertIn("--timeout", made.stderr)
            self.assertIn("in 90s", server.call("create", "--timeout", "90s").stderr)
            self.assertEqual(json.loads(server.call("create", "--json").stdout)["timeout_ms"], 3600000)

    # ---- limits

    FILL = "import time; b = bytearray(200 << 20); time.sleep(10)"  # where memory is sampled, long enough to be seen

    def limited(self, server, **limits):
        return self.make(server, timeout_ms=600000, policy={"limits": limits})

    def test_the_memory_limit_is_named_everywhere(self):
        def test(server):
            # Without a cgroup the whole sandbox ends, so there is one for each.
            told = self.exec(server, self.limited(server, memory="64M"), "python3", "-c", self.FILL)
            self.assertEqual((told["outcome"]["kind"], told["outcome"]["limit"], told["outcome"]["value"]), ("limit", "memory", 64 << 20), told)
            self.assertGreater(told["outcome"]["peak"], 32 << 20)
            done = server.call("exec", self.limited(server, memory="64M")["id"], "--", "python3", "-c", self.FILL)
            self.assertIn("limit=memory value=64M peak=", done.stderr)
            self.assertIn("memory limit of 64M reached (peak ", self.e2b_command(server, self.limited(server, memory="64M")))
            event = self.e2b_cell(server, self.limited(server, memory="64M"))
            self.assertEqual(event["name"], "MemoryLimit", event)
            self.assertIn("memory limit of 64M reached (peak ", event["value"])
        self.each_user(test)

    def test_the_disk_limit_is_named_everywhere(self):
        def test(server):
            fill = "import os, time\nf = open('/home/user/big', 'wb')\nfor _ in range(200): f.write(os.urandom(1 << 20)); f.flush(); time.sleep(0.01)\ntime.sleep(30)"
            told = self.exec(server, self.limited(server, disk="32M"), "python3", "-c", fill)
            self.assertEqual((told["outcome"]["kind"], told["outcome"]["limit"], told["outcome"]["value"]), ("limit", "disk", 32 << 20), told)
            sandbox = self.limited(server, disk="32M")
            self.assertIn("disk limit of 32M reached (peak ", self.e2b_command(server, sandbox, fill))
            self.assertTrue(until(lambda: server.request("GET", f"/v1/sandboxes/{sandbox['id']}").status == 404, 20))
            self.assertIn("disk limit of 32M reached", self.missing(server, sandbox))
            event = self.e2b_cell(server, self.limited(server, disk="32M"), fill)
            self.assertEqual(event["name"], "DiskLimit", event)
        self.each_user(test)

    def data_headers(self, server, sandbox, port):
        return {**server.data_headers({"sandboxID": sandbox["id"], "envdAccessToken": sandbox["access_token"]}, port=port)}

    def e2b_command(self, server, sandbox, code=FILL):
        message = json.dumps({"process": {"cmd": "python3", "args": ["-c", code]}, "stdin": False}).encode()
        headers = {**self.data_headers(server, sandbox, 49983), "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        answer = server.request("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message, headers)
        self.assertEqual(answer.status, 200, answer)
        told = ""
        for _, message in server.envelopes(answer.body):
            told += message.get("event", {}).get("end", {}).get("error", "") + message.get("error", {}).get("message", "")
        return told

    def e2b_cell(self, server, sandbox, code=FILL):
        answer = server.request("POST", "/execute", {"code": code}, self.data_headers(server, sandbox, 49999))
        self.assertEqual(answer.status, 200, answer)
        events = [line for line in answer.lines() if line["type"] == "error"]
        self.assertEqual(len(events), 1, answer)
        return events[0]


if __name__ == "__main__":
    paddock.main()
