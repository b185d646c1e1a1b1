"""The gateway is transparent: the official conformance suite passes the same scenarios against a server directly and through the gateway,
whichever way that server is reached and whatever era it is of."""
import functools
import json
import os
import subprocess
import unittest

from support import conformance, npm, paddock, tools

PAGE = os.path.join(paddock.SOURCE, "docs", "gateway.md")
OLD_ERA = os.path.join(paddock.SOURCE, "tests", "support", "mcp_old_era.py")
EVERYTHING = """
prefix = ""
tools = ["*"]
sampling = true
elicitation = true
roots = true
"""
# A server of the old era has no names for its questions, knows of no answers ahead of them, and is told once, for all clients, what can be
# asked: what the suite wants to see of that nobody in front of it can add. docs/gateway.md tells of it.
NOT_BRIDGED = {("stdio, old era", "2026-07-28"): {"input-required-result-basic-elicitation", "input-required-result-ignore-extra-params", "server-stateless"}}


class Serving:
    """`paddock mcp --listen` for as long as it is used."""

    def __init__(self, *arguments, state):
        self.process = paddock.popen("mcp", *arguments, "--listen", "127.0.0.1:0", "--no-auth", "--json", env={"PADDOCK_STATE": state},
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"paddock mcp {arguments} did not start: exit {self.process.wait()}")
        self.url = json.loads(line)["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()


class TransparencyTest(tools.Tools, unittest.TestCase):
    user = "root" if os.geteuid() == 0 else "user"

    def setUp(self):
        super().setUp()
        try:
            conformance.installed()
        except npm.Unavailable as why:
            self.skipTest(str(why))
        with open(PAGE) as file:
            self.page = file.read()

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def directly(revision, state):
        with Serving("--fixture", state=state) as fixture:
            return conformance.run(fixture.url, revision)

    def by_command(self, *words):
        command = [*words, os.path.join(paddock.BUILD, "paddock"), "mcp", "--fixture"]
        sandbox = f'[mcp.servers.fixture.sandbox]\nfiles = {{ read = ["{paddock.BUILD}", "{os.path.dirname(OLD_ERA)}"] }}\n'
        return f"[mcp.servers.fixture]\ncommand = {json.dumps(command)}\n{EVERYTHING}\n{sandbox}"

    def compare(self, name, server):
        policy = self.policy(server)
        for revision in conformance.REVISIONS:
            with self.subTest(way=name, revision=revision):
                direct = self.directly(revision, self.state)
                with Serving("--policy", policy, state=self.state) as gateway:
                    through = conformance.run(gateway.url, revision)
                missing = {scenario for scenario, (passed, _) in direct.items() if passed and not through[scenario][0]}
                self.assertEqual(missing, NOT_BRIDGED.get((name, revision), set()))
                required = [passed for passed, is_required in through.values() if is_required]
                self.assertIn(f"| {name} | {revision} | {sum(required)} of {len(required)} |", self.page, "write the row anew")

    def test_reached_by_its_url(self):
        with Serving("--fixture", state=self.state) as fixture:
            self.compare("url, modern", f'[mcp.servers.fixture]\nurl = "{fixture.url}"\nprivate_addresses = true\n{EVERYTHING}')

    def test_started_in_its_sandbox(self):
        self.compare("stdio, modern", self.by_command())

    def test_of_the_old_era_in_its_sandbox(self):
        self.compare("stdio, old era", self.by_command("python3", OLD_ERA))


if __name__ == "__main__":
    paddock.main()
