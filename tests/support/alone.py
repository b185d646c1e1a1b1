"""Runs one test program as if it were alone on the host, and fails it for what it leaves behind.

    python3 tests/support/alone.py PROGRAM [ARGUMENT...]

Tests look at processes, mounts, cgroups and files of the whole host, so that several at once would see each other. Root
gives each its own PID, mount and IPC namespaces, its own /tmp, /var/tmp and /dev/shm, its own place in the cgroup trees,
and an ordinary user of its own (PADDOCK_TEST_UID). Without root the program just runs.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV, MS_NOEXEC = 4096, 16384, 1 << 18, 2, 4, 8
GRACE = 20  # seconds for processes that are on their way out
FAILED_TO_CLEAN_UP = 99
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, None), f"mount {target}")


def exit_code(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Cgroups:
    """A group below our own in every tree that lets us make one. Trees whose new groups take no process are left out."""

    def __init__(self):
        self.made = []
        mounted = {}
        for line in open("/proc/self/mountinfo"):
            place, (kind, _, options) = line.split()[4], line.split(" - ")[1].split()[:3]
            if kind.startswith("cgroup"):
                mounted[frozenset(options.split(",")) - {"rw", "ro"} if kind == "cgroup" else frozenset()] = place
        for line in open("/proc/self/cgroup"):
            _, names, path = line.rstrip("\n").split(":", 2)
            wanted = frozenset(names.split(",")) if names else frozenset()
            place = next((place for options, place in mounted.items() if wanted <= options and bool(wanted) == bool(options)), None)
            if place is None:
                continue
            group = os.path.join(place, path.lstrip("/"), f"alone-{os.getpid()}")
            try:
                os.mkdir(group)
                self.made.append(group)
                with open(os.path.join(group, "cgroup.procs"), "w") as file:
                    file.write(str(os.getpid()))
            except OSError:  # read-only, or cpuset, or the way is closed: this tree stays shared
                pass

    def leave(self):
        """Goes back to where we were, and returns the groups that could not be removed."""
        left = []
        for group in self.made:
            try:
                with open(os.path.join(os.path.dirname(group), "cgroup.procs"), "w") as file:
                    file.write(str(os.getpid()))
            except OSError:
                pass
            for where, _, _ in os.walk(group, topdown=False):
                if where != group:
                    left.append(where)
                try:
                    os.rmdir(where)
                except OSError as error:
                    left.append(f"{where}: {error.strerror}")
        return left


def others():
    """Every process of this PID namespace but the first, as "pid command"."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if pid == "1" or file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found.append(f"{pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')[:150]}")
        except OSError:
            continue
    return found


def first_process(command, scratch):
    """PID 1 of the test's namespace: its own mounts, the test as a child, and an eye on what outlives it."""
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ctest's time limit kills the one above us
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV)
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    for place in ("/tmp", "/var/tmp"):  # in this order: the second covers where these are
        own = os.path.join(scratch, os.path.relpath(place, "/").replace("/", "-"))
        os.mkdir(own)
        os.chmod(own, 0o1777)
        if tree.startswith(place + "/"):
            still_there = os.path.join(own, os.path.relpath(tree, place))
            os.makedirs(still_there)
            mount(tree, still_there, "", MS_BIND | MS_REC)
        mount(own, place, "", MS_BIND | MS_REC)
    os.chdir(os.getcwd())  # by the new way
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write("40000")  # numbers that no process inside a sandbox has: some tests ask for theirs there
    test = subprocess.Popen(command)
    while True:  # reaps orphans too
        pid, status = os.wait()
        if pid == test.pid:
            break
    deadline = time.monotonic() + GRACE
    while (left := others()) and time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
    for line in left:
        print(f"left behind: process {line}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(exit_code(status) or (FAILED_TO_CLEAN_UP if left else 0))


def main():
    command = sys.argv[1:]
    if os.geteuid() != 0:
        os.execvp(command[0], command)
    scratch = tempfile.mkdtemp(prefix="alone-", dir="/var/tmp")
    os.chmod(scratch, 0o755)
    groups = Cgroups()
    pid = os.fork()
    if pid == 0:  # whoever makes a PID namespace can start nothing more once its first process is gone
        libc.prctl(1, signal.SIGKILL)
        check(libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID), "unshare")
        if (inner := os.fork()) == 0:
            first_process(command, scratch)
        os._exit(exit_code(os.waitpid(inner, 0)[1]))
    code = exit_code(os.waitpid(pid, 0)[1])
    left = groups.leave()
    for where in left:
        print(f"left behind: cgroup {where}", file=sys.stderr)
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code or (FAILED_TO_CLEAN_UP if left else 0))


main()
