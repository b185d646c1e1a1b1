"""The commands about living sandboxes, against a server of the test's own, as root and as an ordinary user."""
import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import paddock
from support.server import Server


def setUpModule():
    global servers, stack
    stack = contextlib.ExitStack()
    try:
        servers = {user: stack.enter_context(Server(user)) for user in paddock.USERS}
    except BaseException:
        stack.close()
        raise


def tearDownModule():
    stack.close()


def with_sandbox(*options):
    """Runs a test once per user with a server and a sandbox of that user's, which is killed afterwards."""
    def decorate(test):
        @functools.wraps(test)
        def every(self):
            for user, server in servers.items():
                with self.subTest(user=user):
                    made = server.call("create", "--timeout", "5m", *options)
                    self.assertEqual(made.returncode, 0, made.stderr)
                    self.assertRegex(made.stdout, r"^[a-z0-9]+\n$")
                    try:
                        test(self, server, made.stdout.strip())
                    finally:
                        server.call("kill", made.stdout.strip())
        return every
    return decorate


class Case(unittest.TestCase):
    def ok(self, server, *arguments, **options):
        done = server.call(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout} {done.stderr}")
        return done.stdout

    def json(self, server, *arguments):
        return json.loads(self.ok(server, *arguments, "--json"))

    def listed(self, server, *arguments):
        return {each["id"]: each for each in self.json(server, "ls", *arguments)["sandboxes"]}

    def failed(self, server, *arguments, says=""):
        done = server.call(*arguments)
        self.assertEqual(done.returncode, 125, f"{arguments}: {done.stdout} {done.stderr}")
        self.assertIn(says, done.stderr)


class LifeTest(Case):
    @with_sandbox()
    def test_lives_and_is_killed(self, server, sandbox):
        self.assertEqual(self.listed(server)[sandbox]["state"], "running")
        self.assertEqual(self.ok(server, "kill", sandbox), sandbox + "\n")
        self.assertNotIn(sandbox, self.listed(server))
        self.failed(server, "kill", sandbox, says=sandbox)

    @with_sandbox("--name", "my-box", "--memory", "128M", "--pids", "50", "--env", "COLOUR=red", "--metadata", "team=a b", "--on-timeout", "pause")
    def test_takes_name_limits_env_metadata(self, server, sandbox):
        info = self.listed(server)[sandbox]
        self.assertEqual((info["name"], info["memory_bytes"], info["metadata"], info["on_timeout"]), ("my-box", 128 << 20, {"team": "a b"}, "pause"))
        self.assertEqual(self.ok(server, "exec", "my-box", "--", "sh", "-c", "echo $COLOUR"), "red\n")

    @with_sandbox()
    def test_pause_stops_and_resume_goes_on(self, server, sandbox):
        self.ok(server, "pause", sandbox)
        self.assertEqual(self.listed(server)[sandbox]["state"], "paused")
        self.failed(server, "exec", sandbox, "--", "true", says="paused")
        self.ok(server, "resume", sandbox)
        self.assertEqual(self.ok(server, "exec", sandbox, "echo", "again"), "again\n")

    @with_sandbox()
    def test_snapshot_and_fork_begin_with_the_files(self, server, sandbox):
        self.ok(server, "exec", sandbox, "--", "sh", "-c", "echo kept > ~/note")
        snapshot = self.ok(server, "snapshot", sandbox).strip()
        forks = self.ok(server, "fork", "-n", "2", sandbox).split()
        self.assertEqual(len(forks), 2)
        later = self.ok(server, "create", "--template", snapshot).strip()
        for each in forks + [later]:
            self.assertEqual(self.ok(server, "exec", each, "--", "sh", "-c", "cat ~/note"), "kept\n")
        self.assertEqual(self.ok(server, "kill", *forks, later).split(), forks + [later])

    @with_sandbox()
    def test_logs_tell_what_happened(self, server, sandbox):
        self.ok(server, "pause", sandbox)
        lines = [json.loads(line) for line in self.ok(server, "logs", "--json", sandbox).splitlines()]
        self.assertIn("paused", [line.get("state") for line in lines])
        self.assertIn("paused", self.ok(server, "logs", sandbox))

    @with_sandbox()
    def test_following_logs_end_with_the_sandbox(self, server, sandbox):
        follower = paddock.popen("logs", "-f", sandbox, user=server.user, env=server.environment(), stdout=subprocess.PIPE, text=True)
        self.assertTrue(any("running" in follower.stdout.readline() for _ in range(3)))
        self.ok(server, "kill", sandbox)
        rest, _ = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 0, rest)

    def test_volumes_are_shared_and_kept(self):
        for user, server in servers.items():
            with self.subTest(user=user):
                self.assertEqual(self.ok(server, "volume", "create", "data", "--quota", "64M"), "data\n")
                self.assertEqual([volume["name"] for volume in self.json(server, "volume", "ls")["volumes"]], ["data"])
                one = self.ok(server, "create", "--volume", "data:/mnt/data").strip()
                two = self.ok(server, "create", "--volume", "data:/mnt/data:ro").strip()
                self.ok(server, "exec", one, "--", "sh", "-c", "echo shared > /mnt/data/x")
                self.assertEqual(self.ok(server, "exec", two, "cat", "/mnt/data/x"), "shared\n")
                self.assertNotEqual(server.call("exec", two, "--", "touch", "/mnt/data/y").returncode, 0)
                self.failed(server, "volume", "rm", "data")
                self.ok(server, "kill", one, two)
                self.assertEqual(self.ok(server, "volume", "rm", "data"), "removed data\n")

    @with_sandbox()
    def test_top_shows_it_once_when_there_is_no_terminal(self, server, sandbox):
        self.assertIn(sandbox, self.ok(server, "top"))
        self.assertIn(sandbox, [each["id"] for each in self.json(server, "top")["sandboxes"]])


