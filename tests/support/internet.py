"""A small Internet of the test's own, and a machine in it that runs Paddock. Nothing of it touches the real network.

    with internet.Internet() as net:
        result = net.run_json("--allow-net", "good.example", "--", "curl", "-sS", "http://good.example/", user="user")
        net.world.log()["dns"]      # every question that left the machine

Two network namespaces, held by processes that are started here and joined by a veth pair:
  the machine   192.0.2.250 and 2001:db8:ffff::2, everything else behind a default route. Its /etc/resolv.conf names the
                name server below, its certificate bundle trusts the test's authority. `net.machine` listens on each of
                its addresses, loopback too, on MACHINE_PORTS.
  the world     every other address, private and metadata ones too, with the servers of internet_servers.py.
When a holder's standard input closes, however the test ends, it leaves, and the namespaces, links and mounts with it.
"""
import copy
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import internet_certificates, paddock

GOOD, GOOD6 = "203.0.113.10", "2001:db8:1::10"
OTHER, OTHER6 = "198.51.100.20", "2001:db8:2::20"
MACHINE, MACHINE6 = "192.0.2.250", "2001:db8:ffff::2"
MACHINE_TOO = "198.51.100.77"  # a second address, which no route names as a source
NAME_SERVER, PUBLIC_RESOLVER = "192.0.2.53", "8.8.8.8"
METADATA = {"metadata": "169.254.169.254", "metadata-alibaba": "100.100.100.200", "metadata-azure": "168.63.129.16",
            "metadata-six": "fd00:ec2::254"}
PRIVATE = {"private-ten": "10.9.8.7", "private-home": "192.168.7.7", "private-mid": "172.16.5.5", "shared": "100.64.1.1",
           "link-local": "169.254.7.7", "unique-local": "fd12:3456::1", "link-local-six": "fe80::1"}
LOCAL = {"loopback": "127.0.0.1", "loopback-other": "127.8.9.10", "loopback-six": "::1", "mapped": "::ffff:127.0.0.1", "zero": "0.0.0.0",
         "unspecified-six": "::", "broadcast": "255.255.255.255", "multicast": "224.0.0.251",
         "nat64": "64:ff9b::7f00:1", "six-to-four": "2002:7f00:1::1"}
WORLD_PORTS = {"http": [80, 8080], "https": [443, 8443], "echo": [7], "banner": [2525], "ssh": [22], "http2": [8082], "record": [9000, 853],
               "hold": [9999], "udp": [443, 4444, 5353, 5355]}
