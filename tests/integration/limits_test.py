"""Every limit bites, names itself, and says by what it was held; for each user and each native wall."""
import functools
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from support import paddock

MIB = 1 << 20


class Run:
    """`paddock run --json` on one wall, started by one user."""

    def __init__(self, user, wall):
        self.user, self.wall = user, wall

    def __call__(self, *arguments):
        return paddock.run_json("--wall", self.wall, *arguments, user=self.user)

    def plain(self, *arguments):
        return paddock.run("--wall", self.wall, *arguments, user=self.user)


def on(*walls):
    """Runs a test once per user and wall, as subtests."""
    def decorate(test):
        @functools.wraps(test)
        def every(self):
            for user in paddock.USERS:
                for wall in walls:
                    with self.subTest(user=user, wall=wall):
                        test(self, Run(user, wall))
        return every
    return decorate


def limits_hit(result):
    """Names of all limits that bit, whether they ended the run or not."""
    names = {hit["limit"] for hit in result["limits_hit"]}
    if result["outcome"]["kind"] == "limit":
        names.add(result["outcome"]["limit"])
    return names


class LimitsTest(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def assertLimit(self, result, name, value=None):
        self.assertNotIn("error", result)
        self.assertEqual(result["outcome"]["kind"], "limit", result)
        self.assertEqual(result["outcome"]["limit"], name, result)
        if value is not None:
            self.assertEqual(result["outcome"]["value"], value)
        self.assertIn("peak", result["outcome"])
        self.assertIn(name, {hit["limit"] for hit in result["limits_hit"]})

    # -- memory

    @on("container", "process")
    def test_memory_names_value_and_peak(self, run):
        result = run("--memory", "64M", "--code", "x = bytearray(10**9)")
        self.assertLimit(result, "memory", 64 * MIB)
        self.assertGreater(result["outcome"]["peak"], 32 * MIB)

    @on("container", "process")
    def test_memory_of_a_child_ends_the_run(self, run):
        code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = bytearray(10**9)'])\nprint('went on')"
        result = run("--memory", "64M", "--code", code)
        self.assertIn("memory", limits_hit(result), result)

    @on("container", "process")
    def test_memory_below_the_limit_is_left_alone(self, run):
        result = run("--memory", "128M", "--code", "x = bytearray(40 * 2**20); print(len(x))")
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.assertEqual(result["limits_hit"], [])
        self.assertGreater(result["usage"]["memory_peak_bytes"], 40 * MIB)
        self.assertLessEqual(result["usage"]["memory_peak_bytes"], 128 * MIB)

    # -- processes

    def test_fork_bomb(self):
        code = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        made += 1
except OSError as error:
    print(made, error.errno)
time.sleep(0.3)
"""
        for run in self.each():
            result = run("--pids", "20", "--code", code)
            self.assertIn("pids", limits_hit(result), result)
            if result["outcome"]["kind"] == "exited":
                made, error = map(int, result["stdout"].split())
                self.assertLessEqual(made, 20)
                self.assertEqual(error, 11)
            hit = next(hit for hit in result["limits_hit"] if hit["limit"] == "pids")
            self.assertEqual(hit["value"], 20)

    @on("container", "process")
    def test_a_shell_fork_bomb_ends_by_the_clock(self, run):
        result = run("--pids", "20", "--timeout", "3s", "--", "bash", "-c", ":(){ :|:& }; :; sleep 20")
        self.assertIn("pids", limits_hit(result), result)

    # -- time

    @on("container", "process")
    def test_wall_time(self, run):
        self.assertLimit(run("--timeout", "1s", "--", "sleep", "20"), "wall_time", 1000)

    @on("container", "process")
    def test_cpu_time(self, run):
        result = run("--cpu-time", "1s", "--timeout", "30s", "--code", "while True: pass")
        self.assertLimit(result, "cpu_time", 1000)
        self.assertGreaterEqual(result["outcome"]["peak"], 1000)

    @on("container", "process")
    def test_cpu_time_of_all_processes_together(self, run):
        code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
        result = run("--cpu-time", "1s", "--timeout", "30s", "--code", code)
        self.assertLimit(result, "cpu_time", 1000)
        self.assertLess(result["usage"]["cpu_ms"], 3000)

    def test_cpu_time_of_processes_that_are_gone(self):
        # Children that end before anyone looks, and are reaped by nobody the program knows.
        code = """
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
        for run in self.each():
            self.assertLimit(run("--cpu-time", "1s", "--timeout", "30s", "--code", code), "cpu_time", 1000)

    @on("container", "process")
    def test_idle_time(self, run):
        self.assertLimit(run("--idle-timeout", "1s", "--timeout", "30s", "--", "sleep", "20"), "idle_time", 1000)

    @on("container", "process")
    def test_output_counts_as_not_idle(self, run):
        # Cheap lines: hardly any CPU time, but a sign of life.
        script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done"
        result = run("--idle-timeout", "1500ms", "--timeout", "30s", "--", "bash", "-c", script)
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)

    # -- output

    @on("container", "process")
    def test_output(self, run):
        result = run("--output-limit", "64K", "--timeout", "30s", "--", "yes")
        self.assertLimit(result, "output", 64 * 1024)
        self.assertLessEqual(len(result["stdout"]), 64 * 1024)
        self.assertTrue(result["stdout_truncated"])

    @on("container", "process")
    def test_output_of_both_streams_counts_together(self, run):
        result = run("--output-limit", "64K", "--timeout", "30s", "--", "bash", "-c", "yes & yes >&2")
        self.assertLimit(result, "output")
        self.assertLessEqual(len(result["stdout"]) + len(result["stderr"]), 64 * 1024)

    def test_a_reader_that_goes_away_ends_the_run(self):
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                child = paddock.popen("run", "--wall", wall, "--timeout", "30s", "--", "yes", user=user, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                child.stdout.readline()
                child.stdout.close()
                self.assertNotEqual(child.wait(timeout=20), 0)

    # -- disk

    FILL = """
import errno, os
name = os.path.join(os.environ.get('TMPDIR', '/tmp'), 'hog')
block, error, total = b'x' * 65536, None, 0
try:
    with open(name, 'wb', buffering=0) as file:
        while total < 60 << 20:
            total += file.write(block)
except OSError as problem:
    error = errno.errorcode[problem.errno]
import time; time.sleep(0.3)
print(error, total)
"""

    @on("container", "process")
    def test_disk(self, run):
        result = run("--disk", "8M", "--code", self.FILL)
        self.assertIn("disk", limits_hit(result), result)
        if result["outcome"]["kind"] == "exited":
            error, total = result["stdout"].split()
            self.assertIn(error, ("ENOSPC", "EDQUOT"))
            self.assertLessEqual(int(total), 8 * MIB)

    @on("container")
    def test_disk_of_all_private_places_together(self, run):
        script = "for d in /tmp /var/tmp /dev/shm $HOME; do head -c 6M /dev/zero > $d/hog; done; sleep 0.3; cat /tmp/hog /var/tmp/hog /dev/shm/hog $HOME/hog | wc -c"
        result = run("--disk", "8M", "--", "bash", "-c", script)
        self.assertIn("disk", limits_hit(result), result)
        self.assertLessEqual(int(result["stdout"] or 0), 8 * MIB)

    @on("container")
    def test_disk_holds_in_a_read_write_workspace(self, run):
        script = "for i in $(seq 60); do head -c 1M /dev/zero >> hog || exit 3; sleep 0.02; done; echo whole"
        result = run("--disk", "8M", "--workspace", self.folder(run.user) + ":rw", "--", "bash", "-c", script)
        if "error" in result:  # refused is an answer too, but only with a reason
            self.assertTrue(result["error"]["message"])
            return
        self.assertIn("disk", limits_hit(result), result)
        self.assertNotIn("whole", result["stdout"])

    def test_inodes(self):
        code = """
import os, time
folder, made = os.environ.get('TMPDIR', '/tmp'), 0
try:
    while made < 1000000:
        os.symlink('x', f'{folder}/{made}')
        made += 1
except OSError as problem:
    print(made, problem.errno)
time.sleep(0.3)
"""
        for run in self.each():
            result = run("--inodes", "1000", "--code", code, "--timeout", "50s")
            self.assertIn("inodes", limits_hit(result), result)
            if result["outcome"]["kind"] == "exited":
                made, error = map(int, result["stdout"].split())
                self.assertLessEqual(made, 1000)
                self.assertEqual(error, 28)

    def test_file_size(self):
        code = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
name = os.path.join(os.environ.get('TMPDIR', '/tmp'), 'big')
try:
    with open(name, 'wb', buffering=0) as file:
        for _ in range(8): file.write(b'x' * 2**20)
except OSError as problem:
    print(problem.errno, os.path.getsize(name))
"""
        for run in self.each():
            result = run("--file-size", "2M", "--code", code)
            self.assertEqual(result["stdout"].split(), ["27", str(2 * MIB)], result)

    def test_open_files(self):
        code = """
import os
highest = 2
try:
    while highest < 500: highest = os.dup(0)
except OSError as problem:
    print(problem.errno, highest)
"""
        for run in self.each():
            result = run("--open-files", "50", "--code", code)
            error, highest = map(int, result["stdout"].split())
            self.assertEqual(error, 24)
            self.assertLess(highest, 50)

    # -- CPU share

    @on("container", "process")
    def test_cpu_share(self, run):
        code = "import os, time\nos.fork(); os.fork()\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass"
        result = run("--cpu", "0.5", "--timeout", "30s", "--code", code)
        if run.user != "root":
            # No cgroup for this user here: refused, never run without the limit.
            self.assertEqual(result["error"]["code"], "unsupported", result)
            self.assertTrue(result["error"]["message"])
            return
        self.assertEqual(result["enforced"]["cpu"]["strength"], "kernel")
        share = result["usage"]["cpu_ms"] / result["usage"]["wall_ms"]
        self.assertLess(share, 0.5 * 1.15, result["usage"])
        self.assertGreater(share, 0.5 * 0.5, result["usage"])

    # -- strength

    @on("container", "process")
    def test_strength_is_told(self, run):
        names = ("memory", "pids", "cpu_time", "wall_time", "open_files", "file_size", "output", "disk", "inodes")
        flags = ("--memory", "128M", "--pids", "32", "--cpu-time", "10s", "--timeout", "20s", "--open-files", "256", "--file-size", "8M",
                 "--output-limit", "1M", "--disk", "32M", "--inodes", "2000")
        enforced = run(*flags, "--", "true")["enforced"]
        for name in names:
            self.assertIn(name, enforced)
            self.assertIn(enforced[name]["strength"], ("kernel", "sampled"))
            self.assertTrue(enforced[name]["by"], name)
        for name in ("open_files", "file_size"):
            self.assertEqual(enforced[name]["strength"], "kernel")
        for name in ("memory", "pids"):
            if run.user == "root":
                self.assertEqual(enforced[name]["strength"], "kernel", enforced)
        if run.user == "user":
            self.assertEqual(enforced["memory"]["strength"], "sampled", enforced)
        if run.wall == "container":
            self.assertEqual(enforced["pids"]["strength"], "kernel", enforced)
            self.assertEqual(enforced["disk"]["strength"], "kernel", enforced)

    def test_require_kernel_refuses_sampled_limits(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
            policy.write('version = 1\nextends = "default"\n[limits]\nmemory = "64M"\nrequire = "kernel"\n')
            policy.flush()
            os.chmod(policy.name, 0o644)
            for run in self.each():
                result = run("--policy", policy.name, "--", "echo", "ran")
                if run.user == "user":
                    self.assertIn("error", result)
                    self.assertEqual(result["error"]["code"], "unsupported")
                    self.assertIn("memory", result["error"]["message"])
                elif "error" not in result:
                    self.assertEqual(result["enforced"]["memory"]["strength"], "kernel")

    # -- exit statuses

    def test_exit_statuses(self):
        expected = [
            (0, ["--", "true"]),
            (7, ["--", "bash", "-c", "exit 7"]),
            (128 + 11, ["--", "bash", "-c", "kill -SEGV $$"]),
            (128 + 15, ["--", "bash", "-c", "kill -TERM $$"]),
            (128 + 9, ["--", "bash", "-c", "kill -KILL $$"]),
            (124, ["--timeout", "1s", "--", "sleep", "20"]),
            (124, ["--cpu-time", "1s", "--", "bash", "-c", "while :; do :; done"]),
            (137, ["--memory", "64M", "--code", "x = bytearray(10**9)"]),
            (137, ["--output-limit", "16K", "--", "yes"]),
            (126, ["--", "/etc/passwd"]),
            (127, ["--", "no-such-program"]),
            (127, ["--", "/no/such/program"]),
            (125, ["--memory", "banana", "--", "true"]),
            (125, ["--no-such-flag", "--", "true"]),
            (125, ["--policy", "/no/such/policy.toml", "--", "true"]),
        ]
        for user, wall in cases():
            for status, arguments in expected:
                with self.subTest(user=user, wall=wall, arguments=arguments):
                    result = paddock.run("--wall", wall, *arguments, user=user)
                    self.assertEqual(result.returncode, status, result.stderr)

    def test_one_line_says_which_limit(self):
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                arguments = ["--wall", wall, "--timeout", "1s"]
                told = paddock.run(*arguments, "--", "sleep", "20", user=user)
                self.assertIn("wall_time", told.stderr)
                quiet = paddock.run(*arguments, "--quiet", "--", "sleep", "20", user=user)
                self.assertEqual(quiet.stderr, "")

    # -- the end is the end

    def test_a_daemon_does_not_outlive_the_run(self):
        """R03: double fork, own session, ignored signals; the heartbeat must stop with the run."""
        code = """
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
        for ending, rest in ((["--timeout", "2s"], "time.sleep(20)"), ([], "")):
            for run in self.each():
                folder = self.folder(run.user)
                result = run("--workspace", f"{folder}:rw", *ending, "--code", code + rest)
                if run.wall == "process" and run.user == "root":
                    self.assertIn("error", result)  # it cannot keep the ownership of what root's program writes
                    continue
                self.assertNotIn("error", result)
                path = os.path.join(folder, "heartbeat")
                self.assertTrue(os.path.exists(path), result)
                before = open(path).read()
                time.sleep(0.5)
                self.assertEqual(open(path).read(), before, "the daemon is still alive")

    def test_a_process_that_runs_away_from_its_killer(self):
        """Each process forks the next and exits: a list of pids is old before it is read. It gives up by itself after 40 s."""
        code = """
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
        for run in self.each():
            started = time.monotonic()
            self.assertIn(run("--timeout", "1s", "--pids", "20", "--code", code)["outcome"]["limit"], ("wall_time", "cpu_time"))
            self.assertLess(time.monotonic() - started, 30, "it ended only because the program gave up")


if __name__ == "__main__":
    paddock.main()
