"""Every limit bites, names itself, and says by what it was held; for each user and each native wall."""
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import leftovers, paddock
from support.programs import FILL, FORK_BOMB, MANY_DESCRIPTORS

KIB, MIB = 1 << 10, 1 << 20

# Children that end before anyone looks, and are reaped by nobody the program knows.
CRUMBS_OF_CPU = """
import os, time
while True:
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            while time.process_time() < 0.01: pass
        os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(0.005)
"""

# One orphan after the other, each waited for until its pid is free.
ORPHANS = """
import os, time
gone = 0
for _ in range(60):
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        orphan = os.fork()
        if orphan: os.write(writing, str(orphan).encode())
        os._exit(0)
    os.waitpid(middle, 0)
    orphan = int(os.read(reading, 20))
    os.close(reading); os.close(writing)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try: os.kill(orphan, 0)
        except OSError: break
        time.sleep(0.002)
    else: break
    gone += 1
print(gone, 'gone')
"""

FLOOD_OF_FILES = """
import os, time
folder, made = os.environ['TMPDIR'], 0
try:
    while made < 1000000:
        os.symlink('x', f'{folder}/{made}')
        made += 1
except OSError as problem:
    print(made, problem.errno)
time.sleep(0.3)
"""

BIG_FILE = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
name = os.path.join(os.environ['TMPDIR'], 'big')
try:
    with open(name, 'wb', buffering=0) as file:
        for _ in range(8): file.write(b'x' * 2**20)
except OSError as problem:
    print(problem.errno, os.path.getsize(name))
"""

# Double fork, own session, deaf to signals; beats until the run ends.
DAEMON = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 3, 15, 18): signal.signal(number, signal.SIG_IGN)
        for beat in range(600):
            with open('heartbeat', 'w') as file: file.write(str(beat))
            time.sleep(0.05)
    os._exit(0)
os.wait()
while not os.path.exists('heartbeat'): time.sleep(0.01)
"""

# Each process forks the next and exits: a list of pids is old before it is read. It gives up by itself after 40 s.
RUNAWAY = """
import os, time
end = time.monotonic() + 40
if os.fork() == 0:
    os.setsid()
    while time.monotonic() < end:
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
    os._exit(0)
time.sleep(30)
"""


class Run:
    """`paddock run` on one wall, started by one user; with --json unless plain."""

    def __init__(self, user, wall):
        self.user, self.wall = user, wall

    def __call__(self, *arguments):
        return paddock.run_json("--wall", self.wall, *arguments, user=self.user)

    def plain(self, *arguments):
        return paddock.run("--wall", self.wall, *arguments, user=self.user)


on_container, on_both = paddock.on("container", run=Run), paddock.on("container", "process", run=Run)


def limits_hit(result):
    """Names of all limits that bit, whether they ended the run or not."""
    names = {hit["limit"] for hit in result["limits_hit"]}
    if result["outcome"]["kind"] == "limit":
        names.add(result["outcome"]["limit"])
    return names


