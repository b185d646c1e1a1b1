"""No amount is hidden from the keeper: what cannot be read counts as the worst, and what cannot be counted is denied.
Each attack runs as root and as an ordinary user without a cgroup; no clock waits for what there is to look at."""
import os
import shutil
import textwrap
import time
import unittest

from support import paddock

MIB = 1 << 20

HELPERS = """
import array, ctypes, errno, mmap, os, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
MIB = 1 << 20
def fill(file, mib):
    for _ in range(mib): os.write(file, bytes(MIB))
def stay(seconds=3):
    time.sleep(seconds)
    print('still here')
"""


def code(text):
    return HELPERS + textwrap.dedent(text)


class Run:
    def __init__(self, user, wall):
        self.user, self.wall = user, wall

    def __call__(self, *arguments):
        return paddock.run_json("--wall", self.wall, *arguments, user=self.user)


on_container, on_both = paddock.on("container", run=Run), paddock.on("container", "process", run=Run)


class Base(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user, "/var/tmp")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def assertHeld(self, result, limit, least=0):
        """It was ended by this limit, which has a true peak; or the way to pass it was refused."""
        self.assertNotIn("error", result)
        self.assertNotIn("still here", result["stdout"], result)
        if result["outcome"]["kind"] == "limit":
            self.assertEqual(result["outcome"]["limit"], limit, result)
            self.assertGreater(result["outcome"]["peak"], least, result)
            self.assertLess(result["outcome"]["peak"], 8 << 30, result)
        else:
            self.assertIn("refused", result["stdout"], result)


class Memory(Base):
    def attack(self, run, text):
        result = run("--memory", "64M", "--timeout", "30s", "--code", code(text))
        self.assertHeld(result, "memory")

    @on_both
    def test_a_name_like_a_line_of_the_status(self, run):
        self.attack(run, """
            libc.prctl(15, b'RssAnon: 0')
            block = bytearray(400 * MIB)
            stay()""")

    @on_both
    def test_a_leader_that_has_ended(self, run):
        self.attack(run, """
            def hog():
                time.sleep(0.3)
                block = bytearray(400 * MIB)
                stay()
                os._exit(0)
            threading.Thread(target=hog).start()
            libc.syscall(60, 0)  # exit, of this thread alone""")

    @on_both
    def test_a_memfd_of_a_process_whose_leader_has_ended(self, run):
        self.attack(run, """
            def hog():
                time.sleep(0.3)
                fill(os.memfd_create('hog'), 400)
                stay()
                os._exit(0)
            threading.Thread(target=hog).start()
            libc.syscall(60, 0)""")

    @on_both
    def test_a_memfd_in_a_threads_own_descriptors(self, run):
        self.attack(run, """
            def hog():
                if libc.syscall(436, 1000, 1000, 2) != 0:  # close_range, CLOSE_RANGE_UNSHARE
                    print('refused', flush=True)
                    os._exit(0)
                fill(os.memfd_create('hog'), 400)
                stay()
                os._exit(0)
            threading.Thread(target=hog).start()""")

    @on_both
    def test_memfds_that_lie_in_a_socket(self, run):
        self.attack(run, """
            left, right = socket.socketpair()
            for _ in range(100):
                file = os.memfd_create('hog')
                fill(file, 4)
                socket.send_fds(left, [b'x'], [file])
                os.close(file)
            left.close()
            stay()""")

    @on_both
    def test_a_memfd_that_is_mapped_by_a_page(self, run):
        self.attack(run, """
            maps = []
            for _ in range(100):
                file = os.memfd_create('hog')
                fill(file, 4)
                maps.append(mmap.mmap(file, 4096))
                os.close(file)
            stay()""")

    @on_both
    def test_shared_memory_that_is_no_longer_mapped_in(self, run):
        self.attack(run, """
            libc.mmap.restype = ctypes.c_void_p
            libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            for _ in range(100):
                at = libc.mmap(None, 4 * MIB, 3, 0x21, -1, 0)
                ctypes.memset(at, 1, 4 * MIB)
                libc.madvise(at, 4 * MIB, 4)  # MADV_DONTNEED
            stay()""")

    @on_both
    def test_system_v_semaphores_and_messages(self, run):
        for call in ("semget(0, 32000, 0o1600)", "msgget(0, 0o1600)"):
            result = run("--memory", "64M", "--code", code(f"print(libc.{call})"))
            # A version 1 cgroup counts them; the keeper cannot.
            if run.user == "user":
                self.assertEqual(result["stdout"], "-1\n", result)

    @on_container
    def test_many_sockets(self, run):
        """The table of sockets is longer than 64 KiB. (Version 1 cgroups do not count what waits in UDP sockets.)"""
        if run.user == "root":
            return
        self.attack(run, """
            sockets = []
            for i in range(900):
                one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * MIB)
                one.bind(('127.0.0.1', 0))
                sockets.append(one)
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for one in sockets:
                for _ in range(30): sender.sendto(bytes(60000), one.getsockname())
            stay()""")

    @on_both
    def test_a_program_that_cannot_be_looked_into(self, run):
        self.attack(run, """
            if libc.prctl(4, 0) != 0:  # PR_SET_DUMPABLE
                print('refused')
                sys.exit()
            fill(os.memfd_create('hog'), 400)
            stay()""")

    @on_both
    @unittest.skipIf(paddock.SANITIZED, "the first process inside, sanitized, needs more memory than the rest")
    def test_what_is_below_the_limit_is_left_alone(self, run):
        result = run("--memory", "128M", "--timeout", "30s", "--code", code("""
            block = bytearray(20 * MIB)
            file = os.memfd_create('some')
            fill(file, 10)
            maps = mmap.mmap(-1, 10 * MIB)
            maps.write(bytes(10 * MIB))
            time.sleep(1)"""))
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.assertGreater(result["usage"]["memory_peak_bytes"], 39 * MIB)
        self.assertLess(result["usage"]["memory_peak_bytes"], 80 * MIB)


