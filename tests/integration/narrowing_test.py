"""What a call asks for by name is given or refused, at every door; it is never dropped without a word."""
import contextlib
import unittest

from support import paddock
from support.server import Server

NARROW = 'version = 1\n[limits]\nmemory = "256M"\n[network]\nallow = ["good.example"]\n'


class Run(unittest.TestCase):
    def test_flags_beyond_the_policy_are_refused(self):
        policy = paddock.policy_file(self, NARROW)
        for flags, said in {("--memory", "64G"): f"memory: 64G asked for, policy '{policy}' allows 256M",
                            ("--allow-net", "other.example"): f"network.allow: 'other.example' asked for, policy '{policy}' does not allow all of it"}.items():
            for user in paddock.USERS:
                with self.subTest(user=user, flags=flags):
                    done = paddock.run("--policy", policy, *flags, "--", "true", user=user)
                    self.assertEqual(done.returncode, 125, done.stderr)
                    self.assertIn(said, done.stderr)
        done = paddock.run("--policy", policy, "--policy", "strict", "--memory", "32M", "--", "true")  # policies narrow each other
        self.assertEqual(done.returncode, 0, done.stderr)


class Living(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.server = cls.stack.enter_context(Server(paddock.USERS[-1]))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def refused(self, body, said):
        answer = self.server.request("POST", "/v1/sandboxes", body)
        self.assertEqual(answer.status, 403, answer.json())
        self.assertEqual(answer.json()["error"], "denied")
        self.assertIn(said, answer.json()["message"])
        self.assertTrue(answer.json()["hint"])

    def test_create_is_refused_and_says_by_whom(self):
        for flags, said in {("--memory", "64G"): "memory: 64G asked for, policy 'server' allows 1G",
                            ("--allow-net", "localhost:8099"): "network.allow: 'localhost:8099' asked for, policy 'server' has to name it, because it is not public",
                            ("--policy", "strict", "--memory", "1G"): "memory: 1G asked for, policy 'strict' allows 128M",
                            ("--policy", "strict", "--allow-net", "pypi.org"): "network.allow: 'pypi.org' asked for, policy 'strict' does not allow all of it"}.items():
            with self.subTest(flags=flags):
                done = self.server.call("create", *flags)
                self.assertEqual((done.returncode, done.stdout), (125, ""))
                self.assertIn(said, done.stderr)

    def test_the_api_is_refused(self):
        self.refused({"limits": {"memory": "64G"}}, "memory: 64G asked for")
        self.refused({"policy": {"version": 1, "limits": {"disk": "100T"}}}, "disk: 100T asked for")
        self.refused({"allow_net": ["10.0.0.5"]}, "network.allow: '10.0.0.5' asked for")
        self.refused({"policy": ["strict", {"version": 1, "limits": {"memory": "1G"}}]}, "policy 'strict' allows 128M")

    def test_a_preset_that_asks_for_more_is_narrowed(self):
        made = self.server.request("POST", "/v1/sandboxes", {"policy": "python", "timeout_ms": 3_600_000})
        self.assertEqual(made.status, 201, made.json())
        self.assertIn("timeout: 1h asked for, the policy allows 10m", made.json()["notes"])
        self.server.request("DELETE", f"/v1/sandboxes/{made.json()['id']}")

    def test_a_shorter_life_is_told_by_create(self):
        done = self.server.call("create", "--policy", "python", "--timeout", "1h")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("paddock: timeout: 1h asked for, the policy allows 10m", done.stderr)
        self.server.call("kill", done.stdout.strip())


class Mcp(unittest.TestCase):
    def test_hosts_that_the_policy_does_not_allow_stop_the_server(self):
        policy = paddock.policy_file(self, NARROW)
        for user in paddock.USERS:
            with self.subTest(user=user):
                done = paddock.call("mcp", "--policy", policy, "--allow-net", "localhost:8099", user=user)
                self.assertEqual(done.returncode, 125, done.stdout)
                self.assertIn("network.allow: 'localhost:8099' asked for", done.stderr)


if __name__ == "__main__":
    paddock.main()
