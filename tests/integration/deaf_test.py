"""Neither a flood of signals nor output that nobody reads makes Paddock deaf."""
import signal
import subprocess
import time
import unittest

from support import paddock

FLOOD = """
import os, signal, sys, time
for _ in range(3):
    if os.fork() == 0:
        while True:
            for number in (signal.SIGUSR1, signal.SIGRTMIN + 1, signal.SIGTERM): os.kill(1, number)
time.sleep(1)
sys.exit(7)
"""


class DeafTest(unittest.TestCase):
    def test_a_flood_of_signals_to_the_first_process_does_not_hide_the_exit(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                begun = time.monotonic()
                done = paddock.run("--timeout", "60s", "--", "python3", "-c", FLOOD, user=user)
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertLess(time.monotonic() - begun, 45)

    def start_unread(self, *arguments, user):
        process = paddock.popen("run", *arguments, "--", "sh", "-c", "yes; yes >&2", user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_signals_end_it_while_nobody_reads_its_output(self):
        for user in paddock.USERS:
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(user=user, signal=number):
                    process = self.start_unread(user=user)
                    time.sleep(2)
                    self.assertIsNone(process.poll())
                    process.send_signal(number)
                    self.assertNotEqual(process.wait(timeout=30), 0)

    def test_the_wall_time_holds_while_nobody_reads_its_output(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                process = self.start_unread("--timeout", "2s", user=user)
                self.assertEqual(process.wait(timeout=60), 124)

    def test_a_late_reader_gets_everything(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                process = paddock.popen("run", "--", "sh", "-c", "yes | head -c 3000000; echo end >&2", user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(3)
                out, err = process.communicate(timeout=60)
                self.assertEqual((len(out), process.returncode), (3000000, 0), err)


if __name__ == "__main__":
    paddock.main()
