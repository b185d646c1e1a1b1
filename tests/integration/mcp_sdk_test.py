"""The official TypeScript SDKs of both lines, and the inspector's CLI, with `paddock mcp` and with /mcp of `paddock serve`."""
import json
import os
import subprocess
import unittest

from support import npm, paddock, server

VERSIONS = {"v1": "@modelcontextprotocol/sdk@1.32.2", "v2": "@modelcontextprotocol/client@2.4.0", "inspector": "@modelcontextprotocol/inspector@0.15.0"}
COMPAT = os.path.join(paddock.SOURCE, "tests", "compat")
SDKS = ("v1", "v2", "v2-legacy")
ASK = """
version = 1
[[tools]]
name = "run_command"
ask = { timeout = "60s" }
"""


def modules(name):
    try:
        return npm.packages(f"mcp-{name.split('-')[0]}", VERSIONS[name.split("-")[0]])
    except npm.Unavailable as reason:
        raise unittest.SkipTest(str(reason))


class Listening:
    """`paddock mcp --listen` on a free port."""

    def __init__(self, user, state, *arguments):
        self.process = paddock.popen("mcp", "--listen", "127.0.0.1:0", "--json", *arguments, user=user, env={"PADDOCK_STATE": state}, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self.ready

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Sdk(unittest.TestCase):
    def run_suite(self, sdk, suite, env, user="root"):
        full = {**paddock.environment(user), "MCP_MODULES": modules(sdk), "MCP_SDK": sdk, **env}
        command = paddock.as_user(["node", "--test", *npm.force_exit(), os.path.join(COMPAT, suite)], user)
        done = subprocess.run(command, env=full, cwd="/", capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{sdk} as {user}:\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")

    def stdio(self, state, *arguments):
        return {"PADDOCK_STATE": state, "MCP_COMMAND": json.dumps([paddock.PADDOCK, "mcp", *arguments])}

    def test_stdio(self):
        for user in paddock.USERS:
            for sdk in SDKS if user == paddock.USERS[0] else ("v2",):
                with self.subTest(user=user, sdk=sdk):
                    self.run_suite(sdk, "mcp_tools.mjs", self.stdio(paddock.state_folder(self, user)), user)

    def test_http(self):
        for sdk in SDKS:
            with self.subTest(sdk=sdk), Listening(paddock.USERS[0], paddock.state_folder(self, paddock.USERS[0])) as ready:
                self.run_suite(sdk, "mcp_tools.mjs", {"MCP_URL": ready["url"], "MCP_TOKEN": ready["token"]})

    def test_serve(self):
        with server.Server(paddock.USERS[0]) as served:
            for sdk in SDKS:
                with self.subTest(sdk=sdk):
                    self.run_suite(sdk, "mcp_tools.mjs", {"MCP_URL": f"http://127.0.0.1:{served.port}/mcp", "MCP_TOKEN": served.key})

    def test_approval_by_elicitation(self):
        policy = paddock.policy_file(self, ASK)
        for sdk in SDKS:
            with self.subTest(sdk=sdk, over="stdio"):
                self.run_suite(sdk, "mcp_approval.mjs", self.stdio(paddock.state_folder(self, paddock.USERS[0]), "--policy", policy))
            with self.subTest(sdk=sdk, over="http"), Listening(paddock.USERS[0], paddock.state_folder(self, paddock.USERS[0]), "--policy", policy) as ready:
                self.run_suite(sdk, "mcp_approval.mjs", {"MCP_URL": ready["url"], "MCP_TOKEN": ready["token"]})


class Inspector(unittest.TestCase):
    def inspect(self, target, *arguments, env=None):
        folder = modules("inspector")
        program = os.path.join(folder, "node_modules", "@modelcontextprotocol", "inspector", "cli", "build", "cli.js")
        done = subprocess.run(["node", program, "--cli", *target, *arguments], env={**paddock.environment("root"), **(env or {})}, cwd=folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self, target, env=None):
        tools = self.inspect(target, "--method", "tools/list", env=env)["tools"]
        self.assertIn("run_code", [tool["name"] for tool in tools])
        result = self.inspect(target, "--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "code=6*7", env=env)
        self.assertEqual(result["structuredContent"]["results"][0]["text"], "42")

    def test_lists_and_calls_over_stdio(self):
        self.check([paddock.PADDOCK, "mcp"], {"PADDOCK_STATE": paddock.state_folder(self, "root")})

    def test_lists_and_calls_over_http(self):
        with Listening("root", paddock.state_folder(self, "root"), "--no-auth") as ready:
            self.check([ready["url"]])


if __name__ == "__main__":
    paddock.main()
