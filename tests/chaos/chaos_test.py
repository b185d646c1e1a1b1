"""Chaos against `paddock serve`: random work by several clients while random parts of it are killed, and then a count of
what is left on the host. Part of `make test-all`; PADDOCK_CHAOS is how many seconds it lasts (default 600).

    python3 tests/support/alone.py python3 tests/chaos/chaos_test.py
"""
import collections
import glob
import os
import random
import signal
import sys
import threading
import time

from support import paddock
from support.leftovers import cgroups, mounts, read
from support.server import Server, until

SECONDS = float(os.environ.get("PADDOCK_CHAOS", "600"))
CLIENTS = 4
MOST_SANDBOXES = 12


class Client(threading.Thread):
    """One client that does random things to random sandboxes. Refusals are expected while parts are killed; they are counted."""

    def __init__(self, server, shared, number):
        super().__init__(daemon=True)
        self.server, self.shared, self.random = server, shared, random.Random(number)
        self.over, self.done, self.refused = False, collections.Counter(), collections.Counter()

    def run(self):
        acts = [self.create, self.create, self.execute, self.execute, self.cell, self.upload, self.download, self.pause, self.resume, self.fork, self.kill]
        while not self.over:
            act = self.random.choice(acts)
            try:
                act()
                self.done[act.__name__] += 1
            except Exception:  # noqa: BLE001: the server may be gone this very moment
                self.refused[act.__name__] += 1
                time.sleep(0.05)

    def any(self):
        sandbox = self.random.choice(list(self.shared) or [None])
        if sandbox is None:
            raise LookupError("no sandbox yet")
        return self.shared[sandbox]

    def expect(self, answer, *statuses):
        if answer.status not in statuses:
            raise AssertionError(str(answer))
        return answer

    def create(self):
        if len(self.shared) >= MOST_SANDBOXES:
            return self.kill()
        sandbox = self.server.create(timeout=300)
        self.shared[sandbox["sandboxID"]] = sandbox

    def execute(self):
        command = self.random.choice(["echo $((6*7))", "head -c 3000000 /dev/urandom > /tmp/$RANDOM; ls /tmp | wc -l", "(sleep 1000 &) ; true", "exit 3",
                                      "python3 -c 'print(sum(range(10**6)))'", "timeout 2 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' || true"])
        self.server.run(self.any(), command, timeout=30)

    def cell(self):
        self.expect(self.server.request("POST", "/execute", {"code": "x = 41\nprint(x + 1)"}, self.server.data_headers(self.any(), 49999), timeout=30), 200)

    def upload(self):
        sandbox = self.any()
        self.expect(self.server.request("PUT", f"/v1/sandboxes/{sandbox['sandboxID']}/files?path=/tmp/uploaded", os.urandom(500_000), timeout=30), 200, 201, 204)

    def download(self):
        sandbox = self.any()
        self.expect(self.server.request("GET", f"/v1/sandboxes/{sandbox['sandboxID']}/files?path=/tmp/uploaded", timeout=30), 200, 404)

    def pause(self):
        self.expect(self.server.request("POST", f"/sandboxes/{self.any()['sandboxID']}/pause", {}, timeout=60), 204, 409)

    def resume(self):
        self.expect(self.server.request("POST", f"/sandboxes/{self.any()['sandboxID']}/connect", {"timeout": 300}, timeout=60), 200, 201)

    def fork(self):
        if len(self.shared) >= MOST_SANDBOXES:
            return self.kill()
        sandbox = self.any()
        answer = self.expect(self.server.request("POST", f"/v1/sandboxes/{sandbox['sandboxID']}/fork", {}, timeout=60), 200, 201)
        self.server.created += [made["id"] for made in answer.json().get("sandboxes", [])]

    def kill(self):
        sandbox = self.any()["sandboxID"]
        self.shared.pop(sandbox, None)
        self.expect(self.server.request("DELETE", f"/sandboxes/{sandbox}", timeout=60), 204, 404)


def parts(names):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if read(f"/proc/{pid}/comm").strip() in names:
                found.append(int(pid))
        except OSError:
            pass
    return found


def namespaces():
    found = set()
    for link in glob.glob("/proc/[0-9]*/ns/*"):
        try:
            found.add(os.readlink(link))
        except OSError:
            pass
    return found


