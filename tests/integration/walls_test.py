"""What the walls keep out that is not a way out: host sockets, other names of denied files, late mounts, rare kernel interfaces."""
import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
import unittest

from support import leftovers, paddock
from support.paddock import on_both, on_container, on_process

CONNECT = """
import os, socket, sys
for path in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path); print('connected', s.recv(100))
    except OSError as error:
        print(os.path.basename(path), type(error).__name__)
"""


class Case(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def write(self, user, path, text="text"):
        with open(path, "w") as file:
            file.write(text)
        paddock.give(path, user)
        return path

    def listen(self, user, path):
        """A server of the host that greets everyone."""
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(path)
        os.chmod(path, 0o777)
        paddock.give(path, user)
        server.listen(16)

        def greet():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                client.sendall(b"hello")
                client.close()
        threading.Thread(target=greet, daemon=True).start()


class SocketTest(Case):
    @on_container
    def test_sockets_of_the_host_in_what_can_only_be_read_are_dead(self, user, wall):
        work, other = self.folder(user), self.folder(user)
        os.mkdir(f"{work}/sub")
        paddock.give(f"{work}/sub", user)
        self.listen(user, f"{work}/sub/early")
        self.listen(user, f"{other}/granted")
        os.mkfifo(f"{work}/pipe")
        self.write(user, f"{work}/note", "readable")
        script = f"import time; open('/tmp/started', 'w'); print(open('/workspace/note').read()); time.sleep(1)\n{CONNECT}"
        child = paddock.popen("run", "--workspace", f"{work}:ro", "--read", other, "--", "python3", "-c", script,
                              "/workspace/sub/early", f"{other}/granted", "/workspace/sub/late", user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        self.listen(user, f"{work}/sub/late")
        out, err = child.communicate(timeout=60)
        self.assertNotIn("connected", out, err)
        self.assertEqual(out.splitlines()[0], "readable")
        self.assertIn("early ConnectionRefusedError", out)
        self.assertIn("granted ConnectionRefusedError", out)

    @on_container
    def test_a_fifo_of_the_host_gives_nothing(self, user, wall):
        work = self.folder(user)
        os.mkfifo(f"{work}/pipe")
        os.chmod(f"{work}/pipe", 0o666)
        writer = os.open(f"{work}/pipe", os.O_RDWR)
        self.addCleanup(os.close, writer)
        os.write(writer, b"secret")
        done = paddock.run("--workspace", f"{work}:ro", "--", "python3", "-c",
                           "import os; f = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK); print(os.read(f, 100))", user=user)
        self.assertNotIn("secret", done.stdout)

    @on_container
    def test_other_protocols_of_ip_are_not_there(self, user, wall):
        script = ("import errno, socket as s\n"
                  "for kind, protocol in ((s.SOCK_STREAM, 262), (s.SOCK_DGRAM, 136), (s.SOCK_STREAM, 132), (5, 0), (6, 0)):\n"
                  "    for family in (s.AF_INET, s.AF_INET6):\n"
                  "        try: s.socket(family, kind, protocol); print('made', protocol)\n"
                  "        except OSError as error: assert error.errno == errno.EPROTONOSUPPORT, error\n"
                  "for family in (s.AF_INET, s.AF_INET6):\n"
                  "    s.socket(family, s.SOCK_STREAM); s.socket(family, s.SOCK_DGRAM); s.socket(family, s.SOCK_STREAM, 6); s.socket(family, s.SOCK_DGRAM, 17)\n"
                  "print('fine')")
        done = paddock.run("--", "python3", "-c", script, user=user)
        self.assertEqual(done.stdout, "fine\n", done.stderr)


class DenialTest(Case):
    @on_container
    def test_a_denied_file_has_no_other_name(self, user, wall):
        for mode in ("ro", "copy"):
            work, other = self.folder(user), self.folder(user)
            os.mkdir(f"{work}/keys")
            self.write(user, f"{work}/secret")
            self.write(user, f"{work}/keys/inner")
            os.link(f"{work}/secret", f"{work}/second")
            os.link(f"{work}/keys/inner", f"{other}/third")
            done = paddock.run("--workspace", f"{work}:{mode}", "--read", other, "--deny", f"{work}/secret", "--deny", f"{work}/keys", "--", "sh", "-c",
                               f"cat secret second keys/inner {other}/third; ls", user=user)
            self.assertNotIn("text", done.stdout, done.stderr)
            self.assertIn("second", done.stdout)  # ls
            done = paddock.run("--workspace", f"{work}:{mode}", "--", "cat", "second", user=user)
            self.assertEqual(done.stdout, "text", done.stderr)  # without the denial

    @on_container
    def test_denials_inside_denials_and_of_similar_names(self, user, wall):
        work = self.folder(user)
        for path in ("a/c", "a-b"):
            os.makedirs(f"{work}/{path}")
            self.write(user, f"{work}/{path}/file", "hidden")
        self.write(user, f"{work}/open", "shown")
        for order in (("a", "a-b", "a/c"), ("a/c", "a-b", "a")):
            denials = [word for name in order for word in ("--deny", f"{work}/{name}")]
            done = paddock.run("--workspace", f"{work}:ro", *denials, "--", "sh", "-c", "cat open a/c/file a-b/file", user=user)
            self.assertEqual(done.stdout, "shown", done.stderr)


class MountTest(Case):
    @unittest.skipUnless(os.geteuid() == 0, "only root mounts")
    def test_what_the_host_mounts_later_does_not_appear(self):
        work = self.folder("root")
        script = f"""
            mount -t tmpfs none {work} && mount --make-shared {work} && mkdir {work}/sub && echo early > {work}/sub/file
            {paddock.PADDOCK} run --workspace {work}:rw --read {work} -- sh -c 'touch /tmp/up; sleep 1.5; cat sub/file {work}/sub/file' &
            sleep 0.7
            mount -t tmpfs none {work}/sub && echo late > {work}/sub/file
            wait"""
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script], env=paddock.environment("root"), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "early\nearly\n", done.stderr)


