"""Kills Paddock, or its keeper, at any instant: nothing of the sandbox may be left. PADDOCK_STORM multiplies the rounds."""
import glob
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

from support import paddock

ROUNDS = {"root": 200, "user": 100}
STORM = float(os.environ.get("PADDOCK_STORM", "1"))

# Daemonises twice, ignores what can be ignored, writes a heartbeat, and would live for two minutes.
DAEMON = """
trap '' HUP INT TERM QUIT
setsid bash -c 'trap "" HUP INT TERM QUIT; setsid sleep {seconds} & exec sleep {seconds}' &
exec sleep {seconds}
"""


def read(path):
    return pathlib.Path(path).read_text(errors="replace")


def processes(marker):
    """Pids of everything that carries the marker in its arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if marker in read(f"/proc/{pid}/cmdline"):
                found.append(int(pid))
        except OSError:
            pass
    return [pid for pid in found if pid != os.getpid()]


def keepers():
    """Pids of every paddock-launch of this build, whatever it is just doing."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = read(f"/proc/{pid}/comm").strip()
            state = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if name.startswith("paddock-launch"[:15]) and state != "Z":
            found.add(int(pid))
    return found


def cgroups():
    found = set()
    for root in glob.glob("/sys/fs/cgroup/*") + ["/sys/fs/cgroup"]:
        for where, directories, _ in os.walk(root):
            found.update(os.path.join(where, name) for name in directories if "paddock" in os.path.join(where, name))
    return found


def entries(user):
    """Everything in the places where Paddock keeps state, runtime files and private space."""
    home = paddock.environment(user)["HOME"]
    places = ["/var/lib/paddock", "/run/paddock", f"{home}/.local/state/paddock", f"{home}/.cache/paddock"]
    found = set()
    for place in places:
        for where, directories, _ in os.walk(place):
            found.update(os.path.join(where, name) for name in directories)
    for pattern in ("/tmp/*paddock*", "/var/tmp/*paddock*", "/dev/shm/*paddock*"):
        found.update(glob.glob(pattern))
    return found


def mounts():
    return {line.split(" - ")[0].split()[4] for line in read("/proc/self/mountinfo").splitlines()}


class KillStormTest(unittest.TestCase):
    def storm(self, user, rounds, start, strike):
        """Starts, strikes, and afterwards compares the host with how it was."""
        marker = f"77.{os.getpid()}{random.randrange(10**6):06d}"
        before = {"mounts": mounts(), "cgroups": cgroups(), "entries": entries(user), "keepers": keepers()}
        for _ in range(rounds):
            child = start(marker)
            strike(child, marker)
            child.wait(20)
        deadline = time.monotonic() + 10
        while True:
            left = {"mounts": mounts() - before["mounts"], "cgroups": cgroups() - before["cgroups"], "entries": entries(user) - before["entries"],
                    "keepers": keepers() - before["keepers"], "processes": processes(marker)}
            if not any(left.values()) or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in processes(marker)])
        self.assertEqual({name: found for name, found in left.items() if found}, {})

    def starter(self, user, *flags):
        def start(marker):
            return paddock.popen("run", *flags, "--", "bash", "-c", DAEMON.format(seconds=marker), user=user,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return start

    @staticmethod
    def kill_soon(child, _marker):
        time.sleep(random.uniform(0, 0.015))
        child.kill()

    @staticmethod
    def kill_keeper(child, marker):
        deadline = time.monotonic() + 20
        while not processes(marker) or not children(child.pid):
            if time.monotonic() > deadline:
                raise AssertionError("the program did not start")
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.05))
        for pid in children(child.pid):
            os.kill(pid, signal.SIGKILL)

    def test_killed_paddock_leaves_nothing(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                self.storm(user, int(ROUNDS[user] * STORM), self.starter(user, "--wall", "container"), self.kill_soon)

    def test_killed_paddock_of_the_process_wall_leaves_nothing(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                self.storm(user, int(ROUNDS[user] * STORM / 4), self.starter(user, "--wall", "process"), self.kill_soon)

    def test_killed_paddock_with_a_copied_workspace_leaves_nothing(self):
        for user in paddock.USERS:
            with self.subTest(user=user), tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                flags = ["--wall", "container", "--workspace", f"{folder}:copy", "--discard"]
                self.storm(user, int(ROUNDS[user] * STORM / 4), self.starter(user, *flags), self.kill_soon)

    def test_killed_while_running_leaves_nothing(self):
        def kill_running(child, marker):
            deadline = time.monotonic() + 20
            while not processes(marker) and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.1))
            child.kill()

        for user in paddock.USERS:
            for wall in ("container", "process"):
                with self.subTest(user=user, wall=wall):
                    self.storm(user, max(3, int(10 * STORM)), self.starter(user, "--wall", wall), kill_running)

    def test_killed_keeper_takes_the_program_with_it(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                self.storm(user, max(3, int(10 * STORM)), self.starter(user, "--wall", "container"), self.kill_keeper)

    def test_interrupted_paddock_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            def strike(child, _marker, number=number):
                time.sleep(random.uniform(0, 0.015))
                child.send_signal(number)

            for user in paddock.USERS:
                with self.subTest(user=user, signal=number.name):
                    self.storm(user, max(5, int(20 * STORM)), self.starter(user, "--wall", "container"), strike)


def children(pid):
    try:
        return [int(word) for task in os.listdir(f"/proc/{pid}/task") for word in read(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        return []


if __name__ == "__main__":
    paddock.main()
