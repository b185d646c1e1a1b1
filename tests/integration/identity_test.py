"""Who the program is, seen from outside and from inside, and what it can see of the host."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest

from support import paddock


on_container, on_both = paddock.on_container, paddock.on_both


def read(path):
    return pathlib.Path(path).read_text(errors="replace")


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
                    words = read(f"/proc/{pid}/cmdline").split("\0")
                except OSError:
                    continue
                if words[:2] == ["sleep", self.seconds]:
                    return int(pid)
            if self.child.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"the program did not start: {self.child.stderr.read()}")

    def status(self):
        return dict(line.split(":\t", 1) for line in read(f"/proc/{self.pid}/status").splitlines() if ":\t" in line)

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
    def shell(self, user, wall, script, *flags):
        result = paddock.run_json("--wall", wall, *flags, "--", "bash", "-c", script, user=user)
        self.assertNotIn("error", result)
        return result["stdout"]

    # -- seen from the host

    @on_both
    def test_no_privilege_seen_from_the_host(self, user, wall):
        with Running(user, wall) as running:
            status = running.status()
            for name in ("Uid", "Gid"):
                ids = status[name].split()
                self.assertNotIn("0", ids)
                self.assertEqual(len(set(ids)), 1, status[name])
                if user == "user":
                    self.assertEqual(int(ids[0]), os.geteuid() or paddock.USER_ID)
            # Only who has CAP_SETPCAP can empty the bounding set; without privileges no_new_privs makes it useless.
            bounding = ["CapBnd"] if user == "root" or wall == "container" else []
            for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] + bounding:
                self.assertEqual(int(status[name], 16), 0, name)
            self.assertEqual(status["NoNewPrivs"].strip(), "1")
            self.assertEqual(status["Seccomp"].strip(), "2")
            if user == "root":
                self.assertNotIn("0", status["Groups"].split())

    @on_container
    def test_every_process_of_the_sandbox_is_without_privilege(self, user, wall):
        """Also PID 1, and whatever else stands between the keeper and the program."""
        with Running(user, wall) as running:
            namespace = os.readlink(f"/proc/{running.pid}/ns/pid")
            found = 0
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if os.readlink(f"/proc/{pid}/ns/pid") != namespace:
                        return
                    status = read(f"/proc/{pid}/status")
                except OSError:
                    return
                found += 1
                for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertRegex(status, rf"{name}:\t0+\n")
                self.assertRegex(status, r"NoNewPrivs:\t1\n")
                self.assertRegex(status, r"Seccomp:\t2\n")
            self.assertGreaterEqual(found, 1)

    @on_container
    def test_all_namespaces_are_new(self, user, wall):
        with Running(user, wall) as running:
            for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
                self.assertNotEqual(os.readlink(f"/proc/{running.pid}/ns/{name}"), os.readlink(f"/proc/self/ns/{name}"), name)

    def test_two_sandboxes_of_root_have_different_uids(self):
        if "root" not in paddock.USERS:
            self.skipTest("needs root")
        for wall in ("container", "process"):
            with Running("root", wall) as one, Running("root", wall) as other:
                self.assertNotEqual(one.status()["Uid"], other.status()["Uid"])

    @on_both
    def test_a_secret_is_in_no_other_process(self, user, wall):
        """T14: not in the arguments or the environment of anything but the program, once the run has started."""
        secret = f"s3cr3t-{os.getpid()}-value"
        with Running(user, wall, "--secret", f"TOKEN={secret}") as running:
            self.assertIn(f"TOKEN={secret}", read(f"/proc/{running.pid}/environ").split("\0"))
            holders = set()
            for pid in filter(str.isdigit, os.listdir("/proc")):
                for part in ("cmdline", "environ"):
                    try:
                        if secret in read(f"/proc/{pid}/{part}"):
                            holders.add((int(pid), part))
                    except OSError:
                        pass
            self.assertLessEqual(holders, {(running.pid, "environ"), (running.child.pid, "cmdline")})

    # -- seen from inside

    @on_both
    def test_ids_inside(self, user, wall):
        uid, gid, groups = self.shell(user, wall, "id -u; id -g; id -G").splitlines()
        self.assertNotIn("0", [uid, gid] + groups.split())

    @on_container
    def test_id_maps_hold_one_id(self, user, wall):
        for name in ("uid_map", "gid_map"):
            lines = self.shell(user, wall, f"cat /proc/self/{name}").splitlines()
            self.assertEqual(len(lines), 1)
            inside, outside, count = map(int, lines[0].split())
            self.assertEqual(count, 1)
            self.assertNotEqual(inside, 0)
            self.assertNotEqual(outside, 0)
        if user == "user":
            self.assertEqual(self.shell(user, wall, "cat /proc/self/setgroups").strip(), "deny")

    @on_both
    def test_only_the_standard_descriptors(self, user, wall):
        # ls itself opens the directory: one more.
        listed = self.shell(user, wall, "exec python3 -c 'import os; print(*sorted(int(n) for n in os.listdir(\"/proc/self/fd\")))'").split()
        self.assertEqual(listed[:3], ["0", "1", "2"])
        self.assertLessEqual(len(listed), 4)

    @on_both
    def test_inherited_descriptors_do_not_get_in(self, user, wall):
        with open("/etc/hostname") as leak:
            os.set_inheritable(leak.fileno(), True)
            done = paddock.run("--wall", wall, "--", "bash", "-c", f"cat <&{leak.fileno()}", user=user, extra_fds=[leak.fileno()])
            self.assertEqual(done.stdout, "")
            self.assertNotEqual(done.returncode, 0)

    @on_both
    def test_environment_is_exact(self, user, wall):
        """F10: nothing of the caller's environment goes in, dangerous names not even when they were asked for."""
        hostile = {"LD_PRELOAD": "/x.so", "LD_LIBRARY_PATH": "/x", "BASH_ENV": "/x", "ENV": "/x", "GIT_SSH_COMMAND": "x", "NODE_OPTIONS": "--require /x",
                   "PYTHONSTARTUP": "/x", "PYTHONPATH": "/x", "AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "/x", "HARMLESS": "x", "CHOSEN": "yes"}
        result = paddock.run_json("--wall", wall, "--env", "GIVEN=1", "--pass-env", "CHOSEN", "--", "env", user=user, env=hostile)
        inside = dict(line.split("=", 1) for line in result["stdout"].splitlines())
        self.assertEqual(inside.pop("GIVEN"), "1")
        self.assertEqual(inside.pop("CHOSEN"), "yes")
        usual = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SHELL", "TMPDIR", "TERM", "PWD", "HOSTNAME", "TZ", "PADDOCK"}
        self.assertLessEqual(set(inside), usual, inside)
        self.assertNotEqual(inside["HOME"], paddock.environment(user)["HOME"])

    @on_both
    def test_dangerous_names_are_not_passed(self, user, wall):
        for name in ("LD_PRELOAD", "BASH_ENV"):
            result = paddock.run_json("--wall", wall, "--pass-env", name, "--", "env", user=user, env={name: "/no/such/file"})
            # Refused, or passed only because the caller named it: then it acts inside alone, for the launcher is static.
            self.assertTrue("error" in result or result["outcome"]["kind"] == "exited", result)

    @on_container
    def test_hostname_is_not_the_host(self, user, wall):
        self.assertNotEqual(self.shell(user, wall, "cat /proc/sys/kernel/hostname").strip(), socket.gethostname())

    @on_container
    def test_no_host_process_is_visible(self, user, wall):
        count = int(self.shell(user, wall, "ls -d /proc/[0-9]* | wc -l"))
        self.assertLessEqual(count, 5)

    @on_container
    def test_no_host_mount_is_named(self, user, wall):
        """mountinfo may not tell where on the host the sandbox's pieces come from."""
        folder = paddock.folder(user)
        self.addCleanup(os.rmdir, folder)
        text = self.shell(user, wall, "cat /proc/self/mountinfo", "--workspace", f"{folder}:ro")
        self.assertIn("/workspace", text)
        self.assertNotIn("/sys/fs/cgroup", text)
        points = {line.split()[4] for line in text.splitlines()}
        for point in points:
            self.assertFalse(point.startswith(("/root", "/run", "/boot", "/mnt", "/var/lib")), point)

    @on_both
    def test_no_host_socket_is_visible(self, user, wall):
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
            result = paddock.run_json("--wall", wall, "--code", code, user=user)
            self.assertEqual(result["stdout"], "end\n", result)

    @on_container
    def test_no_host_ipc_is_visible(self, user, wall):
        made = subprocess.run(["ipcmk", "-M", "4096", "-p", "0666"], capture_output=True, text=True)
        if made.returncode:
            self.skipTest("ipcmk: " + made.stderr)
        number = re.search(r"\d+", made.stdout).group()
        try:
            self.assertEqual(len(self.shell(user, wall, "cat /proc/sysvipc/shm").splitlines()), 1)
        finally:
            subprocess.run(["ipcrm", "-m", number], check=True)

    @on_container
    def test_ipc_does_not_outlive_the_run(self, user, wall):
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
        paddock.run_json("--wall", wall, "--code", leave, user=user)
        self.assertEqual(paddock.run_json("--wall", wall, "--code", find, user=user)["stdout"], "-1 -1\n")
        self.assertNotIn(str(0x5ad0c), read("/proc/sysvipc/shm"))

    @on_both
    def test_no_key_of_the_host_is_visible(self, user, wall):
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
