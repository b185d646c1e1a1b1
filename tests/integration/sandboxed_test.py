"""Programs in sandboxes of their own, as the tools start them: streams in our hands, secrets out of sight, and an end with their owner's."""
import functools
import json
import os
import pathlib
import subprocess
import time
import unittest

from support import leftovers, paddock
from support.server import until

PROGRAM = os.path.join(paddock.BUILD, "tests", "paddock-sandboxed")
SECRET = "open-sesame-1234"
DEADLINE = 60


def on_each(test):
    @functools.wraps(test)
    def run(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                test(self, user)
    return run


class Sandboxed:
    """paddock-sandboxed with one job."""

    def __init__(self, test, user, argv, **job):
        env = dict(paddock.environment(user), AWAY="not inside")
        self.process = subprocess.Popen(paddock.as_user([PROGRAM], user), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd="/")
        test.addCleanup(self.close)
        self.order(json.dumps({"argv": argv, "secrets": {"KEY": SECRET}, "env": {"PLAIN": "yes"}, **job}))

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def next(self, kind):
        """The next thing of that kind that is said; what comes before is left out."""
        for line in self.process.stdout:
            said = json.loads(line)
            if kind in said:
                return said[kind]
        raise AssertionError(f"it ended without '{kind}'")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def wait_until(condition):
    for _ in range(DEADLINE * 50):
        if condition():
            return True
        time.sleep(0.02)
    return False


class SandboxedTest(unittest.TestCase):
    @on_each
    def test_streams_go_through(self, user):
        box = Sandboxed(self, user, ["cat"], input="hello\n")
        self.assertEqual(box.next("output"), "hello\n")
        box.order("close")
        self.assertEqual(box.next("end"), {"outcome": {"kind": "exited", "code": 0}, "why": "exited with 0"})

    @on_each
    def test_environment_and_redacted_lines(self, user):
        box = Sandboxed(self, user, ["sh", "-c", 'echo "$PLAIN $KEY ${AWAY:-nothing}"; echo "$KEY" | base64 >&2; printf "\\033[2J" >&2'])
        self.assertEqual(box.next("output"), f"yes {SECRET} nothing\n")  # as it is: its caller redacts
        self.assertEqual(box.next("line"), "[redacted:KEY]")
        self.assertIn("\\x1b[2J", box.next("line"))

    @on_each
    def test_nothing_of_it_is_on_a_command_line_or_in_an_environment(self, user):
        box = Sandboxed(self, user, ["sh", "-c", "echo up; sleep 1000"])
        self.assertEqual(box.next("output"), "up\n")
        ours = [box.process.pid]
        for pid in ours:
            ours += leftovers.children(pid)
        self.assertGreater(len(ours), 2)
        inside = [pid for pid in ours if "sleep 1000" in leftovers.read(f"/proc/{pid}/cmdline") or "sleep\0" + "1000" in leftovers.read(f"/proc/{pid}/cmdline")]
        for pid in ours:
            self.assertNotIn(SECRET, leftovers.read(f"/proc/{pid}/cmdline"))
            if pid not in inside:  # the program itself was given it
                self.assertNotIn(SECRET, leftovers.read(f"/proc/{pid}/environ"))
        for pid in inside:
            # The program's loader opens its libraries for a moment.
            self.assertTrue(until(lambda: sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"], 10), os.listdir(f"/proc/{pid}/fd"))

    @on_each
    def test_outcomes_in_words(self, user):
        cases = [(["sh", "-c", "exit 3"], {}, "exited with 3"), (["sh", "-c", "kill -SEGV $$"], {}, "killed by SIGSEGV"), (["no-such-program"], {}, "not found inside the sandbox"),
                 (["sleep", "1000"], {"policies": [paddock.policy_file(self, '[limits]\nwall_time = "300ms"\n')]}, "limit wall_time=300ms"),
                 (["python3", "-c", "x = bytearray(10**9)"], {"policies": [paddock.policy_file(self, '[limits]\nmemory = "64M"\n')]}, "limit memory=64M"),
                 (["cat", "/etc/shadow"], {"policies": [paddock.policy_file(self, '[commands]\nallow = ["ls"]\n')]}, "paddock: the command 'cat' is not in commands.allow")]
        for argv, job, why in cases:
            self.assertIn(why, Sandboxed(self, user, argv, **job).next("end")["why"])

    @on_each
    def test_output_is_not_counted_here(self, user):
        box = Sandboxed(self, user, ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; sleep 1000"], policies=[paddock.policy_file(self, '[limits]\noutput = "1M"\n')])
        size = 0
        while size < 3_000_001:
            size += len(box.next("output"))
        box.order("stop")
        self.assertEqual(box.next("end")["why"], "stopped")

    @on_each
    def test_noise_on_stderr_is_bounded(self, user):
        box = Sandboxed(self, user, ["sh", "-c", "yes noise | head -n 200000 >&2; echo done"])
        self.assertEqual(box.next("output"), "done\n")

    @on_each
    def test_it_ends_with_its_owner(self, user):
        before = leftovers.host(user, "sleep\0" + "98765")
        for end in ("stop", "drop", "kill"):
            box = Sandboxed(self, user, ["sh", "-c", "echo up; sleep 98765"])
            self.assertEqual(box.next("output"), "up\n")
            if end == "kill":
                box.process.kill()
            else:
                box.order(end)
            self.assertTrue(wait_until(lambda: not leftovers.processes("sleep\0" + "98765")), end)
            if end == "stop":
                self.assertEqual(box.next("end")["why"], "stopped")
            self.assertTrue(wait_until(lambda: leftovers.host(user, "sleep\0" + "98765") <= before), end)

    @on_each
    def test_one_command_with_input(self, user):
        result = Sandboxed(self, user, ["sh", "-c", "cat; echo $KEY"], once=True, input="x" * 300_000 + "\n").next("result")
        self.assertEqual(result["stdout"], "x" * 300_000 + "\n[redacted:KEY]\n")
        self.assertEqual(result["outcome"], {"kind": "exited", "code": 0})
        deaf = Sandboxed(self, user, ["true"], once=True, input="x" * 3_000_000).next("result")
        self.assertEqual(deaf["outcome"], {"kind": "exited", "code": 0})

    @on_each
    def test_one_command_is_held_to_its_policy(self, user):
        policy = paddock.policy_file(self, '[limits]\noutput = "1K"\n')
        result = Sandboxed(self, user, ["sh", "-c", "yes"], once=True, policies=[policy]).next("result")
        self.assertEqual((result["outcome"]["limit"], len(result["stdout"])), ("output", 1024))
        self.assertIn("commands.allow", Sandboxed(self, user, ["true"], once=True, policies=[paddock.policy_file(self, '[commands]\nallow = ["ls"]\n')]).next("error"))

    @on_each
    def test_one_command_is_cancelled(self, user):
        box = Sandboxed(self, user, ["sleep", "98765"], once=True)
        self.assertTrue(wait_until(lambda: leftovers.processes("sleep\0" + "98765")))
        box.order("stop")
        self.assertIn("cancelled", box.next("error"))
        self.assertTrue(wait_until(lambda: not leftovers.processes("sleep\0" + "98765")))

    @on_each
    def test_it_is_recorded(self, user):
        state = paddock.state_folder(self, user)
        env = dict(paddock.environment(user), PADDOCK_STATE=state)
        job = {"argv": ["true"], "once": True, "agent": "the-tool-user", "secrets": {"KEY": SECRET}}
        done = subprocess.run(paddock.as_user([PROGRAM], user), input=json.dumps(job) + "\n", capture_output=True, text=True, env=env, cwd="/", timeout=DEADLINE)
        self.assertIn("result", done.stdout)
        records = "".join(leftovers.read(path) for path in pathlib.Path(state, "audit").rglob("*") if path.is_file())
        self.assertIn("the-tool-user", records)
        self.assertNotIn(SECRET, records)


if __name__ == "__main__":
    paddock.main()