class ExecTest(Case):
    @with_sandbox()
    def test_exits_as_the_command_does(self, server, sandbox):
        for command, status in (("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -9 $$", 137)):
            self.assertEqual(server.call("exec", sandbox, "--", "sh", "-c", command).returncode, status, command)
        self.assertEqual(server.call("exec", sandbox, "--", "no-such-program").returncode, 127)
        self.assertEqual(server.call("exec", sandbox, "--", "/etc/passwd").returncode, 126)
        self.assertEqual(server.call("exec", "--timeout", "300ms", sandbox, "--", "sleep", "60").returncode, 124)

    @with_sandbox()
    def test_output_is_exact_and_apart(self, server, sandbox):
        every = bytes(range(256)) * 4096
        code = "import sys,os; os.write(2, b'err'); sys.stdout.buffer.write(bytes(range(256)) * 4096)"
        done = server.call("exec", sandbox, "--", "python3", "-c", code, text=False)
        self.assertEqual((done.returncode, done.stderr), (0, b"err"))
        self.assertEqual(done.stdout, every)

    @with_sandbox()
    def test_stdin_goes_in_only_when_asked_for(self, server, sandbox):
        data = os.urandom(3 << 20)
        self.assertEqual(server.call("exec", "-i", sandbox, "cat", input=data, text=False).stdout, data)
        self.assertEqual(server.call("exec", sandbox, "cat", input=b"secret", text=False).stdout, b"")

    @with_sandbox()
    def test_takes_user_directory_environment(self, server, sandbox):
        said = self.ok(server, "exec", "-w", "/tmp", "-e", "A=b c", sandbox, "--", "sh", "-c", "pwd; echo $A; id -u")
        self.assertEqual(said, f"/tmp\nb c\n{1000 if server.user == 'root' else 0}\n")  # of a single id, all are 0 inside
        self.assertEqual(self.ok(server, "exec", "-u", "root", sandbox, "id", "-u"), "0\n")

    @with_sandbox()
    def test_json_has_it_all(self, server, sandbox):
        done = server.call("exec", "--json", sandbox, "--", "sh", "-c", "echo out; echo err >&2; exit 4")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["outcome"], told["stdout"], told["stderr"]), (4, {"kind": "exited", "code": 4}, "out\n", "err\n"))

    @with_sandbox()
    def test_interrupt_is_the_commands(self, server, sandbox):
        process = paddock.popen("exec", sandbox, "--", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done", user=server.user,
                                env=server.environment(), stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.interrupt(process)
        self.assertEqual(process.communicate(timeout=60)[0], "caught\n")
        self.assertEqual(process.returncode, 9)

    def interrupt(self, process):
        """The program itself, not the setpriv in front of it (which became it by exec)."""
        os.kill(process.pid, signal.SIGINT)

    @with_sandbox()
    def test_a_client_that_goes_takes_its_command_along(self, server, sandbox):
        process = paddock.popen("exec", sandbox, "--", "sh", "-c", "echo ready; exec sleep 12321", user=server.user, env=server.environment(), stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 30
        while server.call("exec", sandbox, "--", "pgrep", "-f", "sleep 12321").returncode == 0:
            self.assertLess(time.monotonic(), deadline, "the command lives on")
            time.sleep(0.1)


class Terminal:
    """A pseudo terminal with a paddock on the other side."""

    def __init__(self, server, *arguments, rows=33, columns=77):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {**server.environment(), "TERM": "xterm"}
        self.process = paddock.popen(*arguments, user=server.user, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                     preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave, self.seen = slave, b""

    def read_until(self, text, timeout=60):
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.master, 65536)
        at = self.seen.index(text) + len(text)
        before, self.seen = self.seen[:at], self.seen[at:]
        return before

    def type(self, text):
        os.write(self.master, text)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def settings_are_back(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)


class TerminalTest(Case):
    @with_sandbox()
    def test_a_shell_with_size_resize_and_interrupt(self, server, sandbox):
        terminal = Terminal(server, "exec", "-it", sandbox, "--", "bash", "--norc")
        try:
            terminal.type(b"stty size; tty; echo $TERM\n")
            self.assertIn(b"/dev/pts/", terminal.read_until(b"xterm\r\n"))
            self.assertFalse(terminal.settings_are_back(), "keys go through one by one")
            terminal.resize(44, 99)
            deadline = time.monotonic() + 60
            size = b""
            while b"44 99" not in size and time.monotonic() < deadline:
                terminal.type(b"stty size; echo do''ne\n")
                size = terminal.read_until(b"done\r\n")
            self.assertIn(b"44 99", size)
            terminal.type(b"sleep 1000; echo st''opped $?\n")
            time.sleep(0.3)
            terminal.type(b"\x03")
            terminal.type(b"echo st''ill here\n")
            terminal.read_until(b"still here\r\n")
            terminal.type(b"exit 5\n")
            terminal.process.wait(timeout=60)
            self.assertEqual(terminal.process.returncode, 5)
            self.assertTrue(terminal.settings_are_back())
        finally:
            terminal.close()

    @with_sandbox()
    def test_the_terminal_is_put_back_on_every_way_out(self, server, sandbox):
        for way in ("terminate", "hang up", "sandbox killed"):
            with self.subTest(way=way):
                terminal = Terminal(server, "exec", "-it", sandbox, "--", "sh", "-c", "trap '' TERM HUP; echo ready; sleep 1000")
                try:
                    terminal.read_until(b"ready\r\n")
                    if way == "terminate":  # the first is for the command, the second means it
                        terminal.process.send_signal(signal.SIGTERM)
                        time.sleep(0.3)
                        terminal.process.send_signal(signal.SIGTERM)
                    elif way == "hang up":
                        terminal.process.send_signal(signal.SIGHUP)
                    else:
                        self.ok(server, "kill", sandbox)
                    terminal.process.wait(timeout=60)
                    self.assertTrue(terminal.settings_are_back())
                    self.assertEqual(terminal.process.returncode, 125)
                finally:
                    terminal.close()

    @with_sandbox("--name", "a-name-that-is-a-good-deal-too-long-for-a-narrow-table")
    def test_tables_fit_and_top_lives(self, server, sandbox):
        terminal = Terminal(server, "ls", columns=60)
        try:
            terminal.process.wait(timeout=60)
            for line in terminal.read_until(b"\x1b[0m" if b"\x1b" in terminal.seen else b"running").splitlines():
                self.assertLessEqual(len(line.decode(errors="replace")), 75)  # with the colours' bytes
        finally:
            terminal.close()
        terminal = Terminal(server, "top")
        try:
            terminal.read_until(sandbox.encode())
            for keys, shown in ((b"m", "m▼"), (b"r", "m▲"), (b"\x1b[B\x1b[A\x1b[6~i", "i▲"), (b"  nr", "n▼")):
                terminal.type(keys)
                terminal.read_until(shown.encode())
            terminal.type(b"q")
            terminal.process.wait(timeout=60)
            self.assertEqual(terminal.process.returncode, 0)
            self.assertTrue(terminal.settings_are_back())
        finally:
            terminal.close()


class CopyTest(Case):
    def setUp(self):
        self.folders = {user: paddock.folder(user) for user in servers}
        for path in self.folders.values():
            self.addCleanup(shutil.rmtree, path, ignore_errors=True)

    @with_sandbox()
    def test_files_go_in_and_out_as_they_are(self, server, sandbox):
        here = self.folders[server.user]
        data = os.urandom(2 << 20)
        with open(os.path.join(here, "in.bin"), "wb") as file:
            file.write(data)
        os.chmod(file.name, 0o755)
        paddock.give(file.name, server.user)
        self.ok(server, "cp", file.name, f"{sandbox}:/home/user/")
        self.ok(server, "cp", f"{sandbox}:/home/user/in.bin", os.path.join(here, "out.bin"))
        with open(os.path.join(here, "out.bin"), "rb") as out:
            self.assertEqual(out.read(), data)
        self.assertTrue(os.stat(os.path.join(here, "out.bin")).st_mode & 0o100)
        done = server.call("cp", f"{sandbox}:in.bin", "-", text=False)
        self.assertEqual(done.stdout, data, done.stderr)
        self.ok(server, "cp", "-", f"{sandbox}:/home/user/typed", input="from stdin")
        self.assertEqual(self.ok(server, "exec", sandbox, "cat", "typed"), "from stdin")
        self.assertEqual(self.json(server, "cp", f"{sandbox}:typed", os.path.join(here, "t")), {"bytes": 10})

    @with_sandbox()
    def test_directories_go_in_and_out(self, server, sandbox):
        here = self.folders[server.user]
        source = os.path.join(here, "source")
        os.makedirs(os.path.join(source, "a/b"))
        with open(os.path.join(source, "a/b/ü ü.txt"), "w") as file:
            file.write("content")
        os.symlink("b/ü ü.txt", os.path.join(source, "a/link"))
        os.makedirs(os.path.join(source, "empty"))
        self.ok(server, "cp", source, f"{sandbox}:/home/user/")          # into a directory: under its own name
        self.ok(server, "cp", source + "/.", f"{sandbox}:/home/user/new")  # what is in it
        self.assertEqual(self.ok(server, "exec", sandbox, "cat", "source/a/link", "new/a/link"), "contentcontent")
        out = os.path.join(here, "out")
        self.ok(server, "cp", f"{sandbox}:/home/user/source", out)
        with open(os.path.join(out, "a/link")) as file:
            self.assertEqual(file.read(), "content")
        self.assertTrue(os.path.isdir(os.path.join(out, "empty")))

    @with_sandbox()
    def test_nothing_from_a_sandbox_leaves_the_target(self, server, sandbox):
        here = self.folders[server.user]
        outside, target = os.path.join(here, "outside"), os.path.join(here, "target")
        os.makedirs(outside)
        os.makedirs(target)
        os.symlink(outside, os.path.join(target, "trap"))
        for path in (outside, target, os.path.join(target, "trap")):
            paddock.give(path, server.user)
        self.ok(server, "exec", sandbox, "--", "sh", "-c", "mkdir -p evil/trap && echo x > evil/trap/file && ln -s /etc evil/etc")
        server.call("cp", f"{sandbox}:/home/user/evil/.", target)
        self.assertEqual(os.listdir(outside), [])
        self.assertFalse(os.path.exists(os.path.join(target, "etc", "trap")))
        # A file does not go through a link that stands at its name.
        victim = os.path.join(here, "victim")
        with open(victim, "w") as file:
            file.write("safe")
        os.symlink(victim, os.path.join(here, "name"))
        for path in (victim, os.path.join(here, "name")):
            paddock.give(path, server.user)
        self.ok(server, "exec", sandbox, "--", "sh", "-c", "echo new > name")
        self.ok(server, "cp", f"{sandbox}:name", os.path.join(here, "name"))
        with open(victim) as file:
            self.assertEqual(file.read(), "safe")

    @with_sandbox()
    def test_says_what_is_missing(self, server, sandbox):
        self.failed(server, "cp", f"{sandbox}:/no/such", "/tmp/x", says="/no/such")
        self.failed(server, "cp", "/no/such", f"{sandbox}:x", says="/no/such")
        self.failed(server, "cp", "a", "b", says="sandbox")
        self.failed(server, "cp", "nobody:x", "/tmp/x", says="nobody")


class RefusalTest(Case):
    def test_bad_input_is_named(self):
        for user, server in servers.items():
            with self.subTest(user=user):
                for arguments, says in ((("create", "--memory", "lots"), "--memory"), (("create", "--timeout", "soon"), "--timeout"), (("create", "--volume", "x"), "--volume"),
                                        (("create", "--env", "1=2"), "--env"), (("create", "--metadata", "x"), "--metadata"), (("create", "--on-timeout", "cry"), "cry"),
                                        (("create", "--template", "no-such"), "no-such"), (("create", "--policy", "no-such"), "no-such"), (("create", "--memry", "1"), "--memory"),
                                        (("exec", "../x", "--", "true"), ""), (("exec", "a%2fb", "--", "true"), ""), (("exec", "x\ny", "true"), ""), (("exec",), "ID"),
                                        (("exec", "nobody", "true"), "nobody"), (("fork", "-n", "0", "x"), "-n"), (("kill",), "ID"), (("pause", "nobody"), "nobody")):
                    with self.subTest(arguments=arguments):
                        self.failed(server, *arguments, says=says)

    def test_every_command_has_help_and_json_errors(self):
        server = next(iter(servers.values()))
        for command in ("create", "ls", "exec", "cp", "logs", "pause", "resume", "snapshot", "fork", "kill", "top", "volume"):
            with self.subTest(command=command):
                self.assertIn("usage: paddock " + command, self.ok(server, command, "--help"))
        for arguments in (("logs", "nobody"), ("snapshot", "nobody"), ("fork", "nobody"), ("exec", "nobody", "true"), ("volume", "rm", "nobody")):
            with self.subTest(arguments=arguments):
                words = list(arguments)
                at = 2 if words[0] == "volume" else 1
                done = server.call(*words[:at], "--json", *words[at:])
                self.assertEqual(done.returncode, 125)
                self.assertEqual(json.loads(done.stdout)["error"]["code"], "not_found")

    def test_without_a_server_it_says_how_to_start_one(self):
        folder = paddock.folder("root")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for command in (("ls",), ("create",), ("exec", "x", "true"), ("kill", "x"), ("top",)):
            done = paddock.call(*command, env={"PADDOCK_STATE": folder})
            self.assertEqual(done.returncode, 125)
            self.assertIn("paddock serve", done.stderr)

    def test_a_remote_server_wants_a_key(self):
        for user, server in servers.items():
            with self.subTest(user=user):
                url = {"PADDOCK_URL": f"http://127.0.0.1:{server.port}"}
                self.assertEqual(paddock.call("ls", "--json", env={**url, "PADDOCK_API_KEY": server.key}).returncode, 0)
                refused = paddock.call("ls", env={**url, "PADDOCK_API_KEY": "e2b_" + "0" * 40})
                self.assertEqual(refused.returncode, 125)
                self.assertIn("paddock key create", refused.stderr)


class PageTest(unittest.TestCase):
    def test_every_command_of_the_page_runs(self):
        with open(os.path.join(paddock.SOURCE, "docs", "cli.md")) as file:
            script = "\n".join(re.findall(r"^```shell\n(.*?)^```", file.read(), re.M | re.S))
        for user, server in servers.items():
            with self.subTest(user=user):
                folder = paddock.folder(user)
                self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
                environment = {**paddock.environment(user), **server.environment(), "PATH": paddock.BUILD + ":" + os.environ["PATH"]}
                done = subprocess.run(paddock.as_user(["bash", "-exc", script], user), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("42\n", done.stdout)


if __name__ == "__main__":
    paddock.main()