class Disk(Base):
    LIMIT = 20

    def places(self, run):
        """Arguments that make a directory writable, for each way to do so."""
        yield ["--workspace", self.folder(run.user) + ":rw"]
        if run.wall == "container":
            yield ["--workspace", self.folder(run.user) + ":copy", "--discard"]

    def attack(self, run, *arguments):
        for place in self.places(run):
            with self.subTest(place=place):
                result = run("--disk", f"{self.LIMIT}M", "--memory", "1G", "--timeout", "30s", *place, *arguments)
                if run.wall == "process" and run.user == "root" and "error" in result:
                    continue  # it cannot keep the ownership of what root's program writes
                self.assertHeld(result, "disk", self.LIMIT * MIB)

    @on_both
    def test_a_file_without_a_name(self, run):
        self.attack(run, "--", "sh", "-c", "exec 3>x; rm x; head -c 300M /dev/zero >&3; sleep 3; echo still here")

    @on_both
    def test_a_file_without_a_name_of_a_process_whose_leader_has_ended(self, run):
        self.attack(run, "--code", code("""
            def hog():
                time.sleep(0.3)
                file = os.open('x', os.O_WRONLY | os.O_CREAT)
                os.unlink('x')
                fill(file, 300)
                stay()
                os._exit(0)
            threading.Thread(target=hog).start()
            libc.syscall(60, 0)"""))

    @on_both
    def test_files_that_lie_in_a_socket(self, run):
        self.attack(run, "--code", code("""
            left, right = socket.socketpair()
            for _ in range(100):
                file = os.open('x', os.O_WRONLY | os.O_CREAT)
                os.unlink('x')
                fill(file, 3)
                socket.send_fds(left, [b'x'], [file])
                os.close(file)
            left.close()
            stay()"""))

    @on_both
    def test_a_file_that_is_mapped_by_a_page(self, run):
        self.attack(run, "--code", code("""
            file = os.open('x', os.O_RDWR | os.O_CREAT)
            os.unlink('x')
            fill(file, 300)
            held = mmap.mmap(file, 4096)
            os.close(file)
            stay()"""))

    @on_container
    def test_a_directory_that_nobody_may_enter(self, run):
        self.attack(run, "--", "sh", "-c", "mkdir -p d/e; head -c 300M /dev/zero >d/e/x; chmod 0 d/e d; sleep 3; echo still here")

    @on_container
    def test_a_directory_that_is_filled_behind_a_locked_door(self, run):
        self.attack(run, "--", "sh", "-c", "mkdir d; exec 3>d/x; chmod 0 d; head -c 300M /dev/zero >&3; sleep 3; echo still here")

    @on_both
    def test_a_granted_file(self, run):
        path = os.path.join(self.folder(run.user), "granted")
        with open(path, "w"):
            pass
        paddock.give(path, run.user)
        result = run("--disk", "20M", "--timeout", "30s", "--write", path, "--", "sh", "-c", f"head -c 300M /dev/zero >{path}; sleep 3; echo still here")
        if run.wall == "process" and run.user == "root" and "error" in result:
            return
        self.assertHeld(result, "disk", 20 * MIB)

    @on_container
    def test_modes_stay_as_the_program_set_them(self, run):
        folder = self.folder(run.user)
        result = run("--disk", "20M", "--workspace", folder + ":rw", "--", "sh", "-c", "mkdir d; echo x >d/x; chmod 0 d; sleep 1")
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0}, result)
        self.assertEqual(os.stat(os.path.join(folder, "d")).st_mode & 0o777, 0)
        self.assertLess(result["usage"]["disk_bytes"], MIB)


class Clocks(Base):
    MANY_DESCRIPTORS = """
    import resource
    for _ in range(149):
        if os.fork() == 0: break
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    try:
        while len(held) < 5900: held.append(os.open('/dev/null', os.O_RDONLY))
    except OSError: pass
    time.sleep(60)
    """

    @on_both
    def test_wait_for_no_walk(self, run):
        started = time.monotonic()
        result = run("--timeout", "3s", "--pids", "400", "--open-files", "6000", "--memory", "4G", "--code", code(self.MANY_DESCRIPTORS))
        self.assertEqual(result["outcome"].get("limit"), "wall_time", result)
        # What is printed is for people; the bound is generous.
        print(f"ended after {result['usage']['wall_ms'] / 1000:.2f} s, whole run {time.monotonic() - started:.2f} s")
        self.assertLess(result["outcome"]["peak"], 4500)


if __name__ == "__main__":
    paddock.main()
