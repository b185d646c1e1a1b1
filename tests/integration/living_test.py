"""A living sandbox without a server: it starts, lives on when its server dies, freezes, ends, and leaves nothing behind."""
import http.server
import os
import shutil
import signal
import threading
import time
import unittest

from support import living, paddock
from support.server import Server


def alone(test):
    """Once per user, with a place that is gone afterwards, and nothing of the sandbox left."""
    def every(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                place, server = living.Place(user), living.Living(user)
                self.extra = []
                try:
                    test(self, place, server)
                    pids = [server.process.pid] + living.children(server.process.pid) if server.process.poll() is None else []
                    server.close()
                    for other in self.extra:
                        other.close()
                    self.assertTrue(living.wait_until(lambda: not any(map(living.is_alive, pids))), "processes are left")
                    self.assertEqual(living.cgroups_of(place.id), [])
                    with open("/proc/self/mountinfo") as mounts:
                        self.assertNotIn(place.top, mounts.read())
                finally:
                    place.remove()
    return every


class Counter:
    """A process inside that writes a number every few milliseconds."""

    def __init__(self, server, place):
        self.path = os.path.join(place.directory, "root/upper/tmp/count")
        server.send("exec", argv=["sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > /tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.01; done"], user="user")
        assert living.wait_until(lambda: os.path.exists(self.path))

    def moves(self):
        def read():
            try:
                with open(self.path) as file:
                    return file.read()
            except OSError:
                return None
        before = read()
        return living.wait_until(lambda: read() != before, 1)


class StartTest(unittest.TestCase):
    @alone
    def test_users_files_and_names(self, place, server):
        spec = place.spec(files={"e2b/.E2B_SANDBOX": "true"})
        server.do("start", spec=spec)
        self.assertEqual(server.exec("id", "-u", user="root"), (0, "0\n"))
        self.assertEqual(server.exec("id", "-u"), (0, "1000\n" if place.user == "root" else "0\n"))
        self.assertEqual(server.exec("cat", "/proc/sys/kernel/random/boot_id"), (0, spec["boot_id"] + "\n"))
        self.assertEqual(server.exec("cat", "/run/e2b/.E2B_SANDBOX", "/etc/hostname"), (0, "truebox\n"))
        self.assertEqual(server.exec("sh", "-c", "echo 'echo ran' > /tmp/x; chmod +x /tmp/x; /tmp/x"), (0, "ran\n"))
        self.assertEqual(server.exec("stat", "-c", "%a", "/tmp", "/dev/shm"), (0, "1777\n1777\n"))
        if place.user == "root":
            code, out = server.exec("sh", "-c", "touch /usr/local/bin/new && chown user /usr/local/bin/new && stat -c %U:%u /usr/local/bin/new /usr/bin", user="root")
            self.assertEqual((code, out), (0, "user:1000\nroot:0\n"))
            self.assertEqual(os.stat(os.path.join(place.directory, "usr/upper/local/bin/new")).st_uid, living.DISK_BASE + 1000)
            self.assertFalse(os.path.exists("/usr/local/bin/new"))
            self.assertNotEqual(server.exec("touch", "/usr/local/bin/other")[0], 0)
        server.do("kill")

    @alone
    def test_files_outlive_processes(self, place, server):
        server.do("start", spec=place.spec())
        server.exec("sh", "-c", "echo kept > /home/user/file; rm -r /var/tmp; ln -sf /nowhere /etc/resolv.conf", user="root")
        server.do("kill")
        server.do("start", spec=place.spec())
        self.assertEqual(server.exec("cat", "/home/user/file"), (0, "kept\n"))
        self.assertNotEqual(server.exec("ls", "/var/tmp")[0], 0)
        self.assertEqual(server.exec("readlink", "/etc/resolv.conf")[0], 1)
        server.do("kill")

    @alone
    def test_volumes(self, place, server):
        volumes = []
        for name, read_only in (("one", False), ("two", True)):
            source = os.path.join(place.top, name)
            os.mkdir(source)
            if os.geteuid() == 0:
                owner = living.DISK_BASE if place.user == "root" else paddock.USER_ID
                os.chown(source, owner, owner)
            volumes.append({"source": source, "target": "/mnt/deep/" + name, "read_only": read_only})
        server.do("start", spec=place.spec(volumes=volumes))
        self.assertEqual(server.exec("sh", "-c", "echo shared > /mnt/deep/one/file", user="root")[0], 0)
        self.assertNotEqual(server.exec("touch", "/mnt/deep/two/file", user="root")[0], 0)
        with open(os.path.join(place.top, "one/file")) as file:
            self.assertEqual(file.read(), "shared\n")
        server.do("kill")
        for target in ("/proc/x", "/usr", "relative", "/a/../b", "/"):
            with self.assertRaisesRegex(living.Refused, "not a place"):
                server.do("start", spec=place.spec(volumes=[{"source": place.top, "target": target}]))

    @alone
    def test_what_cannot_be_held_is_refused(self, place, server):
        with self.assertRaisesRegex(living.Refused, "unsupported: a living sandbox cannot have files.read"):
            server.do("start", spec=place.spec('[files]\nread = ["/opt"]\n'))
        with self.assertRaisesRegex(living.Refused, "wall 'process'"):
            server.do("start", spec=place.spec('[isolation]\nwall = "process"\n'))
        with self.assertRaises(living.Refused):
            server.do("start", spec=place.spec(layers=["/nowhere"]))
        self.assertEqual(living.cgroups_of(place.id), [])


    def test_in_a_directory_with_a_long_name(self):
        for user in paddock.USERS:
            parent = paddock.folder(user)
            os.chmod(parent, 0o755)
            deep = os.path.join(parent, "d" * 100, "e" * 100)
            os.makedirs(deep)
            for path in (os.path.dirname(deep), deep):
                paddock.give(path, user)
            place, server = living.Place(user, deep), living.Living(user)
            try:
                server.do("start", spec=place.spec())
                server.kill9()
                server = living.Living(user)
                server.do("reattach", sandbox=place.id, directory=place.directory)
                self.assertEqual(server.exec("echo", "deep"), (0, "deep\n"))
                server.do("kill")
                server.close()
            finally:
                shutil.rmtree(parent)

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/usr/bin/newuidmap") and "user" in paddock.USERS, "needs root and newuidmap to pretend")
    def test_subordinate_ids(self):
        """As a user whom the administrator gave ids: /etc is another one in a mount namespace of its own."""
        place = living.Place("user")
        etc = os.path.join(place.top, "etc")
        os.mkdir(etc, 0o755)
        os.chmod(place.top, 0o755)
        for name, text in (("passwd", f"root:x:0:0::/:/bin/sh\nann:x:{paddock.USER_ID}:{paddock.USER_ID}::/:/bin/sh\n"), ("group", f"root:x:0:\nann:x:{paddock.USER_ID}:\n"),
                           ("subuid", "ann:3000000:65536\n"), ("subgid", "ann:3000000:65536\n"), ("nsswitch.conf", "passwd: files\n")):
            with open(os.path.join(etc, name), "w") as file:
                file.write(text)
        server = living.Living("user", before=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc])
        try:
            with open(os.path.join(place.layer, "etc/passwd"), "a") as file:
                file.write("bob:x:1000:1000::/:/bin/sh\n")
            told = server.do("start", spec=place.spec())
            self.assertNotIn("single id", " ".join(told["notes"]))
            self.assertEqual(server.exec("sh", "-c", "touch /tmp/x && chown bob /tmp/x && stat -c %u /tmp/x", user="root"), (0, "1000\n"))
            self.assertEqual(os.stat(os.path.join(place.directory, "root/upper/tmp/x")).st_uid, 3000000 + 999)
            self.assertEqual(server.exec("id", "-u", user="bob"), (0, "1000\n"))
            server.do("kill")
            server.close()
        finally:
            place.remove()


