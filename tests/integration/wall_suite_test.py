"""What every wall does alike: a table of runs and the life of a sandbox, for each wall and user.

    python3 tests/integration/wall_suite_test.py RuncAsRootRuns            # one wall, one user
    python3 tests/integration/wall_suite_test.py -k crun -k fork_bomb      # by words
"""
import functools
import http.server
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

from support import leftovers, paddock
from support.paddock import read_until
from support.programs import FILL, FORK_BOMB, MANY_DESCRIPTORS
from support.server import Server, until
from support.websocket import WebSocket

STATX = "Debian's gVisor answers statx() of coreutils with EINVAL"
# A wall, and what it does not do as the others, by the name of the test: why.
WALLS = {
    "container": {},
    "runc": {},
    "crun": {},
    "gvisor": {
        "test_a_host_that_is_allowed_is_reached_and_no_other": "its network is its kernel's own",
        "test_a_terminal_outside_is_a_terminal_inside": "a terminal cannot be handed to its kernel",
        "test_a_terminal": "Debian's gVisor has no TIOCGPTPEER, by which the guest opens terminals",
        "test_the_root_can_only_be_read_and_tmp_can_be_written": "/dev is its kernel's, in memory",
        "test_it_has_no_capabilities_and_gets_none": "its kernel tells less of them",
        "test_it_has_a_boot_id_of_its_own": "its kernel has none",
        "test_programs_go_before_the_guest_when_memory_runs_out": "all of it goes together",
        "test_a_file_of_the_hosts_root_cannot_be_read": "its PID 1 holds no secret",
        "test_files_go_up_and_down": STATX,
        "test_sudo_is_root_inside": STATX,
    },
}

MIB = 1 << 20
SECRET = "hunter2-hunter2"
UNREADABLE = "only the host's root reads this"

# Name of the case, arguments, exit status, what stdout is, what stands in stderr, stdin.
RUNS = [
    ("a program that ends well is 0", ["--", "true"], 0, "", "", None),
    ("the status of a program is ours", ["--", "sh", "-c", "exit 7"], 7, "", "", None),
    ("a program that is not there is 127", ["--", "no-such-program"], 127, "", "no-such-program",
     None),
    ("a path that is not there is 127", ["--", "/no/such/program"], 127, "", "/no/such/program",
     None),
    ("a file that cannot run is 126", ["--", "/usr/share/common-licenses/BSD"], 126, "", "BSD",
     None),
    ("a segmentation fault is 139", ["--", "sh", "-c", "kill -SEGV $$"], 139, "", "", None),
    ("a killed program is 137", ["--", "sh", "-c", "kill -KILL $$"], 137, "", "", None),
    ("stdin goes in and stdout comes out", ["--", "wc", "-c"], 0, "3000000\n", "", "x" * 3_000_000),
    ("code runs", ["--code", "import sys; print(6 * 7); sys.exit(3)"], 3, "42\n", "", None),
    ("code of a shell runs", ["--language", "bash", "--code", "echo $((6 * 7))"], 0, "42\n", "",
     None),
    ("a variable is set", ["--env", "A=b c", "--", "sh", "-c", "echo $A"], 0, "b c\n", "", None),
    ("a secret does not come back",
     ["--secret", f"KEY={SECRET}", "--", "sh", "-c", "echo $KEY ${#KEY}"], 0,
     f"[redacted:KEY] {len(SECRET)}\n", "", None),
    ("too long a time is 124", ["--timeout", "1s", "--", "sleep", "20"], 124, "", "wall_time",
     None),
    ("too much output is 137", ["--output-limit", "64K", "--quiet", "--", "sh", "-c", "yes >&2"],
     137, "", "y\n", None),
]

# Name of the case, the limit, arguments, and whether it has to end the run.
LIMITS = [
    ("wall time ends the run", "wall_time", ["--timeout", "1s", "--", "sleep", "20"], True),
    ("CPU time ends the run", "cpu_time",
     ["--cpu-time", "1s", "--timeout", "30s", "--code", "while True: pass"], True),
    ("memory ends the run", "memory", ["--memory", "64M", "--code", "x = bytearray(10**9)"], True),
    ("output ends the run", "output", ["--output-limit", "64K", "--timeout", "30s", "--", "yes"],
     True),
    ("a fork bomb is held", "pids", ["--pids", "20", "--code", FORK_BOMB], False),
    ("a fork bomb of a shell is held", "pids",
     ["--pids", "20", "--timeout", "2s", "--", "bash", "-c", ":(){ :|:& }; :; sleep 20"], False),
    ("the disk is held", "disk", ["--disk", "8M", "--code", FILL], False),
]

