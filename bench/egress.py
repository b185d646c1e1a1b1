"""Measures what egress costs: throughput, new connections, round trips, memory per connection, and the start.

    egress.py PROGRAMS PADDOCK ROUNDS RESULT.json      PROGRAMS: where `egress_load` and `start` were built

One server on the host's loopback; one client program that connects to it from outside, from inside a sandbox that may reach
nothing else, and through forward proxies. Every round runs each contender once with each kind of work, in a new random order.
"""

import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

from contenders import ROOTLESS_UID, Unusable, need, one_line, stop
from egress_figures import OURS, OURS_ROOTLESS, RAW
from start import machine

SERVICES = ("sink", "source", "echo", "byte")
WORK = {  # name: (service, how much of it in one round)
    "download": ("source", 1024), "upload": ("sink", 1024),  # megabytes
    "connect": ("byte", 3000), "ping": ("echo", 3000),       # connections, round trips
}
IDLE = (1000, 5000)


class Contender:
    """`prefix` stands before the client's command; `ports` are its own ones for the services, `proxy` the one to connect through."""

    def __init__(self, name, *, prefix=(), uid=None, ports=None, proxy=None, process=None, note=""):
        self.name, self.prefix, self.ports, self.proxy, self.process, self.note = name, list(prefix), ports, proxy, process, note
        self.as_user = {"user": uid, "group": uid, "extra_groups": []} if uid is not None else {}


