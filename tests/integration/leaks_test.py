"""Guest, keeper and egress live as long as their sandbox, and hold nothing of requests that are over."""
import os
import time
import unittest

from support import leftovers, paddock
from support.server import Server

ROUNDS = 120
KEPT = 256 << 10  # bytes: what an allocator may keep for itself
NAMES = ("paddock-launch", "paddock-guest", "paddock-egress")


def anonymous_memory(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon:"))


def name_of(pid):
    return leftovers.read(f"/proc/{pid}/comm").strip()


def helpers():
    """The programs of the one sandbox that is there, by name."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if name_of(pid) in NAMES:
                found[name_of(pid)] = pid
        except OSError:
            pass
    return found


@unittest.skipUnless(os.geteuid() == 0, "only root may look into the guest")
class LeaksTest(unittest.TestCase):
    def use(self, server, sandbox, rounds):
        for number in range(rounds):
            server.run(sandbox, f"echo {number}; head -c 100000 /dev/zero | tr '\\0' x")
            headers = {**server.data_headers(sandbox, 49983), "Content-Type": "application/octet-stream"}
            server.request("POST", f"/files?path=/tmp/f{number % 7}", b"y" * 50_000, headers)
            server.request("GET", f"/files?path=/tmp/f{number % 7}", headers=headers)
            if number % 10 == 0:  # refused by egress; and a command that is killed
                server.run(sandbox, "python3 -c 'import socket; socket.create_connection((\"192.0.2.7\", 80), 5)' 2> /dev/null; timeout 0.05 sleep 9")

    def measure(self, server, sandbox):
        time.sleep(31)  # so long the guest remembers how a process ended
        server.run(sandbox, "true")
        return {name: (len(os.listdir(f"/proc/{pid}/fd")), anonymous_memory(pid)) for name, pid in helpers().items()}

    @unittest.skipIf(paddock.SANITIZED, "the sanitizer keeps what was freed")
    def test_what_is_over_is_not_kept(self):
        with Server(paddock.USERS[-1]) as server:
            sandbox = server.create(allow_internet_access=True)
            self.use(server, sandbox, ROUNDS)
            before = self.measure(server, sandbox)
            self.assertEqual(set(before), set(NAMES))
            self.use(server, sandbox, ROUNDS)
            after = self.measure(server, sandbox)
            for name in NAMES:
                self.assertLessEqual(after[name][0], before[name][0], f"descriptors of {name}: {before} {after}")
                self.assertLess(after[name][1] - before[name][1], KEPT, f"memory of {name}: {before} {after}")


if __name__ == "__main__":
    unittest.main()