class ProcTest(Case):
    HIDDEN = ("cmdline", "interrupts", "locks", "config.gz", "diskstats", "partitions", "swaps", "modules", "softirqs", "schedstat", "buddyinfo", "zoneinfo", "iomem", "fs")
    KEPT = ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "mounts", "self/status", "vmstat", "cgroups")

    @on_container
    def test_the_hosts_boot_hardware_and_load_are_hidden(self, user, wall):
        script = ("import os, sys\n"
                  "for name in sys.argv[1].split():\n"
                  "    try: print(name if (os.listdir if os.path.isdir('/proc/' + name) else lambda p: open(p).read())('/proc/' + name) else '')\n"
                  "    except OSError: pass\n"
                  "for name in sys.argv[2].split(): assert open('/proc/' + name).read()\n")
        done = paddock.run("--", "python3", "-c", script, " ".join(self.HIDDEN), " ".join(self.KEPT), user=user)
        self.assertEqual((done.stdout.split(), done.returncode), ([], 0), done.stderr)

    @on_container
    def test_each_run_has_a_boot_id_of_its_own(self, user, wall):
        with open("/proc/sys/kernel/random/boot_id") as file:
            seen = {file.read()}
        for _ in range(2):
            done = paddock.run("--", "cat", "/proc/sys/kernel/random/boot_id", user=user)
            self.assertRegex(done.stdout, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}\n$", done.stderr)
            seen.add(done.stdout)
        self.assertEqual(len(seen), 3)


class InterfaceTest(Case):
    @on_container
    def test_posix_queues_work_and_are_the_sandboxs_own(self, user, wall):
        script = """
import ctypes, os
lib = ctypes.CDLL('librt.so.1', use_errno=True)
queue = lib.mq_open(b'/paddock-test', os.O_CREAT | os.O_RDWR, 0o600, None)
assert queue >= 0, os.strerror(ctypes.get_errno())
assert lib.mq_send(queue, b'hello', 5, 0) == 0, os.strerror(ctypes.get_errno())
buffer = ctypes.create_string_buffer(8192)
print(lib.mq_receive(queue, buffer, 8192, None), buffer.value.decode(), os.listdir('/dev/mqueue'))
"""
        done = paddock.run("--memory", "256M", "--", "python3", "-c", script, user=user)
        self.assertEqual(done.stdout, "5 hello ['paddock-test']\n", done.stderr)

    @on_both
    def test_flags_of_inodes_cannot_be_set(self, user, wall):
        script = """
import errno, fcntl, struct
file = open('file', 'w+')
for request in (0x40086602, 0x401c5820, 0xc020660b, 0x5000940e):
    try: fcntl.ioctl(file, request, b'\\0' * 512); print('done', hex(request))
    except OSError as error: assert error.errno == errno.ENOTTY, (hex(request), error)
"""
        done = paddock.run("--wall", wall, "--", "python3", "-c", script, user=user)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)


class ProcessWallTest(Case):
    # A descendant that asks not to be told of its parent's end, in a session of its own.
    STUBBORN = "import ctypes, os, time\nctypes.CDLL(None).prctl(1, 0)\nif os.fork(): time.sleep(60)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(60)"

    def family(self, pid):
        """paddock, its watcher, the keeper."""
        watcher = next(child for child in leftovers.children(pid) if leftovers.read(f"/proc/{child}/comm").startswith("paddock"))
        return pid, watcher, leftovers.children(watcher)[0]

    @on_process
    def test_it_ends_with_any_two_of_the_three_that_watch_it(self, user, wall):
        for doomed in ((0, 1), (0, 2), (1, 2), (2,), (1,), (0,)):
            with self.subTest(doomed=doomed):
                marker = f"stubborn-{os.getpid()}-{user}-{''.join(map(str, doomed))}"
                child = paddock.popen("run", "--wall", wall, "--", "python3", "-c", self.STUBBORN, marker, user=user, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                deadline = time.monotonic() + 20
                inside = []
                while len(inside) < 2 and time.monotonic() < deadline:
                    time.sleep(0.05)
                    names = [pid for pid in leftovers.processes(marker)]
                    inside = [pid for pid in names if leftovers.read(f"/proc/{pid}/comm").startswith("python")]
                self.assertGreaterEqual(len(inside), 2)
                three = self.family(child.pid)
                for index in doomed:
                    with contextlib.suppress(ProcessLookupError):  # the end of the first may have been the end of the second
                        os.kill(three[index], 9)
                child.wait(30)
                deadline = time.monotonic() + 20
                while leftovers.processes(marker) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertEqual(leftovers.processes(marker), [])


class LibraryTest(Case):
    PROGRAM = os.path.join(paddock.BUILD, "tests", "paddock-embedding")

    @unittest.skipUnless(os.path.exists(PROGRAM), "paddock-embedding is not built")
    def test_the_applications_own_children_are_left_alone(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = paddock.call(program=self.PROGRAM, user=user)
                self.assertIn("the keeper died", done.stdout, done.stderr)
                self.assertIn("and the child lives", done.stdout)


if __name__ == "__main__":
    paddock.main()
