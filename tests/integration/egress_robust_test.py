"""Egress under attack, and without it: what is bounded stays bounded, and what breaks closes."""
import contextlib
import json
import os
import resource
import signal
import time

from support import internet, paddock
from support.internet import allow, as_each_user, get

MIB = 1 << 20
# Each program begins with a connection that the world sees: then egress is at work.
START = "import socket, sys, time; first = socket.create_connection(('good.example', 9999))\n"
WAIT = START + "sys.stdin.readline()\n"
TRY_AGAIN = WAIT + """
def attempt(host):
    try:
        with socket.create_connection((host, 80), 20) as s:
            s.sendall(b'GET / HTTP/1.1\\r\\nHost: good.example\\r\\nConnection: close\\r\\n\\r\\n')
            return 'answered' if s.recv(100) else 'closed'
    except OSError as error: return type(error).__name__
try: print('closed' if first.recv(1) == b'' else 'open')
except OSError: print('closed')
print([attempt(host) for host in ('good.example', '203.0.113.10', '10.9.8.7', '192.0.2.250')])
"""
HOLD = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.getaddrinfo('good.example', 9999, socket.AF_INET)[0][4]
kept = []
for n in range(int(sys.argv[1])):
    s = socket.socket(); s.connect(address); kept.append(s)
sys.stdin.readline()
print(len(kept))
"""
FLOOD = WAIT + """
s, block, sent = socket.create_connection(('good.example', 80)), {block} * 10000, 0
try:
    s.sendall({head})
    while sent < {size}:
        s.sendall(block); sent += len(block)
except OSError: pass
print(sent)
"""
READ_ON = WAIT + """
s = socket.create_connection(('good.example', 80)); s.sendall(b'GET /{page} HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n'); seen = 0
try:
    while seen < {size} and (part := s.recv(65536)): seen += len(part)
except OSError: pass
print(seen)
"""
INTERIM = WAIT + """
s, seen = socket.create_connection(('good.example', 80)), b''
s.sendall(b'GET /interim?count={count} HTTP/1.1\\r\\nHost: good.example\\r\\nConnection: close\\r\\n\\r\\n')
try:
    while part := s.recv(65536): seen += part
except OSError: pass
print(b'at last' in seen)
"""
DRIP = START + """
kept = []
for _ in range({count}):
    s = socket.create_connection(('good.example', 80)); s.sendall(b'GET / HTTP/1.1\\r\\nX: '); kept.append(s)
end = time.monotonic() + 3
while time.monotonic() < end:
    for s in kept:
        try: s.send(b'a')
        except OSError: pass
    time.sleep(0.2)
"""


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def egress_of(pid):
    """The process id of a sandbox's egress, somewhere beneath `paddock run`."""
    found, waiting = [], [pid]
    while waiting:
        pid = waiting.pop()
        waiting += children(pid)
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
            if file.read() == "paddock-egress\n":
                found.append(pid)
    return found[0] if found else None