def size_of(place):
    total = 0
    for where, _, files in os.walk(place):
        for name in files:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                pass
    return total


def files_below(*places):
    return {os.path.join(where, name) for place in places for where, folders, files in os.walk(place) for name in folders + files}


def processes():
    found = set()
    for pid in parts({"paddock", "paddock-server", "paddock-launch", "paddock-guest", "paddock-egress"}):
        try:
            found.add(f"{pid} {read(f'/proc/{pid}/comm').strip()}")
        except OSError:
            pass  # it has just ended
    return found


def strike(server, dice):
    """Kills one part of it, or the server itself, which is started again."""
    victim = dice.choice(["server", "paddock-launch", "paddock-launch", "paddock-guest", "paddock-egress"])
    if victim == "server":
        server.kill9()
        server.start()
        return victim
    found = parts({victim})
    if found:
        try:
            os.kill(dice.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            pass
    return victim


def chaos(user):
    seed = int(os.environ.get("PADDOCK_CHAOS_SEED", random.randrange(10**6)))
    dice, struck = random.Random(seed), collections.Counter()
    print(f"chaos as {user}, {SECONDS / len(paddock.USERS):.0f} s, seed {seed}", flush=True)
    outside = ("/tmp", "/var/tmp", "/dev/shm")
    with Server(user, parent="/var/tmp") as server:
        sandbox = server.create()  # what the first one makes once and for all is no leak
        server.run(sandbox, "true")
        server.request("POST", "/execute", {"code": "1"}, server.data_headers(sandbox, 49999))
        server.kill(sandbox["sandboxID"])
        time.sleep(3)
        before = {"mounts": mounts(), "cgroups": cgroups(), "namespaces": namespaces(), "processes": processes(),
                  "files": files_below(*outside, server.state)}
        descriptors, size = len(os.listdir(f"/proc/{server.process.pid}/fd")), size_of(server.state)
        shared = {}
        clients = [Client(server, shared, seed + number) for number in range(CLIENTS)]
        [client.start() for client in clients]
        over = time.monotonic() + SECONDS / len(paddock.USERS)
        while time.monotonic() < over:
            time.sleep(dice.uniform(0.2, 3))
            struck[strike(server, dice)] += 1
        for client in clients:
            client.over = True
        [client.join(90) for client in clients]
        stuck = sum(client.is_alive() for client in clients)
        server.kill9()
        server.start()
        for state in ("running", "paused"):
            while alive := server.request("GET", f"/v2/sandboxes?limit=100&state={state}").json():  # a page at a time
                for each in alive:
                    server.kill(each["sandboxID"])
        server.stop()
        server.start()
        done, refused = sum((c.done for c in clients), collections.Counter()), sum((c.refused for c in clients), collections.Counter())
        print(f"  killed: {dict(struck)}\n  done: {dict(done)}\n  refused: {dict(refused)}", flush=True)

        def left():
            kept = ("/audit", "/serve.log", "/ended")  # what is meant to stay: the record
            found = {"mounts": mounts() - before["mounts"], "cgroups": cgroups() - before["cgroups"],
                     "namespaces": namespaces() - before["namespaces"],
                     "processes": {each for each in processes() - before["processes"] if str(server.process.pid) not in each.split()},
                     "files": {path for path in files_below(*outside, server.state) - before["files"] if not any(part in path for part in kept)}}
            found["descriptors"] = max(0, len(os.listdir(f"/proc/{server.process.pid}/fd")) - descriptors)
            audit = sum(size_of(os.path.join(server.state, name)) for name in ("audit", "ended")) + os.path.getsize(os.path.join(server.state, "serve.log"))
            found["bytes"] = max(0, size_of(server.state) - size - audit)
            return found

        until(lambda: not any(value for key, value in left().items() if key != "bytes"), 60)
        last = left()
        counts = {name: len(value) if isinstance(value, set) else value for name, value in last.items()}
        counts["clients stuck"] = stuck
        print("  left behind: " + ", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)
        for name, value in last.items():
            for each in sorted(value)[:5] if isinstance(value, set) else []:
                print(f"    {name}: {each}")
        return not any(count for name, count in counts.items() if name != "bytes") and counts["bytes"] < 1 << 20


if __name__ == "__main__":
    passed = [chaos(user) for user in paddock.USERS]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    sys.exit(0 if all(passed) else 1)
