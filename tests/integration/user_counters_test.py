"""What the kernel counts per user cannot be used up from inside."""
import resource
import subprocess
import unittest

from support import paddock

WALLS = ("container", "process")

# Opens inotify instances until the kernel refuses, and says how many there were.
INOTIFY = """
import ctypes
libc, count = ctypes.CDLL(None), 0
while count < 200 and libc.inotify_init() >= 0: count += 1
print(count)
"""

# Sends descriptors to itself without ever receiving them, until the kernel refuses; then waits.
IN_FLIGHT = """
import array, socket, sys, time
held, count = [], 0
try:
    while True:
        a, b = socket.socketpair()
        held += [a, b]
        for _ in range(20):
            a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [a.fileno()] * 100))])
            count += 100
except OSError as error:
    print(count, error.errno, flush=True)
time.sleep(60)
"""

class UserCountersTest(unittest.TestCase):
    def each(self, walls=WALLS):
        for user in paddock.USERS:
            for wall in walls:
                with self.subTest(user=user, wall=wall):
                    yield user, wall

    def test_inotify_instances_are_bounded(self):
        for user, wall in self.each():
            done = paddock.run("--wall", wall, "--", "python3", "-c", INOTIFY, user=user)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(int(done.stdout), 32)
            if wall == "container":
                self.assertGreater(int(done.stdout), 0)

    def test_resource_limits_counted_per_user_are_low(self):
        for user, wall in self.each():
            code = "import resource as r; print(*[r.getrlimit(getattr(r, n))[1] for n in ('RLIMIT_SIGPENDING', 'RLIMIT_MSGQUEUE', 'RLIMIT_MEMLOCK', 'RLIMIT_RTPRIO', 'RLIMIT_NICE')])"
            done = paddock.run("--wall", wall, "--", "python3", "-c", code, user=user)
            self.assertEqual(done.returncode, 0, done.stderr)
            for value, most in zip(map(int, done.stdout.split()), (1024, 400 << 10, 1 << 20, 0, 0)):
                self.assertTrue(0 <= value <= most, done.stdout)

    def test_the_result_says_what_is_shared_with_the_host(self):
        for user, wall in self.each():
            told = paddock.run_json("--wall", wall, "--", "true", user=user)["enforced"]["user_counters"]["by"]
            self.assertIn("RLIMIT_SIGPENDING", told)
            if user == "user":
                self.assertIn("not isolated", told)

    def test_sandboxes_start_while_another_has_all_descriptors_in_flight(self):
        limits = (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        if limits[1] < 4096:
            self.skipTest("the hard limit of open files is low here")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for user, wall in self.each():
            hog = paddock.popen("run", "--wall", wall, "--", "python3", "-c", IN_FLIGHT, user=user, stdout=subprocess.PIPE, text=True)
            try:
                count, number = map(int, hog.stdout.readline().split())
                self.assertGreater(count, 900)
                self.assertIn(number, (109, 24))  # ETOOMANYREFS, or no descriptors left
                for other in WALLS:
                    done = paddock.run("--wall", other, "--", "echo", "fine", user=user)
                    self.assertEqual((done.returncode, done.stdout), (0, "fine\n"), done.stderr)
            finally:
                hog.terminate()
                hog.wait(timeout=30)
                hog.stdout.close()


if __name__ == "__main__":
    paddock.main()