class Field:
    """`with Field(programs, paddock, folder) as field:` starts the server and the proxies, and ends them."""

    def __init__(self, programs, paddock, folder):
        self.client, self.paddock, self.folder = os.path.join(programs, "egress_load"), paddock, folder
        self.contenders, self.skipped, self.processes = [], [], []

    def __enter__(self):
        try:
            server = self.start([self.client, "serve"], stdout=subprocess.PIPE)
            self.ports = dict(zip(SERVICES, map(int, server.stdout.readline().split())))
            for name, make in self.table():
                try:
                    contender = make(name)
                    self.measure(contender, "ping", 10)
                    self.contenders.append(contender)
                except Unusable as error:
                    self.skipped.append({"contender": name, "reason": str(error).replace(self.folder, "…")})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self.processes:
            stop(self.processes.pop())

    def table(self):
        root = os.geteuid() == 0
        ours = [(OURS, self.sandboxed)] if root else []
        rootless = lambda name: self.sandboxed(name, uid=ROOTLESS_UID if root else None)
        return [(RAW, Contender), *ours, (OURS_ROOTLESS, rootless), ("haproxy", self.haproxy), ("tinyproxy", self.tinyproxy), ("squid", self.squid)]

    def sandboxed(self, name, uid=None):
        allow = [word for port in self.ports.values() for word in ("--allow-net", f"localhost:{port}")]
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limits = ["--connections", str(min(20000, (most - 1000) // 2)), "--open-files", str(min(20000, most))]
        prefix = [self.paddock, "run", *allow, *limits, "--read", os.path.dirname(self.client), "--"]
        return Contender(name, prefix=prefix, uid=uid, note="redirected inside, checked, relayed; the client has no proxy settings")

    # Peers --------------------------------------------------------------------------------------------------------

    def haproxy(self, name):
        """A frontend and a backend per service: it forwards bytes and is asked nothing."""
        program, listen = need("haproxy"), {service: free_port() for service in SERVICES}
        sections = [f"listen {service}\n  bind 127.0.0.1:{listen[service]}\n  server it 127.0.0.1:{port}\n" for service, port in self.ports.items()]
        config = self.file("haproxy.cfg", "global\n  maxconn 8000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
                           + "".join(sections))
        process = self.start([program, "-db", "-f", config])
        self.await_port(listen["byte"], process)
        return Contender(name, ports=listen, process=process, note="TCP mode, a fixed destination for each port")

    def tinyproxy(self, name):
        program, port = need("tinyproxy"), free_port()
        config = self.file("tinyproxy.conf", f"Port {port}\nListen 127.0.0.1\nMaxClients 8000\nTimeout 3600\nLogFile \"{self.folder}/tinyproxy.log\"\nLogLevel Critical\n")
        process = self.start([program, "-d", "-c", config], stdout=subprocess.DEVNULL)
        self.await_port(port, process)
        return Contender(name, proxy=port, process=process, note="CONNECT, a thread per connection")

    def squid(self, name):
        program, port = need("squid"), free_port()
        state = os.path.join(self.folder, "squid")
        os.mkdir(state)
        os.chmod(state, 0o777)  # it gives root up, and becomes a user of its own
        config = self.file("squid.conf", f"http_port 127.0.0.1:{port}\nhttp_access allow all\ncache deny all\naccess_log none\nshutdown_lifetime 0 seconds\n"
                           f"cache_log {state}/log\npid_filename none\ncoredump_dir {state}\npinger_enable off\n")
        process = self.start([program, "-N", "-f", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_port(port, process)
        return Contender(name, proxy=port, process=process, note="CONNECT, no cache, no log")

    # What they need -----------------------------------------------------------------------------------------------

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, argv, **more):
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    @staticmethod
    def await_port(port, process):
        for _ in range(200):
            if process.poll() is not None:
                raise Unusable(f"it ended at once with {process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Unusable("it does not listen within 10 s")

    # Measuring ----------------------------------------------------------------------------------------------------

    def command(self, contender, work, amount):
        service = "echo" if work == "idle" else WORK[work][0]
        port = (contender.ports or self.ports)[service]
        return [*contender.prefix, self.client, work, str(port), str(amount)] + ([str(contender.proxy)] if contender.proxy else [])

    def measure(self, contender, work, amount):
        """The numbers that the client prints; raises Unusable with its words."""
        try:
            done = subprocess.run(self.command(contender, work, amount), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                  check=False, **contender.as_user)
        except subprocess.TimeoutExpired as error:
            raise Unusable(f"{work} takes longer than a minute") from error
        if done.returncode != 0:
            raise Unusable(one_line(done.stderr) or f"exit status {done.returncode}")
        return [float(word) for word in done.stdout.split()]

    def resident_with(self, contender, connections):
        """Bytes of memory that the relaying process has while it holds so many idle connections."""
        with tempfile.TemporaryFile() as errors, subprocess.Popen(self.command(contender, "idle", connections), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                                  stderr=errors, **contender.as_user) as client:
            ready = client.stdout.readline() == b"ready\n"
            relay = contender.process.pid if contender.process else descendant(client.pid, "paddock-egress")
            size = resident(relay) if ready else None
            client.stdin.close()
            client.wait()
            errors.seek(0)
            if not ready:
                raise Unusable(one_line(errors.read().decode(errors="replace")) or "it ended early")
        return size


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


def descendant(pid, name):
    """The process of that name that `pid`, or one it started, has started."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    comm, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            parents[int(entry)] = (comm, int(rest.split()[1]))
    for candidate, (comm, _) in parents.items():
        ancestor = candidate
        while comm == name[:15] and ancestor in parents:
            if ancestor == pid:
                return candidate
            ancestor = parents[ancestor][1]
    raise Unusable(f"no process {name} was found")


def measure_rounds(field, rounds):
    """What the client printed, for each contender, kind of work and round; and what failed."""
    samples, failures = {}, {}
    for turn in range(-1, rounds):
        if sys.stderr.isatty():
            print(f"\r  egress: round {max(turn + 1, 0)} of {rounds} ", end="", file=sys.stderr, flush=True)
        for work in random.sample(list(WORK), len(WORK)):
            # One kind of work after the other, so that what is compared was measured within seconds.
            for contender in random.sample(field.contenders, len(field.contenders)):
                key, numbers = (contender.name, work), None
                try:
                    numbers = field.measure(contender, work, WORK[work][1])
                except Unusable as error:
                    failures.setdefault(key, []).append(str(error))
                if turn >= 0:
                    samples.setdefault(key, []).append(numbers)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return ([{"contender": name, "work": work, "rounds": values} for (name, work), values in samples.items()],
            [{"contender": name, "work": work, "count": len(reasons), "reason": reasons[-1]} for (name, work), reasons in failures.items()])


def measure_memory(field):
    """What an idle connection takes in the process that relays it; the kernel's part is not in it."""
    results = []
    for contender in field.contenders:
        if contender.name == RAW:
            continue
        row = {"contender": contender.name, "per_connection": {}}
        try:
            row["one"] = field.resident_with(contender, 1)
            for count in IDLE:
                row["per_connection"][count] = (field.resident_with(contender, count) - row["one"]) / (count - 1)
        except Unusable as error:
            row["reason"] = str(error)
        results.append(row)
    return results


def measure_start(programs, paddock, rounds, folder):
    """The same start with and without a network."""
    plain = [paddock, "run", "--", "/bin/true"]
    networked = [paddock, "run", "--allow-net", "example.com", "--", "/bin/true"]
    users = [("as root", "-"), ("rootless", str(ROOTLESS_UID))] if os.geteuid() == 0 else [("rootless", "-")]
    commands = os.path.join(folder, "commands")
    with open(commands, "w", encoding="utf-8") as file:
        for title, uid in users:
            for workload, argv in (("without", plain), ("with", networked)):
                file.write("\t".join([title, workload, "end", uid, "-", *argv]) + "\n")
    done = subprocess.run([os.path.join(programs, "start"), commands, str(rounds), "2"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    programs, paddock, rounds, target = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # so that everything is undone
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # for the proxies, which do not ask for it themselves
    with tempfile.TemporaryDirectory(prefix="paddock-bench-") as folder:
        os.chmod(folder, 0o755)
        os.environ.update(HOME="/tmp", LANG="C.UTF-8")
        with Field(programs, paddock, folder) as field:
            for skip in field.skipped:
                print(f"  left out: {skip['contender']}: {skip['reason']}", file=sys.stderr)
            if not {RAW, OURS_ROOTLESS} <= {contender.name for contender in field.contenders}:
                raise Unusable("raw loopback or Paddock does not work here: nothing to compare")
            turns = max(5, rounds // 4)
            result = {"machine": machine(), "rounds": turns, "skipped": field.skipped}
            result["contenders"] = [{"name": contender.name, "note": contender.note} for contender in field.contenders]
            result["memory"] = measure_memory(field)  # first: a proxy keeps what it once had
            result["results"], result["failures"] = measure_rounds(field, turns)
        result["start"] = measure_start(programs, paddock, rounds, folder)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