MACHINE_PORTS = {"http": [80, 9123, 9124]}
WITHOUT_PROXY = ["env", *(f"-u{name}" for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY") for name in (upper, upper.lower()))]
with open(os.path.join(os.path.dirname(__file__), "internet_inside.py")) as _file:
    INSIDE = _file.read()


def _both():
    return {"A": [GOOD], "AAAA": [GOOD6]}


def zone():
    """What the name server knows; internet_dns.py says what an entry may hold."""
    names = {name: _both() for name in (
        "good.example", "www.good.example", "deep.www.good.example", "gist.good.example", "api.example", "pip.example", "git.example",
        "evilgood.example", "good.example.evil.example", "xn--gd-1iaa.example")}
    names |= {name: {"A": [OTHER], "AAAA": [OTHER6]} for name in ("evil.example", "other.example", "other-api.example")}
    names |= {"four.example": {"A": [GOOD]}, "six.example": {"AAAA": [GOOD6]}, "db.example": {"A": ["203.0.113.54"]}}
    names |= {"alias.example": {"CNAME": "alias2.example"}, "alias2.example": {"CNAME": "good.example"},
              "alias-evil.example": {"CNAME": "evil.example"}, "alias-private.example": {"CNAME": "private-ten.bad.example"}}
    names |= {"many.example": {"A": [f"203.0.113.{n}" for n in range(100, 180)]}, "truncated.example": _both() | {"truncate": True},
              "slow.example": _both() | {"delay": 1.0}, "garbage.example": {"garbage": True}, "broken.example": {"rcode": 2}}
    names |= {"rebind.example": {"ttl": 0, "sequence": [{"A": [GOOD]}, {"A": ["127.0.0.1"]}]},
              "rebind-private.example": {"ttl": 0, "sequence": [{"A": [GOOD]}, {"A": ["10.9.8.7"]}]},
              "mixed.example": {"A": ["10.9.8.7", GOOD]}}
    bad = METADATA | PRIVATE | LOCAL | {"machine": MACHINE, "machine-six": MACHINE6, "machine-too": MACHINE_TOO, "machine-mapped": f"::ffff:{MACHINE}"}
    return names | {f"{name}.bad.example": {"AAAA" if ":" in address else "A": [address]} for name, address in bad.items()}


class _Servers:
    """A process that holds a network namespace and runs internet_servers.py in it. One line of JSON asks, one answers."""

    def __init__(self, folder, ports, zone):
        script = os.path.join(os.path.dirname(__file__), "internet_servers.py")
        self.process = subprocess.Popen(["unshare", "--net", "--mount", "--", sys.executable, script, folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self._start = {"do": "start", "ports": ports, "zone": zone}

    def start(self):
        self.ask(self._start)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"the servers are gone: exit {self.process.wait()}")
        answer = json.loads(answer)
        if "error" in answer:
            raise AssertionError(f"the servers cannot {question['do']}: {answer['error']}")
        return answer

    def log(self):
        """What came: {"dns": […], "http": […], "tcp": […], "udp": […]}."""
        return self.ask({"do": "log"})

    def clear(self):
        self.ask({"do": "clear"})

    def enter(self, mount=True):
        """The front of a command line that runs the rest in this namespace."""
        pid = self.process.pid
        return ["nsenter", f"--net=/proc/{pid}/ns/net"] + ([f"--mount=/proc/{pid}/ns/mnt"] if mount else []) + ["--"]

    def run(self, *command):
        subprocess.run([*self.enter(), *command], check=True, capture_output=True, text=True)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Internet:
    def __init__(self, extra=None):
        self._zone = zone() | (extra or {})
        self._stack = []

    def __enter__(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a fake Internet needs root, to make network namespaces")
        for program in ("ip", "nsenter", "openssl"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"a fake Internet needs the program {program}")
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self._stack:
            self._stack.pop()()

    def _build(self):
        self.folder = tempfile.mkdtemp(prefix="paddock-internet-")
        self._stack.append(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        os.chmod(self.folder, 0o755)
        self.authority = internet_certificates.make_authority(self.folder)  # a PEM file, readable by everybody
        self.world = _Servers(self.folder, WORLD_PORTS, self._zone)
        self._stack.append(self.world.stop)
        self.machine = _Servers(self.folder, MACHINE_PORTS, None)
        self._stack.append(self.machine.stop)
        # Answered from within its namespaces: from here on they can be entered.
        self.world.ask({"do": "clear"})
        self.machine.ask({"do": "clear"})
        self._link()
        self._set_up_machine()
        self.world.start()
        self.machine.start()

    def _link(self):
        world, machine = self.world, self.machine
        world.run("ip", "link", "add", "wire", "type", "veth", "peer", "name", "eth0", "netns", str(machine.process.pid))
        for holder, link, address, address6 in ((world, "wire", "192.0.2.249/30", "2001:db8:ffff::1/64"),
                                                (machine, "eth0", f"{MACHINE}/30", f"{MACHINE6}/64")):
            holder.run("ip", "link", "set", "lo", "up")
            holder.run("ip", "address", "add", address, "dev", link)
            holder.run("ip", "address", "add", address6, "dev", link, "nodad")
            holder.run("ip", "link", "set", link, "up")
        machine.run("ip", "address", "add", f"{MACHINE_TOO}/32", "dev", "eth0")
        machine.run("ip", "route", "add", "default", "via", "192.0.2.249")
        machine.run("ip", "-6", "route", "add", "default", "via", "2001:db8:ffff::1")
        # Every address that is not the machine's is the world's own.
        for family in ("-4", "-6"):
            world.run("ip", family, "route", "add", "local", "default", "dev", "lo", "table", "main")
        world.run("ip", "address", "add", f"{NAME_SERVER}/32", "dev", "lo")
        world.run("ip", "address", "add", f"{PUBLIC_RESOLVER}/32", "dev", "lo")

    def _set_up_machine(self):
        """Files of the machine, mounted over the host's in its own mount namespace."""
        resolver = self.file("resolv.conf", f"nameserver {NAME_SERVER}\n")
        self.machine.run("mount", "--bind", resolver, "/etc/resolv.conf")
        bundle = "/etc/ssl/certs/ca-certificates.crt"
        if os.path.exists(bundle):
            with open(bundle) as system, open(self.authority) as own:
                trusted = self.file("bundle.pem", system.read() + own.read())
            self.machine.run("mount", "--bind", trusted, bundle)

    def file(self, name, text):
        """A file outside the sandboxes that everybody may read."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def clear(self):
        self.world.clear()
        self.machine.clear()

    def add_names(self, names):
        """More names for the name server; sequences of known names start anew."""
        self._zone |= names
        self.world.ask({"do": "zone", "zone": copy.deepcopy(self._zone)})

    # What the machine runs.

    def command(self, command, user="root"):
        return self.machine.enter() + paddock.as_user(command, user)

    def host(self, *command, user="root", timeout=60):
        """A command on the machine, outside every sandbox."""
        return subprocess.run(self.command(command, user), capture_output=True, text=True, errors="replace", timeout=timeout, cwd="/",
                              env=paddock.environment(user))

    def call(self, *args, user="root", env=None, input="", timeout=180):
        """paddock ARGS… as that user."""
        return subprocess.run(self.command([paddock.PADDOCK, *args], user), capture_output=True, text=True, errors="replace", input=input,
                              timeout=timeout, cwd="/", env=paddock.environment(user) | (env or {}))

    def popen(self, *args, user="root", env=None, **options):
        return subprocess.Popen(self.command([paddock.PADDOCK, *args], user), cwd="/", env=paddock.environment(user) | (env or {}), **options)

    def run(self, *args, **options):
        """paddock run ARGS…"""
        return self.call("run", *args, **options)

    def run_json(self, *args, **options):
        done = self.call("run", "--json", *args, **options)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            raise AssertionError(f"no JSON from paddock run {args}: exit {done.returncode}\nstdout: {done.stdout[-2000:]}\n"
                                 f"stderr: {done.stderr[-2000:]}")


class Case(unittest.TestCase):
    """Tests that share one Internet, with empty logs at the start of each test."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.missing = None
        try:
            cls.net = cls.enterClassContext(Internet())
        except unittest.SkipTest as reason:  # told for each test, so that skips are counted
            cls.missing = str(reason)

    def setUp(self):
        if self.missing:
            self.skipTest(self.missing)
        self.net.clear()

    def inside(self, user, steps, *options, program=(), **more):
        """Runs steps of internet_inside.py in a sandbox: their answers, and the result."""
        result = self.net.run_json(*options, "--", *program, "python3", "-c", INSIDE, json.dumps(steps), user=user, **more)
        self.assert_exited(result)
        return json.loads(result["stdout"]), result

    def assert_exited(self, result, code=0):
        self.assertEqual(result.get("outcome"), {"kind": "exited", "code": code}, describe(result))

    def assert_denied(self, result, *words):
        """One of the network's denials has all of the words in its action, rule and why."""
        texts = [f"{d['action']} | {d['rule']} | {d['why']}" for d in result.get("denials", []) if d["layer"] == "network"]
        self.assertTrue(any(all(word in text for word in words) for text in texts), f"no denial with {words} in {texts}\n{describe(result)}")


def as_each_user(test):
    """Runs a test(self, user) of a Case once per user, with empty logs."""
    @functools.wraps(test)
    def every(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                self.net.clear()
                test(self, user)
    return every


def allow(*hosts):
    return [word for host in hosts for word in ("--allow-net", host)]


def get(host, path="/", *headers):
    """An HTTP request as text."""
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""])


def describe(result):
    """The part of a result that explains a failure."""
    if "error" in result:
        return json.dumps(result)
    shown = {key: result.get(key) for key in ("outcome", "stdout", "stderr", "denials", "limits_hit")}
    return json.dumps(shown, indent=1)[-4000:]