# What a program sees, as one object of JSON.
LOOK = """
import errno, json, os, socket, sys
told = {'hostname': socket.gethostname()}
told['interfaces'] = [name for _, name in socket.if_nameindex()]
def attempt(what):
    try:
        what()
        return 'done'
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
paths = ('/x', '/usr/x', '/etc/x', '/dev/x', '/proc/x', '/run/x', '/tmp/x', '/var/tmp/x')
told['writes'] = {path: attempt(lambda: open(path, 'w')) for path in paths}
told['home'] = attempt(lambda: open(os.path.expanduser('~/x'), 'w'))
def connect(host):
    socket.create_connection((host, int(sys.argv[1])), timeout=3)
hosts = ('127.0.0.1', '192.0.2.1', 'localhost', 'example.org')
told['connects'] = {host: attempt(lambda: connect(host)) for host in hosts}
def is_open(fd):
    return attempt(lambda: os.fstat(fd)) == 'done'
told['fds'] = [fd for fd in range(1024) if is_open(fd)]
told['status'] = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
told['processes'] = [int(name) for name in os.listdir('/proc') if name.isdigit()]
def lines(path):
    return open(path).read().splitlines() if os.path.exists(path) else []
told['cgroups'] = sorted({line.split(':', 2)[2] for line in lines('/proc/self/cgroup')})
def read(name):
    open('/dev/' + name, 'rb').read(1)
told['devices'] = {name: attempt(lambda: read(name)) for name in ('null', 'zero', 'urandom')}
told['mounts'] = open('/proc/self/mounts').read()
told['boot_id'] = '\\n'.join(lines('/proc/sys/kernel/random/boot_id'))
print(json.dumps(told))
"""

FETCH = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=10).read().decode())
    except urllib.error.HTTPError as error: print(error.code)
    except OSError as error: print(error)
"""

# Blocked, so that none comes between the announcement and the wait.
WAITS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print('ready', flush=True)
exit(5 if signal.sigwait([signal.SIGTERM]) == signal.SIGTERM else 1)
"""


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def setUpModule():
    global web
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    unittest.addModuleCleanup(web.server_close)
    unittest.addModuleCleanup(web.shutdown)


def port():
    return web.server_address[1]


@functools.cache
def doctor(user):
    """What `paddock doctor` says of each wall."""
    told = json.loads(paddock.call("doctor", "--json", user=user).stdout)
    return {each["wall"]: each for each in told["walls"]}


@functools.cache
def server(user):
    """One for all walls of that user."""
    policy = os.path.join(paddock.folder("root" if os.geteuid() == 0 else user), "policy.toml")
    with open(policy, "w") as file:
        file.write('version = 1\nextends = "server"\n[isolation]\n'
                   f'walls = {json.dumps(list(WALLS))}\n[danger]\nallow = ["network.wide"]\n'
                   f'[network]\nallow = ["*", "127.0.0.1:{port()}"]\n')
    unittest.addModuleCleanup(shutil.rmtree, os.path.dirname(policy))
    served = Server(user, ["--policy", policy]).__enter__()
    unittest.addModuleCleanup(served.__exit__)
    return served


def own_groups():
    """Every group below those that this test is in, whatever its name."""
    found = set()
    for line in leftovers.read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if path == "/":  # a tree that others use too
            continue
        for top in (names.removeprefix("name="),) if names else ("", "unified"):
            for where, groups, _ in os.walk(f"/sys/fs/cgroup/{top}{path}"):
                found.update(os.path.join(where, name) for name in groups)
    return found


def groups_of(id):
    """Groups anywhere that carry the id of a run."""
    everywhere = os.walk("/sys/fs/cgroup")
    return [os.path.join(where, name) for where, names, _ in everywhere for name in names
            if id in name]


def devices():
    """Owner and mode of what runtimes have given away before."""
    found = {}
    for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"):
        info = os.stat("/dev/" + name)
        found[name] = (info.st_uid, info.st_gid, oct(stat.S_IMODE(info.st_mode)))
    return found


def marker():
    """A number of seconds that no other program sleeps for."""
    return f"77.{os.getpid()}{random.randrange(10**6):06d}"