class Base(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def assertLimit(self, result, name, value=None):
        """The run was ended by this limit."""
        self.assertNotIn("error", result)
        self.assertEqual(result["outcome"]["kind"], "limit", result)
        self.assertEqual(result["outcome"]["limit"], name, result)
        if value is not None:
            self.assertEqual(result["outcome"]["value"], value)
        self.assertIn("peak", result["outcome"])
        self.assertIn(name, {hit["limit"] for hit in result["limits_hit"]})

    def assertBit(self, result, name):
        """The limit was met, whether or not it ended the run."""
        self.assertNotIn("error", result)
        self.assertIn(name, limits_hit(result), result)

    def assertExited(self, result, code=0):
        self.assertEqual(result.get("outcome"), {"kind": "exited", "code": code}, result)


class Memory(Base):
    @on_both
    def test_names_value_and_peak(self, run):
        result = run("--memory", "64M", "--code", "x = bytearray(10**9)")
        self.assertLimit(result, "memory", 64 * MIB)
        self.assertGreater(result["outcome"]["peak"], 32 * MIB)

    @on_both
    def test_of_a_child_is_noticed(self, run):
        code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = bytearray(10**9)'])\nprint('went on')"
        self.assertBit(run("--memory", "64M", "--code", code), "memory")

    @on_both
    def test_below_the_limit_is_left_alone(self, run):
        result = run("--memory", "128M", "--code", "x = bytearray(40 * 2**20)\nimport time; time.sleep(0.3)")
        self.assertExited(result)
        self.assertEqual(result["limits_hit"], [])
        self.assertGreater(result["usage"]["memory_peak_bytes"], 40 * MIB)
        self.assertLessEqual(result["usage"]["memory_peak_bytes"], 128 * MIB)


class Processes(Base):
    @on_both
    def test_fork_bomb(self, run):
        result = run("--pids", "20", "--code", FORK_BOMB)
        self.assertBit(result, "pids")
        self.assertEqual(next(hit for hit in result["limits_hit"] if hit["limit"] == "pids")["value"], 20)
        if result["outcome"]["kind"] == "exited":
            made, error = map(int, result["stdout"].split())
            self.assertLessEqual(made, 20)
            self.assertEqual(error, 11)

    @on_both
    def test_fork_bomb_of_a_shell(self, run):
        self.assertBit(run("--pids", "20", "--timeout", "3s", "--", "bash", "-c", ":(){ :|:& }; :; sleep 20"), "pids")

    @on_both
    def test_orphans_that_ended_are_reaped(self, run):
        """A program may start more processes one after the other than it may have at once."""
        result = run("--pids", "30", "--timeout", "60s", "--code", ORPHANS)
        self.assertExited(result)
        self.assertEqual((result["stdout"], result["limits_hit"]), ("60 gone\n", []))


class Times(Base):
    @on_both
    def test_wall_time(self, run):
        self.assertLimit(run("--timeout", "1s", "--", "sleep", "20"), "wall_time", 1000)

    @on_both
    def test_cpu_time(self, run):
        result = run("--cpu-time", "1s", "--timeout", "30s", "--code", "while True: pass")
        self.assertLimit(result, "cpu_time", 1000)
        self.assertGreaterEqual(result["outcome"]["peak"], 1000)

    @on_both
    def test_cpu_time_of_all_processes_together(self, run):
        code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
        result = run("--cpu-time", "1s", "--timeout", "30s", "--code", code)
        self.assertLimit(result, "cpu_time", 1000)
        self.assertLess(result["usage"]["cpu_ms"], 3000)

    @on_both
    def test_cpu_time_of_processes_that_are_gone(self, run):
        self.assertLimit(run("--cpu-time", "1s", "--timeout", "30s", "--code", CRUMBS_OF_CPU), "cpu_time", 1000)

    @on_both
    def test_cpu_time_of_a_short_run_is_told(self, run):
        result = run("--code", "import time\nwhile time.process_time() < 0.2: pass")
        self.assertExited(result)
        self.assertGreater(result["usage"]["cpu_ms"], 150)

    @on_both
    def test_idle_time(self, run):
        self.assertLimit(run("--idle-timeout", "1s", "--timeout", "30s", "--", "sleep", "20"), "idle_time", 1000)

    @on_both
    def test_output_is_a_sign_of_life(self, run):
        script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done"  # hardly any CPU time
        self.assertExited(run("--idle-timeout", "1500ms", "--timeout", "30s", "--", "bash", "-c", script))


class Output(Base):
    @on_both
    def test_flood(self, run):
        result = run("--output-limit", "64K", "--timeout", "30s", "--", "yes")
        self.assertLimit(result, "output", 64 * KIB)
        self.assertLessEqual(len(result["stdout"]), 64 * KIB)
        self.assertTrue(result["stdout_truncated"])

    @on_both
    def test_both_streams_count_together(self, run):
        result = run("--output-limit", "64K", "--timeout", "30s", "--", "bash", "-c", "yes & yes >&2")
        self.assertLimit(result, "output")
        self.assertLessEqual(len(result["stdout"]) + len(result["stderr"]), 64 * KIB)

    @on_both
    def test_a_reader_that_goes_away_ends_the_run(self, run):
        child = paddock.popen("run", "--wall", run.wall, "--timeout", "30s", "--", "yes", user=run.user, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child.stdout.readline()
        child.stdout.close()
        self.assertNotEqual(child.wait(timeout=20), 0)


class Disk(Base):
    @on_both
    def test_full(self, run):
        result = run("--disk", "8M", "--code", FILL)
        self.assertBit(result, "disk")
        if result["outcome"]["kind"] == "exited":
            error, total = result["stdout"].split()
            self.assertIn(error, ("ENOSPC", "EDQUOT"))
            self.assertLessEqual(int(total), 8 * MIB)

    @on_container
    def test_all_private_places_together(self, run):
        script = ("for d in /tmp /var/tmp /dev/shm $HOME; do head -c 6M /dev/zero > $d/hog; done 2>/dev/null; sleep 0.3; "
                  "cat /tmp/hog /var/tmp/hog /dev/shm/hog $HOME/hog | wc -c")
        result = run("--disk", "8M", "--", "bash", "-c", script)
        self.assertBit(result, "disk")
        self.assertLessEqual(int(result["stdout"] or 0), 8 * MIB)

    @on_both
    def test_read_write_workspace(self, run):
        """P16: a directory of the host has no quota of ours; the keeper measures what is added, or the run is refused."""
        script = "for i in $(seq 60); do head -c 1M /dev/zero >> hog || exit 3; sleep 0.02; done; echo whole"
        folder = self.folder(run.user)
        result = run("--disk", "8M", "--workspace", folder + ":rw", "--", "bash", "-c", script)
        if "error" in result:
            self.assertTrue(result["error"]["message"])
            return
        self.assertBit(result, "disk")
        self.assertNotIn("whole", result["stdout"])

    @on_container
    def test_copied_workspace(self, run):
        script = "for i in $(seq 60); do head -c 1M /dev/zero >> hog || exit 3; sleep 0.02; done; echo whole"
        result = run("--disk", "8M", "--workspace", self.folder(run.user) + ":copy", "--discard", "--", "bash", "-c", script)
        self.assertBit(result, "disk")
        self.assertNotIn("whole", result["stdout"])

    @on_both
    def test_inodes(self, run):
        result = run("--inodes", "1000", "--timeout", "50s", "--code", FLOOD_OF_FILES)
        self.assertBit(result, "inodes")
        if result["outcome"]["kind"] == "exited":
            made, error = map(int, result["stdout"].split())
            self.assertLessEqual(made, 1000)
            self.assertEqual(error, 28)

    @on_both
    def test_file_size(self, run):
        result = run("--file-size", "2M", "--code", BIG_FILE)
        self.assertEqual(result["stdout"].split(), ["27", str(2 * MIB)], result)

    @on_both
    def test_open_files(self, run):
        result = run("--open-files", "50", "--code", MANY_DESCRIPTORS)
        error, highest = map(int, result["stdout"].split())
        self.assertEqual(error, 24)
        self.assertLess(highest, 50)


class CpuShare(Base):
    @on_both
    def test_is_held_or_refused(self, run):
        code = "import os, time\nos.fork(); os.fork()\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass"
        result = run("--cpu", "0.5", "--timeout", "30s", "--code", code)
        if run.user == "user" and "error" in result:  # without a cgroup: refused, never run without the limit
            self.assertEqual(result["error"]["code"], "unsupported", result)
            self.assertIn("cpu", result["error"]["message"])
            return
        self.assertEqual(result["enforced"]["cpu"]["strength"], "kernel", result)
        share = result["usage"]["cpu_ms"] / result["usage"]["wall_ms"]
        self.assertLess(share, 0.5 * 1.15, result["usage"])
        self.assertGreater(share, 0.5 * 0.5, result["usage"])


class Strength(Base):
    FLAGS = ("--memory", "128M", "--pids", "32", "--cpu-time", "10s", "--timeout", "20s", "--open-files", "256", "--file-size", "8M",
             "--output-limit", "1M", "--disk", "32M", "--inodes", "2000")
    NAMES = ("memory", "pids", "cpu_time", "wall_time", "open_files", "file_size", "output", "disk", "inodes")

    @on_both
    def test_is_told(self, run):
        enforced = run(*self.FLAGS, "--", "true")["enforced"]
        for name in self.NAMES:
            self.assertIn(name, enforced)
            self.assertIn(enforced[name]["strength"], ("kernel", "sampled"))
            self.assertTrue(enforced[name]["by"], name)
        in_kernel = {"open_files", "file_size"}
        in_kernel |= {"memory", "pids"} if run.user == "root" else set()
        in_kernel |= {"pids", "disk", "inodes"} if run.wall == "container" else set()
        for name in in_kernel:
            self.assertEqual(enforced[name]["strength"], "kernel", (name, enforced[name]))
        if run.user == "user" and "cgroup" not in enforced["memory"]["by"].split("(")[0]:
            self.assertEqual(enforced["memory"]["strength"], "sampled", enforced["memory"])

    @on_both
    def test_required_of_the_kernel(self, run):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=self.folder(run.user)) as policy:
            policy.write('version = 1\n[limits]\nmemory = "64M"\nrequire = "kernel"\n')
            policy.flush()
            paddock.give(policy.name, run.user)
            result = run("--policy", policy.name, "--", "echo", "ran")
        if run.wall == "container" and run.user == "root":
            self.assertEqual(result["enforced"]["memory"]["strength"], "kernel", result)
        elif "error" in result:
            self.assertEqual(result["error"]["code"], "unsupported", result)
            self.assertIn("sampled", result["error"]["message"])
        else:
            self.assertEqual({by["strength"] for by in result["enforced"].values()}, {"kernel"})


class BoundedDisk(Base):
    POLICY = 'version = 1\n[limits]\nmemory = "64M"\ndisk = "100M"\ninodes = 200\nrequire = "kernel"\n'

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/loop-control") and os.path.exists("/usr/sbin/mke2fs"), "needs root, loop devices and mke2fs")
    def test_space_on_disk_can_be_required_of_the_kernel(self):
        policy = paddock.policy_file(self, self.POLICY)
        result = paddock.run_json("--policy", policy, "--", "sh", "-c", "head -c 200000000 /dev/zero > /tmp/large; stat -c %s /tmp/large; rm /tmp/large; "
                                  "for i in $(seq 300); do touch /tmp/$i || break; done; ls /tmp | wc -l")
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        size, files = map(int, result["stdout"].split())
        self.assertTrue(90 * MIB < size <= 100 * MIB, size)
        self.assertTrue(150 < files <= 200, files)
        self.assertIn("No space left", result["stderr"])
        for limit in ("disk", "inodes"):
            self.assertEqual(result["enforced"][limit], {"by": "size and inodes of an ext4 filesystem of its own", "strength": "kernel"})

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/loop-control") and os.path.exists("/usr/sbin/mke2fs"), "needs root, loop devices and mke2fs")
    def test_nothing_of_it_is_left_when_all_are_killed(self):
        attached = lambda: {path for path in glob.glob("/sys/block/loop*/loop/backing_file") if "/paddock-0/" in pathlib.Path(path).read_text()}
        run = paddock.popen("run", "--policy", paddock.policy_file(self, self.POLICY), "--", "sh", "-c", "echo up; sleep 1000", stdout=subprocess.PIPE)
        self.assertEqual(run.stdout.readline(), b"up\n")
        self.assertTrue(attached())
        keepers = leftovers.children(run.pid)
        for pid in (*keepers, run.pid):
            os.kill(pid, signal.SIGKILL)
        run.communicate()
        deadline = time.monotonic() + 20
        while attached() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(attached(), set())
        while leftovers.cgroups() and time.monotonic() < deadline:
            paddock.run("--", "sleep", "0.1")  # removes what killed keepers have left, in runs that last
        self.assertEqual(leftovers.cgroups(), set())


class ExitStatus(Base):
    EXPECTED = [
        (0, ["--", "true"]),
        (7, ["--", "bash", "-c", "exit 7"]),
        (128 + 11, ["--", "bash", "-c", "kill -SEGV $$"]),
        (128 + 15, ["--", "bash", "-c", "kill -TERM $$"]),
        (128 + 9, ["--", "bash", "-c", "kill -KILL $$"]),
        (124, ["--timeout", "1s", "--", "sleep", "20"]),
        (124, ["--cpu-time", "1s", "--", "bash", "-c", "while :; do :; done"]),
        (137, ["--memory", "64M", "--code", "x = bytearray(10**9)"]),
        (137, ["--output-limit", "16K", "--", "yes"]),
        (126, ["--", "/usr/share/common-licenses/BSD"]),
        (126, ["--", "/usr"]),
        (127, ["--", "no-such-program"]),
        (127, ["--", "/no/such/program"]),
        (125, ["--memory", "banana", "--", "true"]),
        (125, ["--no-such-flag", "--", "true"]),
        (125, ["--policy", "/no/such/policy.toml", "--", "true"]),
    ]

    @on_both
    def test_says_how_it_ended(self, run):
        for status, arguments in self.EXPECTED:
            with self.subTest(user=run.user, wall=run.wall, arguments=arguments):
                result = run.plain(*arguments)
                self.assertEqual(result.returncode, status, result.stderr)

    @on_both
    def test_one_line_says_which_limit(self, run):
        told = run.plain("--timeout", "1s", "--", "sleep", "20")
        self.assertIn("wall_time", told.stderr)
        self.assertEqual(told.stderr.count("\n"), 1)
        self.assertEqual(run.plain("--timeout", "1s", "--quiet", "--", "sleep", "20").stderr, "")


class TheEnd(Base):
    @on_both
    def test_a_daemon_does_not_outlive_the_run(self, run):
        for flags, rest in ((["--timeout", "2s"], "time.sleep(20)"), ([], "")):
            folder = self.folder(run.user)
            result = run("--workspace", f"{folder}:rw", *flags, "--code", DAEMON + rest)
            if run.wall == "process" and run.user == "root":
                self.assertIn("error", result)  # it cannot keep the ownership of what root's program writes
                continue
            self.assertNotIn("error", result)
            self.assertEqual(self.heartbeat(folder), self.heartbeat(folder), "the daemon is still alive")

    def heartbeat(self, folder):
        time.sleep(0.4)
        with open(os.path.join(folder, "heartbeat")) as file:
            return file.read()

    @on_both
    def test_a_process_that_runs_away_from_its_killer(self, run):
        started = time.monotonic()
        self.assertEqual(run("--timeout", "1s", "--pids", "20", "--code", RUNAWAY)["outcome"]["limit"], "wall_time")
        self.assertLess(time.monotonic() - started, 30, "it ended only because the program gave up")


if __name__ == "__main__":
    paddock.main()
