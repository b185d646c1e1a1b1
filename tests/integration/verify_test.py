"""paddock verify: holds for each wall and user, judges each limit, and notices every layer that is taken out."""
import json
import os
import shutil
import tempfile
import unittest

from support import paddock

RUNTIMES = [name for name in ("runc", "crun") if shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")]
WALLS = ("container", "process", *RUNTIMES)
WITHOUT = os.path.join(paddock.BUILD, "tests", "paddock-verify-without")

# What is taken out → a probe that must then fail. Where another layer holds the same, both go.
CONTAINER = {
    "seccomp": "unshare (user namespace)",
    "caps": "hold a capability in the bounding set",
    "seccomp,landlock,no_new_privs": "gain privileges by exec",  # both filters need it, so it cannot go alone
    "mount_ns": "write to the host's temporary folder",
    "pid_ns": "see a process of the host",
    "net_ns": "connect to the host's 127.0.0.1",
    "ipc_ns": "read System V memory of the host",
    "uts_ns": "share the uts namespace",
    "read_only,landlock": "write to /",
    "masks": "read the kernel's files in /proc",
    "dev": "run a program from /dev/shm",
    "env": "see undeclared variables",
    "fds": "inherit a descriptor",
    "cgroup": "exceed memory=64M",
    "rlimits": "exceed open_files=64",
    "scratch": "exceed disk=8M",
}
PROCESS = {
    "seccomp": "connect to the host's 127.0.0.1",
    "landlock": "write to the host's temporary folder",
    "caps": "hold a capability",
    "seccomp,landlock,no_new_privs": "gain privileges by exec",
    "env": "see undeclared variables",
    "fds": "inherit a descriptor",
    "cgroup": "exceed memory=64M",
    "rlimits": "exceed open_files=64",
    "scratch": "exceed disk=8M",
}

ALL_LIMITS = """
version = 1
[limits]
memory = "256M"
cpu_time = "30s"
wall_time = "60s"
idle_time = "20s"
pids = 64
open_files = 256
file_size = "20M"
disk = "64M"
inodes = 2000
output = "1M"
"""


def cases():
    return [(user, wall) for user in paddock.USERS for wall in WALLS]


def verify(*arguments, user, program=None, layers=None, **options):
    words = (["verify"] if layers is None else [layers]) + ["--json", *arguments]
    done = paddock.call(*words, user=user, program=program or paddock.PADDOCK, **options)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"no JSON: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def named(found, state):
    return [probe["probe"] for probe in found["probes"] if probe["state"] == state]


def shared_memory():
    with open("/proc/sysvipc/shm") as file:
        return sum(1 for _ in file)


class VerifyTest(unittest.TestCase):
    def folder(self, user):
        path = paddock.folder(user)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def policy(self, user, text):
        path = os.path.join(self.folder(user), "policy.toml")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def state_of(self, found, name):
        states = {probe["probe"]: probe for probe in found["probes"]}
        self.assertIn(name, states)
        return states[name]["state"]

    def test_the_default_policy_holds(self):
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                status, found = verify("--wall", wall, user=user)
                self.assertEqual(named(found, "failed"), [], found)
                self.assertEqual((status, found["ok"], found["wall"]), (0, True, wall))
                self.assertGreater(found["held"], 90)
                self.assertEqual(found["held"], len(named(found, "held")))

    def test_the_strict_policy_holds(self):
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                status, found = verify("--policy", "strict", "--wall", wall, user=user)
                self.assertEqual((status, named(found, "failed")), (0, []), found)

    def test_every_limit_that_is_set_is_exceeded_and_holds(self):
        limits = ("memory", "cpu_time", "wall_time", "idle_time", "pids", "open_files", "file_size", "disk", "inodes", "output")
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                status, found = verify("--policy", self.policy(user, ALL_LIMITS), "--wall", wall, user=user)
                self.assertEqual((status, named(found, "failed")), (0, []), found)
                held = {name.split("=")[0] for name in named(found, "held")}
                for limit in limits:
                    self.assertIn(f"exceed {limit}", held)

    def test_a_cpu_share_holds_or_is_refused(self):
        for user, wall in cases():
            with self.subTest(user=user, wall=wall):
                status, found = verify("--policy", self.policy(user, "version = 1\n[limits]\ncpu = 0.5\n"), "--wall", wall, user=user)
                if "error" in found:
                    self.assertEqual((status, found["error"]["code"]), (125, "unsupported"))
                    self.assertTrue(found["error"]["hint"])
                else:
                    self.assertEqual((status, self.state_of(found, "exceed cpu=0.2")), (0, "held"), found)

    def test_denied_paths_of_a_workspace_are_probed(self):
        for user in paddock.USERS:
            for mode in ("ro", "copy"):
                with self.subTest(user=user, mode=mode):
                    workspace = self.folder(user)
                    for name in (".env", "plain.txt"):
                        with open(os.path.join(workspace, name), "w") as file:
                            file.write("secret")
                        os.chmod(os.path.join(workspace, name), 0o644)
                    text = f'version = 1\n[files]\ndeny = ["**/.env"]\nworkspace = {{ path = "{workspace}", mode = "{mode}" }}\n'
                    with tempfile.TemporaryDirectory() as state:
                        paddock.give(state, user)
                        status, found = verify("--policy", self.policy(user, text), user=user, env={"PADDOCK_STATE": state})
                    self.assertEqual((status, named(found, "failed")), (0, []), found)
                    self.assertEqual(self.state_of(found, "read what the policy denies: /workspace/.env"), "held")

    def test_what_a_policy_grants_is_not_called_a_breach(self):
        for user in paddock.USERS:
            with self.subTest(user=user):
                text = 'version = 1\n[files]\nread = ["/srv"]\ntmp_exec = true\n'
                status, found = verify("--policy", self.policy(user, text), user=user)
                self.assertEqual(status, 0, found)
                self.assertEqual(self.state_of(found, "read /srv"), "not applicable")
                self.assertEqual(self.state_of(found, "run a program from /tmp"), "not applicable")

    def test_the_process_wall_says_what_it_does_not_claim(self):
        _, found = verify("--wall", "process", user=paddock.USERS[0])
        self.assertEqual(self.state_of(found, "share the net namespace"), "not claimed")
        self.assertEqual(self.state_of(found, "see a process of the host"), "not claimed")

    def test_a_policy_that_cannot_be_held_is_refused(self):
        status, found = verify("--policy", self.policy("root", 'version = 1\n[files]\nroot = "no-such-image"\n'), user=paddock.USERS[0])
        self.assertEqual(status, 125)
        self.assertTrue(found["error"]["message"])

    def test_the_table_ends_with_counts_and_has_no_colours_in_a_pipe(self):
        done = paddock.call("verify", user=paddock.USERS[0])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout.splitlines()[-1], r"^wall container: \d+ held, 0 failed, \d+ not applicable, \d+ not claimed$")
        self.assertNotIn("\x1b", done.stdout)

    def test_nothing_stays_behind(self):
        before = shared_memory()
        for user, wall in cases():
            verify("--wall", wall, user=user)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith(("paddock-verify-", "paddock-probe-"))], [])
        self.assertEqual(shared_memory(), before)


class WithoutLayersTest(unittest.TestCase):
    def check(self, wall, removals, user):
        for layers, expected in removals.items():
            if layers == "caps" and wall == "process" and user != "root":
                continue  # an ordinary user has none to drop
            if layers == "env" and paddock.SANITIZED:
                continue  # the sanitizer's own variables would reach the probe, and tell it to write outside
            with self.subTest(user=user, wall=wall, layers=layers):
                status, found = verify("--wall", wall, user=user, program=WITHOUT, layers=layers)
                self.assertEqual(status, 1, found)
                self.assertIn(expected, named(found, "failed"))

    @unittest.skipUnless(os.path.exists(WITHOUT), "paddock-verify-without is not built")
    def test_verify_notices_every_layer_of_the_container_wall(self):
        for user in paddock.USERS:
            self.check("container", CONTAINER, user)

    @unittest.skipUnless(os.path.exists(WITHOUT), "paddock-verify-without is not built")
    def test_verify_notices_every_layer_of_the_process_wall(self):
        for user in paddock.USERS:
            self.check("process", PROCESS, user)


if __name__ == "__main__":
    paddock.main()
