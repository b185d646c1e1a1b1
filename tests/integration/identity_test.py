"""Who the program is, seen from outside and from inside, and what it can see of the host."""
import os
import re
import signal
import socket
import subprocess
import time
import unittest

from support import paddock

WALLS = ("container", "process")


class Running:
    """A `paddock run` whose program sleeps, and the host's view of that program."""

    def __init__(self, user, wall, *flags):
        # A number of seconds that nobody else sleeps identifies the program on the host.
        Running.count = getattr(Running, "count", 0) + 1
        self.seconds = f"30.{os.getpid()}{Running.count:03d}"
        self.child = paddock.popen("run", "--wall", wall, *flags, "--", "sleep", self.seconds, user=user,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.find()

    def find(self):
        for _ in range(200):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = open(f"/proc/{pid}/cmdline").read().split("\0")
                except OSError:
                    continue
                if words[:2] == ["sleep", self.seconds]:
                    return int(pid)
            if self.child.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"the program did not start: {self.child.stderr.read()}")

    def status(self):
        return dict(line.split(":\t", 1) for line in open(f"/proc/{self.pid}/status").read().splitlines() if ":\t" in line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.child.stderr.close()


class IdentityTest(unittest.TestCase):
    def each(self, *walls):
        for user in paddock.USERS:
            for wall in walls or WALLS:
                with self.subTest(user=user, wall=wall):
                    yield user, wall

    def shell(self, user, wall, script, *flags):
        result = paddock.run_json("--wall", wall, *flags, "--", "bash", "-c", script, user=user)
        self.assertNotIn("error", result)
        return result["stdout"]

    # -- seen from the host

    def test_no_privilege_seen_from_the_host(self):
        for user, wall in self.each():
            with Running(user, wall) as running:
                status = running.status()
                for name in ("Uid", "Gid"):
                    ids = status[name].split()
                    self.assertNotIn("0", ids)
                    self.assertEqual(len(set(ids)), 1, status[name])
                    if user == "user":
                        self.assertEqual(int(ids[0]), os.geteuid() or paddock.USER_ID)
                for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(status[name], 16), 0, name)
                self.assertEqual(status["NoNewPrivs"].strip(), "1")
                self.assertEqual(status["Seccomp"].strip(), "2")
                if user == "root":
                    self.assertNotIn("0", status["Groups"].split())

    def test_every_process_of_the_sandbox_is_without_privilege(self):
        """Also PID 1, and whatever else stands between the keeper and the program."""
        for user, wall in self.each("container"):
            with Running(user, wall) as running:
                namespace = os.readlink(f"/proc/{running.pid}/ns/pid")
                found = 0
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        if os.readlink(f"/proc/{pid}/ns/pid") != namespace:
                            continue
                        status = open(f"/proc/{pid}/status").read()
                    except OSError:
                        continue
                    found += 1
                    for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
                        self.assertRegex(status, rf"{name}:\t0+\n")
                    self.assertRegex(status, r"NoNewPrivs:\t1\n")
                    self.assertRegex(status, r"Seccomp:\t2\n")
                self.assertGreaterEqual(found, 1)

    def test_all_namespaces_are_new(self):
        for user, wall in self.each("container"):
            with Running(user, wall) as running:
                for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
                    self.assertNotEqual(os.readlink(f"/proc/{running.pid}/ns/{name}"), os.readlink(f"/proc/self/ns/{name}"), name)

    def test_two_sandboxes_of_root_have_different_uids(self):
        if "root" not in paddock.USERS:
            self.skipTest("needs root")
        for wall in WALLS:
            with Running("root", wall) as one, Running("root", wall) as other:
                self.assertNotEqual(one.status()["Uid"], other.status()["Uid"])

    def test_a_secret_is_in_no_other_process(self):
        """T14: not in the arguments or the environment of anything but the program, once the run has started."""
        secret = f"s3cr3t-{os.getpid()}-value"
        for user, wall in self.each():
            with Running(user, wall, "--secret", f"TOKEN={secret}") as running:
                self.assertIn(f"TOKEN={secret}", open(f"/proc/{running.pid}/environ").read().split("\0"))
                holders = set()
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    for part in ("cmdline", "environ"):
                        try:
                            if secret in open(f"/proc/{pid}/{part}", errors="replace").read():
                                holders.add((int(pid), part))
                        except OSError:
                            pass
                self.assertLessEqual(holders, {(running.pid, "environ"), (running.child.pid, "cmdline")})

    # -- seen from inside

    def test_ids_inside(self):
        for user, wall in self.each():
            uid, gid, groups = self.shell(user, wall, "id -u; id -g; id -G").splitlines()
            self.assertNotIn("0", [uid, gid] + groups.split())

    def test_id_maps_hold_one_id(self):
        for user, wall in self.each("container"):
            for name in ("uid_map", "gid_map"):
                lines = self.shell(user, wall, f"cat /proc/self/{name}").splitlines()
                self.assertEqual(len(lines), 1)
                inside, outside, count = map(int, lines[0].split())
                self.assertEqual(count, 1)
                self.assertNotEqual(inside, 0)
                self.assertNotEqual(outside, 0)
            self.assertEqual(self.shell(user, wall, "cat /proc/self/setgroups").strip(), "deny")

    def test_only_the_standard_descriptors(self):
        for user, wall in self.each():
            # ls itself opens the directory: one more.
            listed = self.shell(user, wall, "exec python3 -c 'import os; print(*sorted(int(n) for n in os.listdir(\"/proc/self/fd\")))'").split()
            self.assertEqual(listed[:3], ["0", "1", "2"])
            self.assertLessEqual(len(listed), 4)

    def test_inherited_descriptors_do_not_get_in(self):
        for user, wall in self.each():
            with open("/etc/hostname") as leak:
                os.set_inheritable(leak.fileno(), True)
                done = paddock.run("--wall", wall, "--", "bash", "-c", f"cat <&{leak.fileno()}", user=user, extra_fds=[leak.fileno()])
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.returncode, 0)

    def test_environment_is_exact(self):
        """F10: nothing of the caller's environment goes in, dangerous names not even when they were asked for."""
        hostile = {"LD_PRELOAD": "/x.so", "LD_LIBRARY_PATH": "/x", "BASH_ENV": "/x", "ENV": "/x", "GIT_SSH_COMMAND": "x", "NODE_OPTIONS": "--require /x",
                   "PYTHONSTARTUP": "/x", "PYTHONPATH": "/x", "AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "/x", "HARMLESS": "x", "CHOSEN": "yes"}
        for user, wall in self.each():
            result = paddock.run_json("--wall", wall, "--env", "GIVEN=1", "--pass-env", "CHOSEN", "--", "env", user=user, env=hostile)
            inside = dict(line.split("=", 1) for line in result["stdout"].splitlines())
            self.assertEqual(inside.pop("GIVEN"), "1")
            self.assertEqual(inside.pop("CHOSEN"), "yes")
            self.assertLessEqual(set(inside), {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SHELL", "TMPDIR", "TERM", "PWD", "HOSTNAME", "TZ", "PADDOCK"}, inside)
            self.assertNotEqual(inside["HOME"], paddock.environment(user)["HOME"])

    def test_dangerous_names_are_not_passed(self):
        for user, wall in self.each():
            for name in ("LD_PRELOAD", "BASH_ENV"):
                result = paddock.run_json("--wall", wall, "--pass-env", name, "--", "env", user=user, env={name: "/no/such/file"})
                # Refused, or passed only because the caller named it: then it acts inside alone, for the launcher is static.
                self.assertTrue("error" in result or result["outcome"]["kind"] == "exited", result)

    def test_hostname_is_not_the_host(self):
        for user, wall in self.each("container"):
            self.assertNotEqual(self.shell(user, wall, "cat /proc/sys/kernel/hostname").strip(), socket.gethostname())

    def test_no_host_process_is_visible(self):
        for user, wall in self.each("container"):
            count = int(self.shell(user, wall, "ls -d /proc/[0-9]* | wc -l"))
            self.assertLessEqual(count, 5)

    def test_no_host_mount_is_named(self):
        """mountinfo may not tell where on the host the sandbox's pieces come from."""
        for user, wall in self.each("container"):
            folder = paddock.folder(user)
            self.addCleanup(os.rmdir, folder)
            text = self.shell(user, wall, "cat /proc/self/mountinfo", "--workspace", f"{folder}:ro")
            self.assertIn("/workspace", text)
            self.assertNotIn("/sys/fs/cgroup", text)
            points = {line.split()[4] for line in text.splitlines()}
            for point in points:
                self.assertFalse(point.startswith(("/root", "/run", "/boot", "/mnt", "/var/lib")), point)

    def test_no_host_socket_is_visible(self):
        name = f"paddock-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as abstract, socket.socket() as tcp:
            abstract.bind("\0" + name)
            abstract.listen()
            tcp.bind(("127.0.0.1", 0))
            tcp.listen()
            code = f"""
import socket
for family, address in ((socket.AF_UNIX, '\\0{name}'), (socket.AF_INET, ('127.0.0.1', {tcp.getsockname()[1]}))):
    try:
        with socket.socket(family) as s:
            s.settimeout(3); s.connect(address); print('connected', address)
    except OSError as problem: pass
print('end')
"""
            for user, wall in self.each():
                result = paddock.run_json("--wall", wall, "--code", code, user=user)
                self.assertEqual(result["stdout"], "end\n", result)

    def test_no_host_ipc_is_visible(self):
        made = subprocess.run(["ipcmk", "-M", "4096", "-p", "0666"], capture_output=True, text=True)
        if made.returncode:
            self.skipTest("ipcmk: " + made.stderr)
        number = re.search(r"\d+", made.stdout).group()
        try:
            for user, wall in self.each("container"):
                self.assertNotIn(f" {number} ", self.shell(user, wall, "cat /proc/sysvipc/shm"))
                self.assertEqual(len(self.shell(user, wall, "cat /proc/sysvipc/shm").splitlines()), 1)
        finally:
            subprocess.run(["ipcrm", "-m", number], check=True)

    def test_ipc_does_not_outlive_the_run(self):
        """L02: what one run leaves in the kernel, no later run with the same uid finds, nor does the host."""
        leave = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(0x5ad0c, 4096, 0o1666))
libc.syscall(248, b'user', b'paddock-mark', b'left', 4, -4)
"""
        find = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(0x5ad0c, 0, 0), libc.syscall(249, b'user', b'paddock-mark', None, -4))
"""
        for user, wall in self.each("container"):
            paddock.run_json("--wall", wall, "--code", leave, user=user)
            self.assertEqual(paddock.run_json("--wall", wall, "--code", find, user=user)["stdout"], "-1 -1\n")
            self.assertNotIn(str(0x5ad0c), open("/proc/sysvipc/shm").read())

    def test_no_key_of_the_host_is_visible(self):
        for user, wall in self.each():
            text = self.shell(user, wall, "cat /proc/keys /proc/key-users 2>/dev/null; echo end")
            self.assertEqual(text, "end\n")

    # -- what Paddock itself prints

    def test_names_are_printed_without_control_characters(self):
        """F08: a command, path or limit value cannot write escape sequences to the terminal through our messages."""
        evil = "evil\x1b]52;c;aGk=\x07\x1b[2J\nname\u202e"
        for user in paddock.USERS:
            for arguments in (["--", evil], ["--memory", evil, "--", "true"], ["--read", "/" + evil, "--", "true"], ["--policy", evil, "--", "true"],
                              ["--workspace", "/" + evil, "--", "true"], ["--" + evil, "--", "true"], ["--wall", evil, "--", "true"],
                              ["--deny", "/" + evil, "--", "true"], ["--env", evil, "--", "true"], ["--allow-net", evil, "--", "true"]):
                with self.subTest(user=user, arguments=arguments):
                    done = paddock.run(*arguments, user=user)
                    self.assertNotIn("\x1b", done.stderr)
                    self.assertNotIn("\x07", done.stderr)
                    self.assertNotIn("\u202e", done.stderr)
                    self.assertNotIn("\nname", done.stderr)


if __name__ == "__main__":
    paddock.main()
