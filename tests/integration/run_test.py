"""`paddock run` as people use it: commands, code, files, streams, terminals, signals, the result."""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import paddock
from support.paddock import read_until

WALLS = ("container", "process")


class RunTest(unittest.TestCase):
    def each(self, walls=WALLS):
        for user in paddock.USERS:
            for wall in walls:
                with self.subTest(user=user, wall=wall):
                    yield user, wall

    def test_a_command_runs_and_its_status_is_ours(self):
        for user, wall in self.each():
            done = paddock.run("--wall", wall, "--", "sh", "-c", "echo out; echo err >&2; exit 7", user=user)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("out\n", "err\n", 7))

    def test_code_in_each_language(self):
        programs = {"python": "print(6*7)", "bash": "echo $((6*7))"}
        if shutil.which("node", path="/usr/local/bin:/usr/bin"):
            programs["node"] = "console.log(6*7)"
        for user, wall in self.each():
            for language, code in programs.items():
                done = paddock.run("--wall", wall, "--language", language, "--code", code, user=user)
                self.assertEqual((done.stdout, done.returncode), ("42\n", 0), done.stderr)

    def test_a_file_runs_by_its_suffix(self):
        for user, wall in self.each():
            with tempfile.TemporaryDirectory(prefix="paddock-test-") as folder:
                os.chmod(folder, 0o755)
                for name, text in (("a.py", "import sys; print(sys.argv[0].rsplit('/')[-1])"), ("a.sh", "basename $0")):
                    path = os.path.join(folder, name)
                    with open(path, "w") as file:
                        file.write(text)
                    done = paddock.run("--wall", wall, "--file", path, user=user)
                    self.assertEqual(done.stdout, name + "\n", done.stderr)

    def test_stdin_passes_through_whole(self):
        text = "line\n" * 200_000
        for user, wall in self.each():
            done = paddock.run("--wall", wall, "--", "wc", "-c", user=user, input=text)
            self.assertEqual(done.stdout.strip(), str(len(text)))

    def test_output_streams_while_the_program_runs(self):
        for user, wall in self.each():
            child = paddock.popen("run", "--wall", wall, "--", "sh", "-c", "echo first; read x; echo $x", user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(child.stdout.readline(), b"first\n")
            child.stdin.write(b"second\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), b"second\n")
            self.assertEqual(child.wait(20), 0)
            child.stdin.close()
            child.stdout.close()

    def test_binary_output_survives(self):
        for user in paddock.USERS:
            done = paddock.call("run", "--", "head", "-c", "100000", "/dev/urandom", user=user, text=False)
            self.assertEqual(len(done.stdout), 100000)
            result = paddock.run_json("--", "printf", r"a\377b", user=user)
            self.assertEqual((result["stdout"], result["stdout_base64"]), ("a\ufffdb", "Yf9i"))

    def test_exit_statuses(self):
        for user, wall in self.each():
            cases = [(["--", "sh", "-c", "kill -SEGV $$"], 139), (["--", "no-such-program"], 127), (["--", "/etc/ld.so.cache"], 126),
                     (["--timeout", "300ms", "--", "sleep", "9"], 124), (["--wall", "nonsense", "--", "true"], 125), (["--memory", "1Q", "--", "true"], 125),
                     (["--policy", "no-such-preset", "--", "true"], 125), ([], 125)]
            for arguments, status in cases:
                done = paddock.run("--wall", wall, *arguments, user=user) if "--wall" not in arguments else paddock.run(*arguments, user=user)
                self.assertEqual(done.returncode, status, (arguments, done.stderr))
                if status == 125:
                    self.assertTrue(done.stderr.startswith("paddock: "), done.stderr)

    def test_the_result_has_every_field_of_the_contract(self):
        for user, wall in self.each():
            result = paddock.run_json("--wall", wall, "--", "echo", "hi", user=user)
            self.assertEqual((result["wall"], result["outcome"], result["stdout"]), (wall, {"kind": "exited", "code": 0}, "hi\n"))
            for name in ("id", "stderr", "stdout_truncated", "stderr_truncated", "limits_hit", "denials", "redactions"):
                self.assertIn(name, result)
            for name in ("wall_ms", "cpu_ms", "memory_peak_bytes", "pids_peak", "disk_bytes", "net_rx_bytes", "net_tx_bytes"):
                self.assertIn(name, result["usage"])
            for control in ("memory", "pids", "wall_time", "files", "network", "syscalls", "capabilities", "identity", "output"):
                self.assertIn(result["enforced"][control]["strength"], ("kernel", "sampled"))
            error = paddock.run_json("--wall", wall, "--read", "/no/such/path", "--", "true", user=user)["error"]
            self.assertEqual(set(error), {"code", "message", "hint"})

    def test_nothing_of_the_callers_environment_goes_in(self):
        for user, wall in self.each():
            env = {"SECRET_OF_CALLER": "x", "WANTED": "w", "LD_PRELOAD": "/nope.so"}
            done = paddock.run("--wall", wall, "--env", "A=b", "--pass-env", "WANTED", "--", "env", user=user, env=env)
            names = {line.split("=")[0] for line in done.stdout.splitlines()}
            self.assertEqual(names - {"PWD", "SHLVL", "_"}, {"A", "WANTED", "HOME", "LANG", "LOGNAME", "PADDOCK", "PATH", "TMPDIR", "USER"})

    def test_secrets_reach_the_program_and_not_the_output(self):
        for user, wall in self.each():
            code = "import os,sys; sys.stdout.write(os.environ['KEY'][:4]); sys.stdout.flush(); sys.stdout.write(os.environ['KEY'][4:]+'\\n'); print(len(os.environ['KEY']))"
            result = paddock.run_json("--wall", wall, "--secret", "KEY=hunter2-hunter2", "--code", code, user=user)
            self.assertEqual((result["stdout"], result["redactions"]), ("[redacted:KEY]\n15\n", 1))

    def test_commands_outside_the_list_are_refused_by_name(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="paddock-test-") as policy:
            policy.write('[commands]\nallow = ["echo"]\n')
            policy.flush()
            os.chmod(policy.name, 0o644)
            for user in paddock.USERS:
                self.assertEqual(paddock.run("--policy", policy.name, "--", "echo", "yes", user=user).stdout, "yes\n")
                refused = paddock.run("--policy", policy.name, "--", "ls", user=user)
                self.assertEqual(refused.returncode, 125)
                self.assertIn("commands.allow", refused.stderr)

    def test_imports_outside_the_list_are_named_with_their_lines(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="paddock-test-") as policy:
            policy.write('[code.python]\nimports = ["json", "os"]\n')
            policy.flush()
            os.chmod(policy.name, 0o644)
            for user, wall in self.each():
                fine = paddock.run("--wall", wall, "--policy", policy.name, "--code", "import json, os.path\nprint('ran')", user=user)
                self.assertEqual(fine.stdout, "ran\n", fine.stderr)
                code = "import json\nprint('ran')\nimport socket\ndef f():\n    from subprocess import run\n__import__('ctypes')"
                refused = paddock.run("--wall", wall, "--policy", policy.name, "--code", code, user=user)
                self.assertEqual((refused.returncode, refused.stdout), (125, ""))
                for text in ("line 3: import socket", "line 5: import subprocess", "line 6: import ctypes"):
                    self.assertIn(text, refused.stderr)

    def test_a_closed_reader_ends_the_run(self):
        for user, wall in self.each():
            child = paddock.popen("run", "--wall", wall, "--output-limit", "1G", "--", "yes", user=user, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            child.stdout.readline()
            child.stdout.close()
            self.assertNotEqual(child.wait(20), 0)

    def test_nothing_is_left_to_a_pid_1_that_never_reaps(self):
        libc = ctypes.CDLL(None)
        for arguments in (("--allow-net", "192.0.2.1", "--", "true"), ("--", "true"), ("--wall", "process", "--", "true"), ("--help",), ("--memory", "wrong", "--", "true"), ("--read", "/nowhere", "--", "true")):
            for user in paddock.USERS:
                with self.subTest(user=user, arguments=arguments):
                    libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us
                    paddock.run(*arguments, user=user)
                    with self.assertRaises(ChildProcessError):
                        os.waitpid(-1, os.WNOHANG)
                    libc.prctl(36, 0, 0, 0, 0)


# Not bash with a trap: a SIGINT between the fork and the exec of its child would be lost in the child and then ignored.
def waits_for_interrupts(then):
    return ("--", "python3", "-c", "import signal, sys\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
            "print('ready', flush=True)\n"
            f"while signal.sigwait([signal.SIGINT]):\n  print('caught', flush=True)\n  {then}")


class TerminalTest(unittest.TestCase):
    def status(self, pid):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def each(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                yield user

    def test_a_terminal_outside_is_a_terminal_inside(self):
        for user in self.each():
            pid, terminal = paddock.start_on_terminal(self, user, "--", "sh", "-c", "test -t 0 && test -t 1 && tty && stty size && echo done")
            seen = read_until(terminal, b"done")
            self.assertIn(b"/dev/pts/0", seen)
            self.assertEqual(self.status(pid), 0)

    def test_control_c_reaches_the_program(self):
        for user in self.each():
            pid, terminal = paddock.start_on_terminal(self, user, *waits_for_interrupts("sys.exit(5)"))
            read_until(terminal, b"ready")
            os.write(terminal, b"\x03")
            read_until(terminal, b"caught")
            self.assertEqual(self.status(pid), 5)

    def test_a_second_control_c_ends_a_deaf_program(self):
        for user in self.each():
            pid, terminal = paddock.start_on_terminal(self, user, "--", "bash", "-c", "trap '' INT; echo ready; while :; do sleep 0.1; done")
            read_until(terminal, b"ready")
            os.write(terminal, b"\x03")
            time.sleep(0.3)
            os.write(terminal, b"\x03")
            self.assertEqual(self.status(pid), 137)

    def test_signals_work_without_a_terminal_too(self):
        for user in self.each():
            child = paddock.popen("run", *waits_for_interrupts("pass"), user=user,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.readline(), b"caught\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(20), 137)
            child.stdout.close()


if __name__ == "__main__":
    paddock.main()