class OfAWall:
    """Mixed into a TestCase once per wall and user."""
    wall = user = None

    def setUp(self):
        if why := WALLS[self.wall].get(self._testMethodName):
            self.skipTest(why)

    @classmethod
    def refused(cls, error):
        """Only what this host lacks is a reason to leave a wall out."""
        if error["code"] != "unsupported":
            raise AssertionError(f"{cls.wall} as {cls.user}: {error}")
        if doctor(cls.user)[cls.wall]["status"] == "works":
            raise AssertionError(f"works for {cls.user} by paddock doctor, but: {error}")
        raise unittest.SkipTest(f"{cls.wall} as {cls.user}: {error['message']}")

    @classmethod
    def has_network(cls):
        return "test_a_host_that_is_allowed_is_reached_and_no_other" not in WALLS[cls.wall]

    def folder(self, **files):
        """A directory of the user's."""
        path = paddock.folder(self.user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        for name, text in files.items():
            with open(os.path.join(path, name), "w") as file:
                file.write(text)
            paddock.give(file.name, self.user)
        return path


class Runs(OfAWall):
    """`paddock run`."""

    @classmethod
    def setUpClass(cls):
        cls.devices, cls.groups, cls.mounts = devices(), own_groups(), leftovers.mounts()
        looked = cls.json("--secret", f"KEY={SECRET}", "--timeout", "30s", "--code",
                          LOOK.replace("sys.argv[1]", f"'{port()}'"))
        if "error" in looked:
            cls.refused(looked["error"])
        if looked["outcome"] != {"kind": "exited", "code": 0}:
            raise AssertionError(looked)
        cls.result, cls.seen = looked, json.loads(looked["stdout"])

    @classmethod
    def tearDownClass(cls):
        gone = until(lambda: not own_groups() - cls.groups and not leftovers.mounts() - cls.mounts,
                     10)
        assert gone, (own_groups() - cls.groups, leftovers.mounts() - cls.mounts)
        assert devices() == cls.devices, devices()

    @classmethod
    def plain(cls, *arguments, **options):
        return paddock.run("--wall", cls.wall, *arguments, user=cls.user, **options)

    @classmethod
    def json(cls, *arguments, **options):
        return paddock.run_json("--wall", cls.wall, *arguments, user=cls.user, **options)

    def output(self, *arguments, **options):
        """What a run that ends well prints."""
        done = self.plain(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_case(self, arguments, status, stdout, stderr, stdin):
        done = self.plain(*arguments, input=stdin)
        self.assertEqual((done.returncode, done.stdout), (status, stdout), done.stderr)
        self.assertIn(stderr, done.stderr)

    def limit_case(self, limit, arguments, ends):
        result = self.json(*arguments)
        self.assertNotIn("error", result)
        self.assertIn(limit, {hit["limit"] for hit in result["limits_hit"]}, result)
        if ends:
            self.assertEqual((result["outcome"]["kind"], result["outcome"]["limit"]),
                             ("limit", limit), result)

    def net(self):
        """Flags for a network, if the wall can have one."""
        return ["--allow-net", f"localhost:{port()}"] * self.has_network()

    # ---- streams and signals

    def test_stderr_comes_apart_and_nothing_is_added_to_it(self):
        done = self.plain("--", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_bytes_come_out_as_they_are(self):
        every = bytes(range(256)) * 4096
        self.assertEqual(self.output("--", "cat", input=every, text=False), every)

    def test_output_comes_while_the_program_runs(self):
        child = paddock.popen("run", "--wall", self.wall, "--", "sh", "-c",
                              "echo first; read x; echo $x", user=self.user,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"first\n")
        self.assertEqual(child.communicate(b"second\n", timeout=20)[0], b"second\n")

    def test_a_signal_reaches_the_program(self):
        child = paddock.popen("run", "--wall", self.wall, "--", "python3", "-c", WAITS,
                              user=self.user, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(20), 5)
        child.stdout.close()

    def test_a_terminal_outside_is_a_terminal_inside(self):
        pid, terminal = paddock.start_on_terminal(self, self.user, "--wall", self.wall, "--", "sh",
                                                  "-c", "tty && stty size && echo d''one && read x")
        seen = read_until(terminal, b"done\r\n")
        self.assertIn(b"/dev/pts/0", seen)
        os.write(terminal, b"\n")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    # ---- limits

    def test_a_fork_bomb_leaves_the_host_as_it_was(self):
        mark = marker()
        self.json("--pids", "20", "--timeout", "10s", "--code", f"{FORK_BOMB}\n# {mark}")
        self.assertTrue(until(lambda: not leftovers.processes(mark), 10))
        self.assertEqual(self.output("--", "echo", "fine"), "fine\n")

    def test_a_full_disk_is_an_error_of_the_program(self):
        result = self.json("--disk", "8M", "--code", FILL)
        if result["outcome"]["kind"] == "exited":  # else it was ended
            error, total = result["stdout"].split()
            self.assertIn(error, ("ENOSPC", "EDQUOT"))
            self.assertLessEqual(int(total), 8 * MIB)

    def test_open_files_are_counted(self):
        error, highest = map(int,
                             self.output("--open-files", "50", "--code", MANY_DESCRIPTORS).split())
        self.assertEqual(error, 24)
        self.assertLess(highest, 50)

    def test_what_stays_below_its_limits_is_left_alone(self):
        result = self.json("--memory", "128M", "--pids", "30", "--disk", "32M", "--code",
                           "x = bytearray(40 << 20)\nimport time; time.sleep(0.3)")
        self.assertEqual((result["outcome"], result["limits_hit"]),
                         ({"kind": "exited", "code": 0}, []), result)
        self.assertGreater(result["usage"]["memory_peak_bytes"], 40 * MIB)

    def test_it_is_told_what_holds_each_limit(self):
        enforced = self.json("--memory", "128M", "--pids", "50", "--open-files", "100", "--disk",
                             "32M", "--", "true")["enforced"]
        for name in ("memory", "pids", "open_files", "disk", "files", "syscalls", "network",
                     "identity", "processes", "end"):
            self.assertIn(enforced[name]["strength"], ("kernel", "sampled"), name)
            self.assertTrue(enforced[name]["by"], name)
        in_kernel = {"files", "syscalls",
                     "open_files"} | ({"memory", "pids"} if self.user == "root" else set())
        self.assertEqual({name for name in in_kernel if enforced[name]["strength"] != "kernel"},
                         set(), enforced)
        self.assertEqual(self.result["wall"], self.wall)

    # ---- files

    def test_the_root_can_only_be_read_and_tmp_can_be_written(self):
        can = {path for path, outcome in self.seen["writes"].items() if outcome == "done"}
        self.assertEqual(can, {"/tmp/x", "/var/tmp/x"}, self.seen["writes"])
        self.assertEqual(self.seen["home"], "done")

    def test_a_workspace_to_read(self):
        work = self.folder(note="kept")
        done = self.plain("--workspace", f"{work}:ro", "--", "sh", "-c",
                          "pwd; cat note; touch new || echo no > note")
        self.assertEqual((done.stdout, os.listdir(work)), ("/workspace\nkept", ["note"]),
                         done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_a_workspace_to_write_belongs_to_the_caller(self):
        work = self.folder(note="old")
        self.output("--workspace", f"{work}:rw", "--", "sh", "-c",
                    "echo new > note; mkdir sub; echo made > sub/file; ln -s note link")
        owner = os.stat(work).st_uid
        for name, text in (("note", "new\n"), ("sub/file", "made\n"), ("link", "new\n")):
            self.assertEqual(leftovers.read(os.path.join(work, name)), text)
            self.assertEqual(os.lstat(os.path.join(work, name)).st_uid, owner, name)

    def test_a_copied_workspace_stays_and_the_changes_are_kept(self):
        work = self.folder(note="old\n", gone="x")
        result = self.json("--workspace", f"{work}:copy", "--", "sh", "-c",
                           "echo new > note; rm gone; echo made > made")
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.addCleanup(paddock.call, "apply", result["change_set"], "--discard", user=self.user)
        self.assertEqual((leftovers.read(f"{work}/note"), sorted(os.listdir(work))),
                         ("old\n", ["gone", "note"]))
        changes = json.loads(paddock.call("diff", result["change_set"], "--json",
                                          user=self.user).stdout)["changes"]
        self.assertEqual({change["path"]: change["kind"] for change in changes},
                         {"note": "changed", "gone": "removed", "made": "added"})
        self.assertIn("+new\n",
                      paddock.call("diff", result["change_set"], "--text", user=self.user).stdout)

    def test_a_path_that_is_shown_can_be_read_and_no_other(self):
        shown, other = self.folder(note="shown"), self.folder(note="hidden")
        done = self.plain("--read", shown, "--", "sh", "-c",
                          f"cat {shown}/note {other}/note; touch {shown}/new && echo made")
        self.assertEqual((done.stdout, os.listdir(shown)), ("shown", ["note"]), done.stderr)

    def test_a_path_to_write_can_be_written(self):
        shown = self.folder()
        self.output("--write", shown, "--", "sh", "-c", f"echo made > {shown}/new")
        self.assertEqual(os.stat(f"{shown}/new").st_uid, os.stat(shown).st_uid)

    def test_a_denied_file_of_a_workspace_is_hidden(self):
        for mode in ("ro", "copy"):
            work = self.folder(secret="hidden", note="shown")
            os.link(f"{work}/secret", f"{work}/second")
            done = self.plain("--workspace", f"{work}:{mode}", "--discard", "--deny",
                              f"{work}/secret", "--", "sh", "-c", "cat note secret second")
            self.assertEqual(done.stdout, "shown", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "there is no other user to have it")
    def test_a_file_of_the_hosts_root_cannot_be_read(self):
        shown = self.folder(note="shown")
        with open(os.open(f"{shown}/secret", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(UNREADABLE)
        done = self.plain("--read", shown, "--", "sh", "-c",
                          f"cat {shown}/note {shown}/secret; cat /etc/shadow /proc/1/environ")
        self.assertEqual(done.stdout, "shown", done.stderr)

    # ---- network

    def test_there_is_no_network(self):
        self.assertEqual(self.seen["interfaces"], ["lo"])
        self.assertNotIn("done", self.seen["connects"].values())

    def test_a_host_that_is_allowed_is_reached_and_no_other(self):
        done = self.plain("--allow-net", f"localhost:{port()}", "--code", FETCH.replace(
            "sys.argv[1:]", repr([f"http://localhost:{port()}/", "http://elsewhere.example/"])))
        self.assertEqual(done.stdout, "hello\n403\n", done.stderr)
        self.assertIn("denied: connect elsewhere.example:80", done.stderr)

    # ---- what it sees

    def test_only_the_three_standard_descriptors_are_open(self):
        self.assertEqual(self.seen["fds"], [0, 1, 2])

    def test_the_host_has_another_name(self):
        self.assertEqual(self.seen["hostname"], "paddock")

    def test_it_has_no_capabilities_and_gets_none(self):
        status = {name: value.strip() for name, value in self.seen["status"].items()}
        self.assertEqual({name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff",
                                                                   "CapBnd", "CapAmb")},
                         dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0))
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_it_sees_its_own_processes_alone(self):
        self.assertLessEqual(len(self.seen["processes"]), 3, self.seen["processes"])

    def test_the_hosts_groups_and_places_are_not_told(self):
        self.assertEqual([path for path in self.seen["cgroups"] if path != "/"], [])
        self.assertNotIn(self.result["id"], self.seen["mounts"])

    def test_it_has_a_boot_id_of_its_own(self):
        self.assertRegex(self.seen["boot_id"],
                         "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertNotIn(self.seen["boot_id"], leftovers.read("/proc/sys/kernel/random/boot_id"))

    def test_what_the_kernel_counts_per_user_is_bounded(self):
        self.assertNotIn("NOT BOUNDED", self.result["enforced"]["user_counters"]["by"])

    def test_its_devices_work(self):
        self.assertEqual(set(self.seen["devices"].values()), {"done"}, self.seen["devices"])

    # ---- the end

    def start(self, mark, *flags):
        child = paddock.popen("run", "--wall", self.wall, *flags, "--", "sh", "-c",
                              f"setsid sleep {mark} & echo up; exec sleep {mark}", user=self.user,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_nothing_of_it_is_root_on_the_host(self):
        mark = marker()
        child = self.start(mark)
        self.assertEqual(child.stdout.readline(), b"up\n")
        for pid in leftovers.processes(mark):
            if leftovers.read(f"/proc/{pid}/comm") != "sleep\n":
                continue
            lines = leftovers.read(f"/proc/{pid}/status").splitlines()
            told = dict(line.split(":", 1) for line in lines)
            ids = told["Uid"].split() + told["Gid"].split() + told["Groups"].split()
            self.assertNotIn("0", ids)
            if self.user == "user" and os.geteuid() == 0:
                self.assertEqual(set(ids), {str(paddock.USER_ID)})

    def test_a_daemon_does_not_outlive_the_run(self):
        mark = marker()
        self.output("--", "sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.1")
        self.assertTrue(until(lambda: not leftovers.processes(mark), 5))

    def assertNothingLeft(self, before, mark):
        left = lambda: (leftovers.host(self.user, mark) | own_groups()) - before  # noqa: E731
        until(lambda: not left(), 10)
        self.assertEqual(sorted(left(), reverse=True)[:8], [])

    def test_after_a_run_nothing_is_left(self):
        mark = marker()
        before = leftovers.host(self.user, mark) | own_groups()
        result = self.json("--memory", "128M", *self.net(), "--", "echo",
                           mark)
        self.assertNothingLeft(before, mark)
        self.assertEqual(groups_of(result["id"]), [])

    def test_a_run_that_takes_and_gives_null_leaves_the_hosts_alone(self):
        child = paddock.popen("run", "--wall", self.wall, "--", "true", user=self.user,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        self.assertEqual(child.wait(20), 0)
        self.assertEqual(devices()["null"], (0, 0, "0o666"))

    def test_kill_9_of_paddock_leaves_nothing(self):
        mark = marker()
        before = leftovers.host(self.user, mark) | own_groups()
        running = self.start(mark, *self.net())
        self.assertEqual(running.stdout.readline(), b"up\n")
        running.kill()
        running.wait()
        for _ in range(10):  # at any instant
            child = self.start(mark)
            time.sleep(random.uniform(0, 0.06))
            child.kill()
            child.wait()
        self.assertNothingLeft(before, mark)

    def test_kill_9_of_the_keeper_leaves_nothing(self):
        mark = marker()
        before = leftovers.host(self.user, mark) | own_groups()
        for _ in range(3):
            child = self.start(mark)
            self.assertEqual(child.stdout.readline(), b"up\n")
            for pid in leftovers.children(child.pid):
                os.kill(pid, signal.SIGKILL)
            self.assertNotEqual(child.wait(20), 0)
        self.assertTrue(until(lambda: not leftovers.processes(mark), 10), "the program lives on")
        self.output("--", "sleep", "0.3")  # nobody was left to clear up: the next run does
        self.assertNothingLeft(before, mark)

    def test_several_at_once_do_not_meet(self):
        def start(number):
            script = f"echo {number} > /tmp/own; sleep 0.2; cat /tmp/own"
            return paddock.popen("run", "--wall", self.wall, "--", "sh", "-c", script,
                                 user=self.user, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 text=True)
        children = [start(number) for number in range(6)]
        self.assertEqual([child.communicate(timeout=30)[0] for child in children],
                         [f"{number}\n" for number in range(6)])


class Lives(OfAWall):
    """A living sandbox, made once, and used by all tests."""

    @classmethod
    def setUpClass(cls):
        cls.server = server(cls.user)
        cls.devices = devices()
        cls.made = []
        if (cls.wall, cls.user) == ("gvisor", "user"):
            raise unittest.SkipTest("gVisor's server of files has a single id for an ordinary user")
        cls.sandbox = cls.create(allow_net=[f"127.0.0.1:{port()}"] * cls.has_network(),
                                 secrets={"KEY": SECRET},
                                 env={"COLOUR": "red"})

    @classmethod
    def tearDownClass(cls):
        for sandbox in cls.made:
            cls.server.request("DELETE", f"/v1/sandboxes/{sandbox}")
        cls.assert_nothing_left(cls.made)
        assert devices() == cls.devices, devices()

    @classmethod
    def create(cls, **body):
        answer = cls.server.request("POST", "/v1/sandboxes",
                                    {"policy": {"isolation": {"wall": cls.wall}},
                                     "timeout_ms": 600000, **body})
        if answer.status != 201:
            error = answer.json()
            cls.refused({**error, "code": error["error"]})
        cls.made.append(answer.json()["id"])
        return cls.made[-1]

    @classmethod
    def assert_nothing_left(cls, sandboxes):
        places = [os.path.join(cls.server.state, "server/sandboxes", id) for id in sandboxes]

        def left():
            found = [path for path in places if os.path.exists(path)]
            found += [path for path in leftovers.mounts() if path.startswith(tuple(places))]
            return found + [path for id in sandboxes for path in groups_of(id)]
        until(lambda: not left(), 20)
        assert not left(), left()

    def ask(self, method, rest="", body=None, sandbox=None, status=200, **options):
        answer = self.server.request(method, f"/v1/sandboxes/{sandbox or self.sandbox}{rest}", body,
                                     **options)
        self.assertEqual(answer.status, status, answer)
        return answer

    def exec(self, command, sandbox=None, **options):
        """What a command prints that ends well."""
        done = self.ask("POST", "/exec?wait=1", {"command": command, **options}, sandbox).json()
        self.assertEqual(done["outcome"], {"kind": "exited", "code": 0}, done)
        return done["stdout"]

    def keepers(self):
        """Those that this server has started."""
        return set(leftovers.named(leftovers.children(self.server.process.pid), "paddock-launch"))

    def test_commands_end_as_they_do(self):
        for command, status in (("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143)):
            self.assertEqual(self.server.call("exec", self.sandbox, "--", "sh", "-c",
                                              command).returncode, status, command)
        self.assertEqual(self.server.call("exec", self.sandbox, "--", "no-such-program").returncode,
                         127)
        self.assertEqual(self.server.call("exec", self.sandbox, "--", "/etc/passwd").returncode,
                         126)
        self.assertEqual(self.server.call("exec", "--timeout", "300ms", self.sandbox, "--", "sleep",
                                          "60").returncode, 124)

    def test_streams_come_apart_and_stdin_goes_in(self):
        done = self.server.call("exec", "-i", self.sandbox, "--", "sh", "-c", "cat; echo err >&2",
                                input="in\n")
        self.assertEqual((done.stdout, done.stderr), ("in\n", "err\n"))

    def test_files_and_processes_stay_between_commands(self):
        self.exec("echo kept > ~/note; (sleep 1000 > /dev/null 2>&1 & echo $! > /tmp/pid)")
        self.assertEqual(self.exec("cat ~/note; kill $(cat /tmp/pid) && echo $COLOUR; pwd"),
                         "kept\nred\n/home/user\n")

    def test_sudo_is_root_inside(self):
        self.assertEqual(self.exec("sudo id -u; sudo touch /etc/made && stat -c %u /etc/made"),
                         "0\n0\n")
        self.assertEqual(self.exec("id -un", user="root"), "root\n")
        if self.user == "root":
            self.exec("cd /usr/local/bin; sudo touch made; sudo chown user made")
            self.assertEqual(self.exec("id -u; stat -c %U /usr/local/bin/made"), "1000\nuser\n")

    def test_a_secret_does_not_come_back(self):
        self.assertEqual(self.exec("echo $KEY ${#KEY}"), f"[redacted:KEY] {len(SECRET)}\n")

    def test_only_the_three_standard_descriptors_are_open(self):
        code = "import os\nprint([n for n in range(1024) if os.path.exists(f'/proc/self/fd/{n}')])"
        self.assertEqual(self.server.call("exec", self.sandbox, "--", "python3", "-c", code).stdout,
                         "[0, 1, 2]\n")

    def test_files_go_up_and_down(self):
        content = os.urandom(3 << 20)
        self.ask("PUT", "/files?path=/home/user/up/b.bin&mode=640", content)
        self.assertEqual(self.ask("GET", "/files?path=/home/user/up/b.bin").body, content)
        self.assertEqual(self.exec("stat -c '%a %s' ~/up/b.bin"), f"640 {len(content)}\n")
        listed = self.ask("GET", "/files/list?path=/home/user/up").json()["entries"]
        self.assertEqual([each["path"] for each in listed], ["/home/user/up/b.bin"])
        self.ask("DELETE", "/files?path=/home/user/up", status=204)

    def test_a_terminal(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as sock:
            session = WebSocket(sock, f"/v1/sandboxes/{self.sandbox}/exec/ws",
                                {"X-API-Key": self.server.key})
            session.send_json({"argv": ["bash", "--norc"], "stdin": True,
                               "terminal": {"rows": 33, "columns": 101}})
            session.send_input(b"stty size; tty; exit 5\n")
            events, streams, _ = session.until_closed()
        self.assertIn(b"33 101\r\n/dev/pts/", streams[3])
        self.assertEqual(events[-1]["outcome"], {"kind": "exited", "code": 5})

    def test_cells_have_a_state(self):
        run = lambda code: self.ask("POST", "/code",
                                    {"code": code, "stream": False}).json()  # noqa: E731
        self.assertEqual(run("x = 41")["error"], None)
        self.assertEqual(run("x + 1")["results"][0]["text"], "42")
        self.assertIn("ZeroDivisionError", json.dumps(run("1 / 0")["error"]))

    def test_a_host_that_is_allowed_is_reached_and_no_other(self):
        self.ask("PUT", "/files?path=/tmp/fetch.py", FETCH.encode())
        urls = f"http://127.0.0.1:{port()}/ http://elsewhere.example/"
        said = self.exec(f"python3 /tmp/fetch.py {urls}").splitlines()
        self.assertEqual(said[0], "hello")
        self.assertIn("not known", said[1])

    def test_it_is_told_what_holds_each_limit(self):
        seen = self.ask("GET").json()
        for name in {"files", "syscalls",
                     "open_files"} | ({"memory"} if self.user == "root" else set()):
            self.assertEqual(seen["enforced"]["enforced"][name]["strength"], "kernel", name)
        self.assertEqual(seen["policy"]["isolation"]["wall"], self.wall, seen["policy"])

    def test_programs_go_before_the_guest_when_memory_runs_out(self):
        self.assertEqual(self.exec("cat /proc/self/oom_score_adj"), "500\n")

    def test_a_pause_stops_all_and_a_resume_lets_it_go_on(self):
        tick = "date +%s%N > /tmp/tick.new; mv /tmp/tick.new /tmp/tick; sleep 0.05"
        self.exec(f"(while :; do {tick}; done) > /dev/null 2>&1 & sleep 0.3")
        self.assertEqual(self.ask("POST", "/pause", {}).json()["state"], "paused")
        paused_at = time.time_ns()
        self.ask("POST", "/exec?wait=1", {"command": "true"}, status=409)
        time.sleep(0.3)
        self.assertEqual(self.ask("POST", "/resume", {}).json()["state"], "running")
        first = int(self.exec("cat /tmp/tick"))
        self.assertTrue(until(lambda: int(self.exec("cat /tmp/tick")) > max(first, paused_at), 10))

    def test_snapshots_and_forks_have_the_files(self):
        self.exec("echo kept > ~/kept")
        snapshot = self.ask("POST", "/snapshots", {"name": f"of-{self.wall}"},
                            status=201).json()["id"]
        later = self.create(template=snapshot)
        forked = self.ask("POST", "/fork", {"count": 2}, status=201).json()["sandboxes"]
        self.made += [each["sandbox"]["id"] for each in forked]
        for each in [later] + self.made[-2:]:
            self.assertEqual(self.exec("cat ~/kept", each), "kept\n")
            self.assertEqual(self.ask("GET", sandbox=each).json()["policy"]["isolation"]["wall"],
                             self.wall)

    def test_a_command_that_takes_too_much_memory_says_so(self):
        small = self.create(limits={"memory": "128M"})
        done = self.ask("POST", "/exec?wait=1",
                        {"command": "exec python3 -c 'x = bytearray(400 << 20); print(len(x))'"},
                        small).json()
        self.assertEqual((done["outcome"]["kind"], done["outcome"].get("limit")),
                         ("limit", "memory"), done)

    def test_after_kill_9_of_the_server_it_goes_on(self):
        self.exec("echo before > ~/before; (sleep 1000 > /dev/null 2>&1 & echo $! > /tmp/sleeper)")
        self.ask("POST", "/code", {"code": "kept = 'state'", "stream": False})
        self.server.kill9()
        self.server.start()
        self.assertEqual(self.exec("cat ~/before; kill $(cat /tmp/sleeper) && echo alive"),
                         "before\nalive\n")
        self.assertEqual(self.exec("sudo id -u"), "0\n")

    def test_kill_9_of_the_keeper_ends_it_and_leaves_nothing(self):
        others = self.keepers()
        doomed = self.create()
        mark = marker()
        self.exec(f"(sleep {mark} > /dev/null 2>&1 &)", doomed)
        keeper, = self.keepers() - others
        os.kill(keeper, signal.SIGKILL)
        self.assertTrue(until(lambda: not leftovers.processes(mark), 10), "its processes live on")
        self.assertTrue(until(lambda: self.server.request("GET",
                                                          f"/v1/sandboxes/{doomed}").status == 404,
                              10))
        self.assert_nothing_left([doomed])
        self.assertEqual(self.exec("echo fine"), "fine\n")

    def test_a_kill_leaves_nothing(self):
        mark = marker()
        doomed = self.create()
        self.exec(f"(setsid sleep {mark} > /dev/null 2>&1 &)", doomed)
        self.ask("DELETE", sandbox=doomed, status=204)
        self.assertEqual(leftovers.processes(mark), [])
        self.assert_nothing_left([doomed])


class NotHere(unittest.TestCase):
    def test_a_wall_that_is_not_here_is_refused_with_a_hint(self):
        for user in paddock.USERS:
            for wall, told in doctor(user).items():
                if told["status"] == "works" or wall in WALLS:
                    continue
                with self.subTest(user=user, wall=wall):
                    done = paddock.run("--wall", wall, "--", "true", user=user)
                    self.assertEqual(done.returncode, 125, done.stderr)
                    self.assertIn("hint: ", done.stderr)
                    self.assertEqual(paddock.run_json("--wall", wall, "--", "true",
                                                      user=user)["error"]["code"], "unsupported")


def add(name, test, *arguments):
    """A row of a table as a test of its own."""
    name = "test_" + name.replace(" ", "_")
    method = functools.partialmethod(test, *arguments)
    assert not hasattr(Runs, name), name
    setattr(Runs, name, method)


for each in RUNS:
    add(each[0], Runs.run_case, *each[1:])
for each in LIMITS:
    add(each[0], Runs.limit_case, *each[1:])
for user in paddock.USERS:
    for wall in WALLS:
        for suite in (Runs, Lives):
            name = f"{wall.capitalize()}As{user.capitalize()}{suite.__name__}"
            globals()[name] = type(name, (suite, unittest.TestCase), {"wall": wall, "user": user})


if __name__ == "__main__":
    paddock.main()