def memory_of(pid):
    """Resident bytes, and the most there ever were."""
    with open(f"/proc/{pid}/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return tuple(int(lines[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))


class Sandbox:
    """A sandbox that is running, ended at the latest with the block."""

    def __init__(self, net, user, code, *options, arguments=()):
        net.clear()
        self.process = net.popen("run", "--json", *options, "--", "python3", "-c", code, *arguments, user=user, stdin=-1, stdout=-1, stderr=-1, text=True)
        self.net = net

    def egress(self):
        """Waits until the program is connected; the process id of its egress."""
        end = time.monotonic() + 60
        while not any(entry["port"] == 9999 for entry in self.net.world.log()["tcp"]):
            if self.process.poll() is not None:
                raise AssertionError(f"the sandbox has ended: {self.process.communicate()}")
            if time.monotonic() > end:
                raise AssertionError("the program inside got no connection")
            time.sleep(0.01)
        if pid := egress_of(self.process.pid):
            return pid
        raise AssertionError("no process paddock-egress beneath paddock run")

    def finish(self):
        """Lets the program go on, and returns the result."""
        output, errors = self.process.communicate("\n", timeout=180)
        try:
            return json.loads(output)
        except json.JSONDecodeError:
            raise AssertionError(f"no JSON: {output!r} {errors!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class RobustTest(internet.Case):
    def wait_for(self, what, condition):
        end = time.monotonic() + 120
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what} did not happen")
            time.sleep(0.02)

    def good_works_elsewhere(self, user):
        result = self.net.run_json(*allow("good.example"), "--", "curl", "-sS", "http://good.example/", user=user)
        self.assertIn("world good.example", result.get("stdout", ""), internet.describe(result))

    @as_each_user
    def test_a_run_ends_while_unclear_bytes_wait_for_their_rate(self, user):
        code = "import socket; s = socket.create_connection(('good.example', 7)); s.sendall(b'A' * 8000)"
        result = self.net.run_json(*allow("good.example"), "--net-up-rate", "2K", "--", "python3", "-c", code, user=user)
        self.assert_exited(result)
        self.assertEqual([note for note in result["notes"] if "summary" in note], [])

    @as_each_user
    def test_when_egress_is_killed_the_network_closes_and_the_program_goes_on(self, user):
        with Sandbox(self.net, user, TRY_AGAIN, *allow("good.example")) as sandbox:
            egress = sandbox.egress()
            self.net.clear()
            os.kill(egress, signal.SIGKILL)
            self.wait_for("the end of egress", lambda: not self.is_alive(egress))
            result = sandbox.finish()
            self.assert_exited(result)
            self.assertTrue(result["stdout"].startswith("closed\n"), result["stdout"])
            self.assertNotIn("answered", result["stdout"])
            log = self.net.world.log()
            self.assertEqual((log["tcp"], log["dns"], self.net.machine.log()["tcp"]), ([], [], []))
            self.assertTrue(any(denial["layer"] == "network" for denial in result["denials"]) or "egress" in json.dumps(result), internet.describe(result))

    @as_each_user
    def test_egress_ends_with_its_sandbox(self, user):
        with Sandbox(self.net, user, WAIT, *allow("good.example")) as sandbox:
            egress = sandbox.egress()
            sandbox.finish()
        self.assertFalse(self.is_alive(egress))
        with Sandbox(self.net, user, WAIT, *allow("good.example")) as sandbox:
            egress = sandbox.egress()
            sandbox.process.kill()
            self.wait_for("the end of egress", lambda: not self.is_alive(egress))

    @staticmethod
    def is_alive(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    @as_each_user
    def test_egress_runs_with_little(self, user):
        """It reads what the program sends, so it has no rights to lose."""
        with Sandbox(self.net, user, WAIT, *allow("good.example")) as sandbox:
            with open(f"/proc/{sandbox.egress()}/status") as file:
                status = dict(line.rstrip("\n").split(":", 1) for line in file)
            self.assertEqual(int(status["CapEff"], 16), 0)
            self.assertEqual(status["NoNewPrivs"].strip(), "1")
            self.assertEqual(status["Seccomp"].strip(), "2")
            self.assert_exited(sandbox.finish())

    def watched(self, user, code, *options):
        """Runs the program to its end: the most memory that egress had meanwhile, and the result."""
        with Sandbox(self.net, user, code, *options) as sandbox:
            egress, most = sandbox.egress(), 0
            sandbox.process.stdin.write("\n")
            sandbox.process.stdin.flush()
            self.good_works_elsewhere(user)
            while self.is_alive(egress):
                with contextlib.suppress(OSError, KeyError):  # it may end just now
                    most = max(most, memory_of(egress)[1])
                time.sleep(0.02)
            return most, sandbox.finish()

    @as_each_user
    def test_a_head_without_end_is_bounded(self, user):
        for head in (b"GET / HTTP/1.1\r\nHost: good.example\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\nHost: good.example\r\n"):
            block = b"X: y\r\n" if head.endswith(b"\n") else b"aaaaaa"
            most, result = self.watched(user, FLOOD.format(head=head, block=block, size=100 * MIB), *allow("good.example"))
            self.assertLess(most, paddock.resident(40 << 10) << 10)
            self.assertLess(int(result["stdout"]), 100 * MIB, "all of it was taken")
            self.assertEqual([entry for entry in self.net.world.log()["http"] if len(entry["headers"]) > 10], [])

    @as_each_user
    def test_a_body_without_end_is_streamed(self, user):
        head = b"POST /sink HTTP/1.1\r\nHost: good.example\r\nContent-Length: 200000000\r\n\r\n"
        most, result = self.watched(user, FLOOD.format(head=head, block=b"aaaaaa", size=150 * MIB), *allow("good.example"))
        self.assertLess(most, paddock.resident(40 << 10) << 10)
        self.assertGreaterEqual(result["usage"]["net_tx_bytes"], 100 * MIB)

    @as_each_user
    def test_an_answer_without_end_is_streamed(self, user):
        for page, least, most_read in (("endless", 200 * MIB, 201 * MIB), ("endless-header", 0, 10 * MIB)):
            most, result = self.watched(user, READ_ON.format(page=page, size=200 * MIB), *allow("good.example"))
            self.assertLess(most, paddock.resident(40 << 10) << 10)
            self.assertTrue(least <= int(result["stdout"]) <= most_read, internet.describe(result))

    @as_each_user
    def test_interim_responses_are_bounded(self, user):
        for count, comes in ((10, True), (100_000, False)):
            _, result = self.watched(user, INTERIM.format(count=count), *allow("good.example"))
            self.assertEqual(result["stdout"], f"{comes}\n", internet.describe(result))

    @as_each_user
    def test_slow_heads_do_not_stop_others(self, user):
        with Sandbox(self.net, user, DRIP.format(count=200), *allow("good.example"), "--connections", "250") as sandbox:
            egress = sandbox.egress()
            self.good_works_elsewhere(user)
            result = sandbox.finish()
            self.assert_exited(result)
            self.assertFalse(self.is_alive(egress))

    @as_each_user
    def test_a_program_that_does_not_read_is_not_buffered_for(self, user):
        code = START + ("s = socket.create_connection(('good.example', 80))\n"
                        "s.sendall(b'GET /endless HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n'); sys.stdin.readline()")
        with Sandbox(self.net, user, code, *allow("good.example")) as sandbox:
            egress = sandbox.egress()
            self.wait_for("the request", lambda: self.net.world.log()["http"])
            time.sleep(1)
            self.assertLess(memory_of(egress)[1], paddock.resident(40 << 10) << 10)
            sandbox.finish()

    @as_each_user
    def test_ten_thousand_idle_connections_cost_little(self, user):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < 20000:
            self.skipTest("10,000 connections need 20,000 descriptors, and the hard limit here is less (ulimit -Hn)")
        count = min(10000, (hard - 300) // 2)  # two descriptors each, and a few besides
        options = [*allow("good.example"), "--connections", str(count + 10), "--open-files", str(count + 100)]
        with Sandbox(self.net, user, HOLD, *options, arguments=[str(count)]) as sandbox:
            egress = sandbox.egress()
            self.wait_for("all connections", lambda: sandbox.process.poll() is not None or len(self.net.world.log()["tcp"]) >= count)
            self.assertEqual(len(self.net.world.log()["tcp"]), count, sandbox.process.poll() and sandbox.process.communicate())
            resident = memory_of(egress)[0]
            print(f"{count} idle connections as {user}: egress holds {resident / MIB:.1f} MiB, {resident / count / 1024:.1f} KiB each")
            self.assertLess(resident, 300 * MIB)
            self.good_works_elsewhere(user)
            result = sandbox.finish()
            self.assertEqual(result["stdout"].split(), [str(count)])

    @as_each_user
    def test_a_flood_of_connections_in_one_sandbox_leaves_others_alone(self, user):
        flood = START + ("kept = []\nfor _ in range(3000):\n"
                         "  try: s = socket.create_connection(('good.example', 80), 20); kept = (kept + [s])[-50:]\n"
                         "  except OSError: pass\n")
        with Sandbox(self.net, user, flood, *allow("good.example"), "--connections", "20") as sandbox:
            sandbox.egress()
            for _ in range(3):
                self.good_works_elsewhere(user)
            result = sandbox.finish()
            self.assertIn("connections", [hit["limit"] for hit in result["limits_hit"]])

    @as_each_user
    def test_odd_bytes_to_the_listener_harm_nobody(self, user):
        junk = ["\x16\x03\x01\xff\xff" + "\xff" * 300, "\x05\xff", "\x05\x01\x00\x05\x01\x00\x03\x00\0\0", "\x04\x01\0\x50\0\0\0\x01\0", "\0" * 500, "\r\n\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "A" * 70000, "CONNECT " + "a" * 20000 + ":1 HTTP/1.1\r\n\r\n", "CONNECT good.example:999999 HTTP/1.1\r\nHost: x\r\n\r\n"]
        steps = [{"do": "proxy", "send": [text], "close": True} for text in junk]
        steps.append({"do": "proxy", "send": [get("good.example", "http://good.example/")]})
        answers, _ = self.inside(user, steps, *allow("good.example"))
        self.assertIn("world good.example", "".join(answers[-1]["received"]))


if __name__ == "__main__":
    paddock.main()