class SubordinateIdsTest(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/usr/bin/newuidmap") and "user" in paddock.USERS, "needs root and newuidmap to pretend")
    def test_whoami_in_a_sandbox_of_an_ordinary_user_is_user(self):
        folder = paddock.folder("root")
        try:
            # Over the host's files, in a mount namespace of the server's own. newuidmap wants an account.
            with open("/etc/passwd") as file:
                accounts = file.read() + f"ann:x:{paddock.USER_ID}:{paddock.USER_ID}::/:/bin/sh\n"
            for name, text in (("subuid", "ann:3000000:65536\n"), ("subgid", "ann:3000000:65536\n"), ("passwd", accounts)):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            script = 'for name in subuid subgid passwd; do mount --bind "$0/$name" "/etc/$name" || exit 1; done; exec "$@"'
            over = ["unshare", "-m", "sh", "-c", script, folder]
            with Server("user", before=over) as served:
                box = served.create()
                done = served.call("exec", box["sandboxID"], "--", "sh", "-c", "whoami; id -u; sudo whoami; touch x && sudo chown root x && stat -c %U x")
                self.assertEqual(done.stdout, "user\n1000\nroot\nroot\n", done.stderr)
                self.assertEqual(served.call("exec", box["sandboxID"], "--", "pwd").stdout, "/home/user\n")
        finally:
            shutil.rmtree(folder)


class LimitTest(unittest.TestCase):
    @alone
    def test_memory_kills_inside_or_ends_it(self, place, server):
        server.do("start", spec=place.spec('[limits]\nmemory = "96M"\n'))
        number = server.send("exec", argv=["sh", "-c", "head -c 300M /dev/zero | tail -c 300M | wc -c"], user="user")
        if place.user == "root":  # a cgroup kills the program, and the guest goes on
            server.answer(number)
            self.assertEqual(server.exec("echo", "alive"), (0, "alive\n"))
            self.assertGreater(server.do("usage")["oom_kills"], 0)
            server.do("kill")
        else:
            self.assertEqual(server.event("end")["limit"], "memory")

    @alone
    @unittest.skipIf(paddock.SANITIZED, "a sanitized guest is larger than the programs")
    def test_programs_go_before_the_guest(self, place, server):
        server.do("start", spec=place.spec('[limits]\nmemory = "64M"\n'))
        for user in ("user", "root"):
            self.assertEqual(server.exec("sh", "-c", "cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -w", user=user), (0, "500\n4\n"))
        if place.user == "root":  # memory that belongs to no process, so that the guest is as large as who fills it
            hog = "import os\nfile = os.memfd_create('x')\nwhile True: os.write(file, bytes(1 << 20))"
            self.assertNotEqual(server.exec("python3", "-c", hog)[0], 0)
            self.assertEqual(server.exec("echo", "alive"), (0, "alive\n"))
            self.assertGreater(server.do("usage")["oom_kills"], 0)
        server.do("kill")

    @alone
    def test_disk_ends_it(self, place, server):
        server.do("start", spec=place.spec('[limits]\ndisk = "20M"\n'))
        server.send("exec", argv=["sh", "-c", "while :; do head -c 4M /dev/zero >> /home/user/big; done"], user="root")
        end = server.event("end")
        self.assertEqual(end["limit"], "disk")
        self.assertEqual(end["why"], "limit disk=20M")

    @alone
    def test_disk_counts_files_without_a_name(self, place, server):
        server.do("start", spec=place.spec('[limits]\ndisk = "20M"\n'))
        server.send("exec", argv=["sh", "-c", "exec 3> /home/user/big; rm /home/user/big; while :; do head -c 4M /dev/zero >&3; done"], user="root")
        self.assertEqual(server.event("end")["limit"], "disk")

    @alone
    def test_usage(self, place, server):
        server.do("start", spec=place.spec())
        server.send("exec", argv=["sleep", "600"], user="user")
        server.exec("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; head -c 3M /dev/zero > /home/user/file", user="root")
        self.assertTrue(living.wait_until(lambda: server.do("usage")["disk"] >= 3 << 20))
        usage = server.do("usage")
        self.assertEqual(usage["pids"], 1)
        self.assertGreater(usage["cpu_us"], 0)
        self.assertGreater(usage["memory"], 0)
        server.do("kill")


class FreezeTest(unittest.TestCase):
    @alone
    def test_everything_stops_and_goes_on(self, place, server):
        server.do("start", spec=place.spec())
        counter = Counter(server, place)
        self.assertTrue(counter.moves())
        server.do("freeze")
        self.assertFalse(counter.moves())
        self.assertTrue(server.do("usage")["frozen"])
        server.do("thaw")
        self.assertTrue(counter.moves())
        self.assertEqual(server.exec("echo", "well"), (0, "well\n"))
        server.do("freeze")
        server.do("kill")

    @alone
    def test_a_frozen_one_waits_for_the_next_server(self, place, server):
        server.do("start", spec=place.spec())
        counter = Counter(server, place)
        server.do("freeze")
        server.kill9()
        other = living.Living(place.user)
        self.extra.append(other)
        other.do("reattach", sandbox=place.id, directory=place.directory)
        self.assertTrue(other.do("usage")["frozen"])
        self.assertFalse(counter.moves())
        other.do("thaw")
        self.assertTrue(counter.moves())
        self.assertEqual(other.exec("echo", "well"), (0, "well\n"))
        other.do("kill")


class DeathTest(unittest.TestCase):
    @alone
    def test_of_the_keeper_is_the_end_of_all(self, place, server):
        server.do("start", spec=place.spec())
        counter = Counter(server, place)
        keeper, guest = server.keeper(), server.guest()
        inside = living.children(guest)
        os.kill(keeper, signal.SIGKILL)
        self.assertEqual(server.event("end")["why"], "the keeper was killed")
        self.assertTrue(living.wait_until(lambda: not any(map(living.is_alive, [guest] + inside))))
        self.assertFalse(counter.moves())

    @alone
    def test_of_a_frozen_ones_keeper_too(self, place, server):
        server.do("start", spec=place.spec())
        server.send("exec", argv=["sleep", "600"], user="user")
        keeper, guest = server.keeper(), server.guest()
        server.do("freeze")
        os.kill(keeper, signal.SIGKILL)
        server.event("end")
        self.assertTrue(living.wait_until(lambda: not living.is_alive(guest)))

    @alone
    def test_of_the_guest_is_the_end_of_all(self, place, server):
        server.do("start", spec=place.spec())
        server.send("exec", argv=["sleep", "600"], user="user")
        keeper = server.keeper()
        os.kill(server.guest(), signal.SIGKILL)
        self.assertIn("killed by signal 9", server.event("end")["why"])
        self.assertTrue(living.wait_until(lambda: not living.is_alive(keeper)))

    @alone
    def test_of_the_server_is_nothing(self, place, server):
        server.do("start", spec=place.spec())
        counter = Counter(server, place)
        keeper, guest = server.keeper(), server.guest()
        server.kill9()
        self.assertTrue(counter.moves())
        for _ in range(3):
            other = living.Living(place.user)
            self.extra.append(other)
            told = other.do("reattach", sandbox=place.id, directory=place.directory)
            self.assertIn("identity", told["enforced"])
            self.assertEqual(other.exec("echo", "still"), (0, "still\n"))
            self.assertEqual(len(other.do("ask", request={"op": "processes"})["processes"]), 1)
            other.kill9()
        self.assertTrue(living.is_alive(guest))
        other = living.Living(place.user)
        self.extra = [other]
        other.do("reattach", sandbox=place.id, directory=place.directory)
        other.do("kill")
        self.assertTrue(living.wait_until(lambda: not living.is_alive(guest) and not living.is_alive(keeper)))

    @alone
    def test_of_a_keeper_that_hangs_is_left_to_no_chance(self, place, server):
        if place.user != paddock.USERS[0]:
            return  # the server waits for half a minute: once is enough
        server.do("start", spec=place.spec())
        keeper, guest = server.keeper(), server.guest()
        server.kill9()
        other = living.Living(place.user)
        self.extra.append(other)
        other.do("reattach", sandbox=place.id, directory=place.directory)
        os.kill(keeper, signal.SIGSTOP)
        other.do("kill")
        self.assertFalse(living.is_alive(keeper) or living.is_alive(guest))

    @alone
    def test_of_neither_when_another_server_takes_over(self, place, server):
        server.do("start", spec=place.spec())
        counter = Counter(server, place)
        other = living.Living(place.user)
        self.extra.append(other)
        other.do("reattach", sandbox=place.id, directory=place.directory)
        self.assertEqual(other.exec("echo", "mine"), (0, "mine\n"))
        with self.assertRaises(living.Refused):
            server.do("usage")
        self.assertEqual(server.events, [])
        self.assertTrue(counter.moves())
        other.do("kill")

    @alone
    def test_of_both_leaves_nothing_to_reattach_to(self, place, server):
        server.do("start", spec=place.spec())
        keeper, guest = server.keeper(), server.guest()
        server.kill9()
        os.kill(keeper, signal.SIGKILL)
        self.assertTrue(living.wait_until(lambda: not living.is_alive(guest)))
        other = living.Living(place.user)
        self.extra.append(other)
        with self.assertRaisesRegex(living.Refused, "not_found"):
            other.do("reattach", sandbox=place.id, directory=place.directory)
        self.assertEqual(living.cgroups_of(place.id), [])
        other.do("start", spec=place.spec())
        self.assertEqual(other.exec("echo", "again"), (0, "again\n"))
        other.do("kill")

    @unittest.skipUnless("root" in paddock.USERS, "only root has id ranges")
    def test_frees_the_ids(self):
        place, server = living.Place("root"), living.Living("root")
        try:
            before = living.held_ranges()
            server.do("start", spec=place.spec())
            mine = living.held_ranges() - before
            self.assertTrue(mine)
            keeper = server.keeper()
            server.kill9()
            self.assertTrue(mine & living.held_ranges())
            os.kill(keeper, signal.SIGKILL)
            self.assertTrue(living.wait_until(lambda: not mine & living.held_ranges()))
            other = living.Living("root")
            with self.assertRaises(living.Refused):
                other.do("reattach", sandbox=place.id, directory=place.directory)
            other.close()
        finally:
            place.remove()


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


class NetworkTest(unittest.TestCase):
    FETCH = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:%d', timeout=10).read().decode())"

    def setUp(self):
        self.host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
        threading.Thread(target=self.host.serve_forever, daemon=True).start()
        self.addCleanup(self.host.server_close)
        self.addCleanup(self.host.shutdown)
        self.port = self.host.server_address[1]
        self.policy = f'[network]\nallow = ["127.0.0.1:{self.port}"]\n'

    def fetch(self, server):
        return server.exec("python3", "-c", self.FETCH % self.port)

    def test_outlives_the_server_and_changes(self):
        @alone
        def check(self, place, server):
            server.do("start", spec=place.spec(self.policy))
            self.assertEqual(self.fetch(server), (0, "hello\n"))
            self.assertIn(str(self.port), server.event("network")["line"])
            egress = [pid for pid in living.children(server.process.pid) if living.name_of(pid) == "paddock-egress"]
            keeper = server.keeper()
            self.assertEqual(len(egress), 1)
            server.kill9()
            other = living.Living(place.user)
            self.extra.append(other)
            told = other.do("reattach", sandbox=place.id, directory=place.directory)
            self.assertTrue(told["network"])
            self.assertEqual(self.fetch(other), (0, "hello\n"))
            other.event("network")
            other.do("network", policy='version = 1\n[network]\nallow = ["example.org"]\n')
            self.assertNotEqual(self.fetch(other)[0], 0)
            other.do("network", policy="version = 1\n" + self.policy)
            self.assertEqual(self.fetch(other), (0, "hello\n"))
            os.kill(keeper, signal.SIGKILL)
            other.event("end")
            self.assertTrue(living.wait_until(lambda: not living.is_alive(egress[0])))
        check(self)

    def test_one_that_does_not_answer_is_ended(self):
        @alone
        def check(self, place, server):
            server.do("start", spec=place.spec(self.policy))
            egress = next(pid for pid in living.children(server.process.pid) if living.name_of(pid) == "paddock-egress")
            os.kill(egress, signal.SIGSTOP)
            for _ in range(2):
                with self.assertRaises(living.Refused):
                    server.do("network", policy="version = 1\n" + self.policy)
            self.assertTrue(living.wait_until(lambda: not living.is_alive(egress)))
            self.assertNotEqual(self.fetch(server)[0], 0)
            server.do("kill")
        check(self)

    def test_ends_with_the_sandbox(self):
        @alone
        def check(self, place, server):
            server.do("start", spec=place.spec(self.policy))
            egress = [pid for pid in living.children(server.process.pid) if living.name_of(pid) == "paddock-egress"]
            server.do("kill")
            self.assertFalse(living.is_alive(egress[0]))
        check(self)

    def test_is_off_unless_asked_for(self):
        @alone
        def check(self, place, server):
            self.assertFalse(server.do("start", spec=place.spec())["network"])
            self.assertNotEqual(self.fetch(server)[0], 0)
            with self.assertRaisesRegex(living.Refused, "without a network"):
                server.do("network", policy="version = 1\n" + self.policy)
            server.do("kill")
        check(self)


# What a hostile program tries from inside; each line must fail and nothing may change.
ATTACKS = [
    "kill -9 1 && sleep 0.2 && kill -STOP 1 && sleep 0.2 && kill -TERM 1 && false",
    "cat /proc/1/mem", "cat /proc/1/environ", "ls /proc/1/root/", "ls -l /proc/1/cwd/", "readlink /proc/1/exe", "echo x > /proc/1/comm",
    "cat /proc/1/fd/0", "echo -1000 > /proc/1/oom_score_adj", "cat /proc/1/maps",
    "mount -t tmpfs none /mnt", "mount --bind /etc /mnt", "umount /proc", "mount -o remount,rw /proc", "unshare -U true", "unshare -m true", "chroot / true",
    "nsenter -t 1 -m true", "mknod /tmp/disk b 8 0", "mknod /tmp/null c 1 3", "mknod /tmp/gone c 0 0",
    "echo 1 > /proc/sys/kernel/panic", "echo x > /proc/sys/kernel/random/boot_id", "echo c > /proc/sysrq-trigger", "cat /proc/kallsyms | grep .",
    "ls /sys/fs/cgroup/memory", "echo x > /run/paddock/bin/paddock-guest", "rm /run/paddock/bin/paddock-guest", "mv /proc /other", "rmdir /dev",
    "python3 -c \"import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)\"",
    "python3 -c \"import os; os.setns(os.open('/proc/1/ns/mnt', 0))\"",
    "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{keeper}')\"",
    "ls {directory}", "hostname other", "date -s 2020-01-01",
]

# What would take something of the whole machine, or hold up the guest.
GREED = """
import ctypes, errno, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
context = ctypes.c_ulong()
print(libc.syscall(206, 65536, ctypes.byref(context)), ctypes.get_errno() == errno.ENOSYS)  # io_setup
link = socket.socket()
link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
print(struct.unpack("ii", link.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))[0])
terminals = 0
try:
    while terminals < 300:
        os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
        terminals += 1
except OSError:
    pass
print(terminals <= 256)
"""


class EscapeTest(unittest.TestCase):
    @alone
    def test_takes_nothing_of_the_whole_machine(self, place, server):
        server.do("start", spec=place.spec())
        for user in ("user", "root"):
            self.assertEqual(server.exec("python3", "-c", GREED, user=user), (0, "-1 True\n0\nTrue\n"))
        server.do("kill")

    @alone
    def test_from_inside(self, place, server):
        server.do("start", spec=place.spec())
        keeper = os.path.join(place.directory, "keeper")
        for user in ("user", "root"):
            for attack in ATTACKS:
                command = attack.format(keeper=keeper, directory=place.directory)
                code, out = server.exec("sh", "-c", command, user=user)
                self.assertNotEqual(code, 0, f"{user}: {command}: {out}")
        self.assertEqual(server.exec("echo", "well"), (0, "well\n"))
        self.assertTrue(living.is_alive(server.guest()))
        server.do("kill")

    @alone
    def test_setuid_files_give_nothing(self, place, server):
        server.do("start", spec=place.spec())
        server.exec("sh", "-c", "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id", user="root")
        uid = server.exec("id", "-u")[1]
        self.assertEqual(server.exec("/tmp/id", "-u"), (0, uid))
        server.do("kill")

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_other_users_cannot_be_the_server(self):
        place, server = living.Place("root"), living.Living("root")
        try:
            server.do("start", spec=place.spec())
            os.chmod(place.top, 0o755)
            os.chmod(place.directory, 0o755)
            os.chmod(os.path.join(place.directory, "keeper"), 0o777)
            other = living.Living("user")
            with self.assertRaises(living.Refused):
                other.do("reattach", sandbox=place.id, directory=place.directory)
            other.close()
            self.assertEqual(server.exec("echo", "well"), (0, "well\n"))
            server.do("kill")
            server.close()
        finally:
            place.remove()


if __name__ == "__main__":
    paddock.main()
