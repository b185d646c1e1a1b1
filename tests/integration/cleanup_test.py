"""Cleaning up removes what Paddock made, and nothing else, whatever its name."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import paddock
from support.paddock import on_both

ID = "mzxw6ytboi4dgmbr"  # as Paddock names a run
SWEEPS = ("--", "sleep", "0.3")  # long enough that the keeper looks for what others left


def uid_of(user):
    return paddock.USER_ID if user == "user" else os.geteuid()


class DirectoryTest(unittest.TestCase):
    def make(self, user, path):
        os.makedirs(path, mode=0o700, exist_ok=True)
        with open(os.path.join(path, "picture"), "w") as file:
            file.write("dear")
        for name in (path, os.path.join(path, "picture")):
            paddock.give(name, user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    @on_both
    def test_directories_of_similar_names_stay(self, user, wall):
        spaces = f"/var/tmp/paddock-{uid_of(user)}"
        self.assertEqual(paddock.run("--wall", "process", "--", "true", user=user).returncode, 0)  # makes the directory of spaces
        foreign = [self.make(user, path) for path in
                   ("/var/tmp/paddock-my-photos-2026_1", f"/var/tmp/paddock-{ID}", f"{spaces}/my-photos", f"{spaces}/space-my-photos-2026_1", f"{spaces}/{ID}")]
        time.sleep(0.2)  # what was made a moment ago is never removed
        done = paddock.run("--wall", wall, *SWEEPS, user=user)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in foreign:
            self.assertTrue(os.path.exists(os.path.join(path, "picture")), path)

    @on_both
    def test_the_space_of_a_killed_keeper_goes(self, user, wall):
        self.assertEqual(paddock.run("--wall", "process", "--", "true", user=user).returncode, 0)
        left = self.make(user, f"/var/tmp/paddock-{uid_of(user)}/space-{ID}")
        time.sleep(0.2)
        paddock.run("--wall", wall, *SWEEPS, user=user)
        self.assertFalse(os.path.exists(left))

    @on_both
    def test_a_directory_of_spaces_that_others_can_write_to_is_refused(self, user, wall):
        spaces = f"/var/tmp/paddock-{uid_of(user)}"
        self.assertEqual(paddock.run("--wall", "process", "--", "true", user=user).returncode, 0)
        before = os.stat(spaces).st_mode & 0o777
        left = self.make(user, f"{spaces}/space-{ID}")
        time.sleep(0.2)
        os.chmod(spaces, 0o777)
        try:
            done = paddock.run("--wall", wall, *SWEEPS, user=user)
        finally:
            os.chmod(spaces, before)
        if wall == "process":  # which needs a space
            self.assertEqual(done.returncode, 125)
            self.assertIn("others may", done.stderr)
        self.assertTrue(os.path.exists(left))


class CgroupTest(unittest.TestCase):
    @unittest.skipUnless(os.access("/sys/fs/cgroup/pids", os.W_OK), "no writable cgroup of version 1")
    def test_groups_of_others_stay_with_their_processes(self):
        with open("/proc/self/cgroup") as file:
            own = next(line.split(":")[2].strip() for line in file if "pids" in line.split(":")[1].split(","))
        base = "/sys/fs/cgroup/pids" + own
        base = base if os.path.isdir(base) else "/sys/fs/cgroup/pids"
        for name in ("paddock-my-photos-2026-1", f"paddock-{ID}"):
            with self.subTest(name=name):
                group = os.path.join(base, name)
                os.mkdir(group)
                sleeper = subprocess.Popen(["sleep", "60"])
                try:
                    with open(os.path.join(group, "cgroup.procs"), "w") as procs:
                        procs.write(str(sleeper.pid))
                    time.sleep(0.2)
                    self.assertEqual(paddock.run(*SWEEPS).returncode, 0)
                    self.assertIsNone(sleeper.poll(), "its process was killed")
                    self.assertTrue(os.path.isdir(group))
                finally:
                    sleeper.send_signal(signal.SIGKILL)
                    sleeper.wait()
                    for _ in range(100):
                        try:
                            os.rmdir(group)
                            break
                        except OSError:
                            time.sleep(0.02)


class ServerTest(unittest.TestCase):
    def test_a_temporary_server_refuses_a_directory_with_something_in_it(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                state = paddock.state_folder(self, user)
                photo = os.path.join(state, "photo")
                with open(photo, "w") as file:
                    file.write("dear")
                paddock.give(photo, user)
                done = paddock.call("serve", "--no-listen", "--socket", f"{state}/s", "--exit-kills", "--temporary", "--with-parent", user=user,
                                    env={"PADDOCK_STATE": state}, timeout=60)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("photo", done.stderr)
                self.assertTrue(os.path.exists(photo))


if __name__ == "__main__":
    paddock.main()
