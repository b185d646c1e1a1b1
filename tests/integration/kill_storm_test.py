"""Kills Paddock, or its keeper, at any instant: nothing of the sandbox may be left. PADDOCK_STORM multiplies the rounds."""
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from support import paddock
from support.leftovers import children, host, processes

ROUNDS = {"root": 200, "user": 100}
STORM = float(os.environ.get("PADDOCK_STORM", "1"))

# Daemonises twice, ignores what can be ignored, writes a heartbeat, and would live for two minutes.
DAEMON = """
trap '' HUP INT TERM QUIT
setsid bash -c 'trap "" HUP INT TERM QUIT; setsid sleep {seconds} & exec sleep {seconds}' &
exec sleep {seconds}
"""


class KillStormTest(unittest.TestCase):
    def storm(self, user, rounds, start, strike, reap=False):
        """Starts, strikes, and afterwards compares the host with how it was. `reap`: one more run may clear up first."""
        marker = f"77.{os.getpid()}{random.randrange(10**6):06d}"
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in processes(marker)])
        before = host(user, marker)
        for _ in range(rounds):
            child = start(marker)
            strike(child, marker)
            child.wait(20)
        if reap:
            paddock.run("--", "true", user=user)
        # What stays all the time is left behind; what comes and goes belongs to other tests.
        left, deadline = host(user, marker) - before, time.monotonic() + 10
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left &= host(user, marker)
        self.assertEqual(sorted(left, reverse=True)[:5], [], f"{len(left)} things are left behind")  # processes first

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

    def test_killed_paddock_with_a_network_leaves_nothing(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                self.storm(user, int(ROUNDS[user] * STORM / 4), self.starter(user, "--allow-net", "192.0.2.1"), self.kill_soon)

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
            for wall in ("container", "process"):
                with self.subTest(user=user, wall=wall):
                    # Nobody is left to remove cgroups and private space at once: the next start does it.
                    self.storm(user, max(3, int(10 * STORM)), self.starter(user, "--wall", wall), self.kill_keeper, reap=True)

    def test_interrupted_paddock_leaves_nothing(self):
        """R12: a program that ignores signals is gone within the grace period; an impatient second ^C ends it at once."""
        def strike(child, number):
            time.sleep(random.uniform(0, 0.015))
            child.send_signal(number)
            if number == signal.SIGINT:
                time.sleep(0.05)
                child.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            for user in paddock.USERS:
                with self.subTest(user=user, signal=number.name):
                    rounds = 3 if number != signal.SIGINT else max(5, int(20 * STORM))
                    self.storm(user, rounds, self.starter(user, "--wall", "container"), lambda child, _, number=number: strike(child, number))


if __name__ == "__main__":
    paddock.main()
