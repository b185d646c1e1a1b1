"""What breaks around a server, breaks alone: kills at random instants under load, clients that vanish, a full disk, no descriptors."""
import json
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from support import paddock
from support.leftovers import alive, children, named, of_server, read
from support.server import Server, until

STORM = float(os.environ.get("PADDOCK_STORM", "1"))


class Load(threading.Thread):
    """Creates a sandbox, uses it, ends it, again and again; remembers what went wrong."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.rounds, self.failures, self.over = server, 0, [], False

    def run(self):
        while not self.over:
            try:
                sandbox = self.server.create()
                code, out, _ = self.server.run(sandbox, "echo $((6*7))")
                if (code, out) != (0, "42\n"):
                    raise AssertionError(f"said {code} {out!r}")
                self.server.kill(sandbox["sandboxID"])
                self.rounds += 1
            except Exception as error:  # noqa: BLE001: whatever it is, it is the finding
                self.failures.append(repr(error))


class ServerFaultsTest(unittest.TestCase):
    def nothing_is_left(self, server):
        left = lambda: of_server(server.state, server.created)  # noqa: E731
        until(lambda: not left(), 20)
        self.assertEqual(sorted(left())[:5], [])

    def each_user(self, test, users=paddock.USERS, **options):
        for user in users:
            with self.subTest(user=user):
                with Server(user, **options) as server:
                    test(server)
                self.nothing_is_left(server)

    def test_a_killed_server_finds_its_sandboxes_again(self):
        def test(server):
            sandbox = server.create(metadata={"kept": "yes"})
            server.run(sandbox, "echo before > note; (sleep 1000 > /dev/null 2>&1 & echo $! > pid)")
            for _ in range(max(2, int(4 * STORM))):
                loads = [Load(server) for _ in range(3)]
                [load.start() for load in loads]
                time.sleep(random.uniform(0.2, 1.0))
                for load in loads:
                    load.over = True
                server.kill9()
                [load.join(60) for load in loads]
                server.start()
                code, out, _ = server.run(sandbox, "cat note; kill -0 $(cat pid) && echo alive")
                self.assertEqual((code, out), (0, "before\nalive\n"))
                for other in server.sandboxes():  # those of the load: whole, or not there
                    if other["sandboxID"] != sandbox["sandboxID"]:
                        self.assertEqual(server.kill(other["sandboxID"]), 204)
            self.assertEqual([each["metadata"] for each in server.sandboxes()], [{"kept": "yes"}])
        self.each_user(test)

    def test_a_killed_keeper_or_guest_ends_its_sandbox_alone(self):
        def test(server):
            other = server.create()
            for victim in ("keeper", "guest") * max(2, int(4 * STORM)):
                known = set(named(children(server.process.pid), "paddock-launch"))
                sandbox = server.create()
                keeper, = set(named(children(server.process.pid), "paddock-launch")) - known
                inside = children(keeper)
                os.kill(keeper if victim == "keeper" else inside[0], signal.SIGKILL)
                gone = lambda: server.request("GET", "/health", headers=server.data_headers(sandbox)).status == 502  # noqa: E731
                self.assertTrue(until(gone), victim)
                self.assertTrue(until(lambda: not any(map(alive, [keeper, *inside]))), victim)
                self.assertEqual(server.run(other, "echo fine")[:2], (0, "fine\n"))
        self.each_user(test)

    def test_a_killed_egress_closes_the_network_and_nothing_else(self):
        def test(server):
            sandbox, other = server.create(), server.create()
            egress = named(children(server.process.pid), "paddock-egress")
            self.assertEqual(len(egress), 2)
            os.kill(egress[0], signal.SIGKILL)
            for each in (sandbox, other):
                self.assertEqual(server.run(each, "echo fine")[:2], (0, "fine\n"))
            closed = [server.run(each, "timeout 10 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' && echo open")[1] for each in (sandbox, other)]
            self.assertIn("", closed)
        self.each_user(test)

    def test_no_other_sandbox_notices_a_kill_storm(self):
        def test(server):
            witness = server.create()
            loads = [Load(server) for _ in range(4)]
            [load.start() for load in loads]
            over, struck = time.monotonic() + 5 * STORM, 0
            while time.monotonic() < over:
                keepers = named(children(server.process.pid), "paddock-launch")
                mine = server.run(witness, "echo fine")
                self.assertEqual(mine[:2], (0, "fine\n"))
                if len(keepers) > 1:
                    victim = random.choice(keepers[1:])  # the first made is the witness's
                    victim = random.choice([victim, *children(victim)])
                    try:
                        os.kill(victim, signal.SIGKILL)
                        struck += 1
                    except ProcessLookupError:
                        pass
                time.sleep(random.uniform(0, 0.05))
            for load in loads:
                load.over = True
            [load.join(120) for load in loads]
            self.assertFalse(any(load.is_alive() for load in loads), "a request hangs")
            self.assertGreater(struck, 0)
            self.assertEqual(server.run(witness, "echo fine")[:2], (0, "fine\n"))
            server.kill(witness["sandboxID"])
            self.assertTrue(until(lambda: not server.sandboxes()))
        self.each_user(test)

    def test_clients_that_vanish_dawdle_or_send_garbage_hurt_nobody(self):
        def test(server):
            sandbox = server.create()
            headers = "".join(f"{name}: {value}\r\n" for name, value in server.data_headers(sandbox).items())
            upload = f"POST /files?path=/home/user/big HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            descriptors = lambda: len(os.listdir(f"/proc/{server.process.pid}/fd"))  # noqa: E731
            self.assertEqual(server.run(sandbox, "echo warm")[0], 0)
            before = descriptors()

            def connect():
                made = socket.create_connection(("127.0.0.1", server.port), timeout=20)
                return made

            for _ in range(20):  # vanish in the middle of an upload
                with connect() as client:
                    client.sendall(upload.encode() + b"10000\r\n" + b"x" * random.randrange(1, 65536))
            slow = connect()  # asks for much, and never reads
            message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "yes | head -c 100000000"]}}).encode()
            slow.sendall((f"POST /process.Process/Start HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/connect+json\r\n"
                          f"Content-Length: {len(message) + 5}\r\n\r\n").encode() + b"\0" + len(message).to_bytes(4, "big") + message)
            garbage = [b"\0" * 1000, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                       b"GET /" + b"a" * 100_000, os.urandom(5000), upload.encode() + b"zz\r\n", upload.encode() + b"fffffffffffffffff\r\n"]
            for bytes_ in garbage:
                with connect() as client:
                    client.settimeout(20)
                    try:
                        client.sendall(bytes_)
                        client.shutdown(socket.SHUT_WR)
                        while client.recv(65536):
                            pass
                    except OSError:
                        pass
            idle = [connect() for _ in range(50)]
            for client in idle[:25]:
                client.sendall(b"GET / HTTP/1.1\r\nHost:")
            self.assertEqual(server.run(sandbox, "echo fine")[:2], (0, "fine\n"))
            memory = int(read(f"/proc/{server.process.pid}/statm").split()[1]) * resource.getpagesize()
            self.assertLess(memory, paddock.resident(200 << 10) << 10)  # what the slow one asked for is not kept here
            for client in [slow, *idle]:
                client.close()
            self.assertTrue(until(lambda: descriptors() <= before + 4), f"{before} descriptors before, {descriptors()} after")
        self.each_user(test)

    @unittest.skipIf(os.geteuid() != 0, "a small filesystem of the test's own needs root")
    def test_a_full_disk_is_said_and_passes(self):
        with tempfile.TemporaryDirectory() as parent:
            os.chmod(parent, 0o755)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300M", "tmpfs", parent], check=True)
            try:
                self.each_user(self.fill_the_disk, parent=parent)
            finally:
                subprocess.run(["umount", parent], check=True)

    def fill_the_disk(self, server):
        sandbox, other = server.create(), server.create()
        code, _, errors = server.run(sandbox, "dd if=/dev/zero of=big bs=1M count=1000")
        self.assertNotEqual(code, 0)
        self.assertIn("No space left", errors)
        upload = server.request("POST", "/files?path=/home/user/more", os.urandom(1 << 20),
                                {**server.data_headers(sandbox), "Content-Type": "application/octet-stream"})
        self.assertEqual(upload.status, 507, upload)
        refused = server.request("POST", "/v2/sandboxes", {"templateID": "base"})
        self.assertGreaterEqual(refused.status, 201)
        if refused.status == 201:  # an empty sandbox may still fit
            server.created.append(refused.json()["sandboxID"])
        else:
            self.assertIn("message", refused.json())
        # The audit log is on the same disk: a command that cannot be recorded may be refused, but what is there can be ended.
        self.assertEqual(server.kill(sandbox["sandboxID"]), 204)
        has_room = lambda room: room.f_bavail * room.f_frsize > 100 << 20  # its files go a little later than it does
        self.assertTrue(until(lambda: has_room(os.statvfs(server.state))))
        self.assertTrue(until(lambda: server.request("GET", "/health").json()["status"] == "ok"))
        self.assertEqual(server.run(other, "echo fine")[:2], (0, "fine\n"))
        self.assertEqual(server.run(server.create(), "echo again > file && cat file")[:2], (0, "again\n"))

    def test_without_descriptors_it_refuses_and_recovers(self):
        def test(server):
            sandbox = server.create()
            self.assertEqual(server.run(sandbox, "echo fine")[0], 0)
            soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            now = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (now + 6, hard))
            held = []
            try:
                for _ in range(30):
                    held.append(socket.create_connection(("127.0.0.1", server.port), timeout=5))
            except OSError:
                pass
            for client in held:
                client.close()
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (now + 12, hard))
            answers = []
            for _ in range(5):
                try:
                    answers.append(server.request("POST", "/v2/sandboxes", {"templateID": "base"}, timeout=30).status)
                except OSError:
                    answers.append(0)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
            self.assertIsNone(server.process.poll(), server.output())
            self.assertTrue(until(lambda: server.run(sandbox, "echo fine")[:2] == (0, "fine\n")), answers)
            other = server.create()
            self.assertEqual(server.run(other, "echo fine")[:2], (0, "fine\n"))
        self.each_user(test, users=[user for user in paddock.USERS if user == "root"] or ["user"])  # whose limits we may change


if __name__ == "__main__":
    paddock.main()
