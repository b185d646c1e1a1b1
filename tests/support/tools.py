"""Tools for tests: a folder with a policy and the commands that it names, and `paddock tool` in a state directory of its own."""
import json
import os
import shutil

from support import paddock

# The two of the contract, word for word.
CONTRACT = """
[[tools]]
name = "send_email"
rate = "10/minute"
schema = { type = "object", required = ["to"], properties = { to = { type = "string" } } }
rules = [ { param = "to", ends_with = "@company.com", why = "only inside the company" } ]

[[tools]]
name = "delete_file"
rules = [ { param = "path", not_starts_with = "/system/", why = "system files stay" } ]
"""


class Tools:
    """Mixed into a TestCase once per user."""
    user = None

    def setUp(self):
        self.state = paddock.state_folder(self, self.user)
        self.folder = paddock.folder(self.user)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        if not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
            paddock.give(os.path.dirname(path), self.user)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        paddock.give(path, self.user)
        return path

    def policy(self, text, name="policy.toml", **commands):
        """A policy file with these tools; `commands`: Python programs in tools/."""
        for command, program in commands.items():
            self.write(f"tools/{command}.py", program)
        return self.write(name, "version = 1\n" + text)

    def environment(self):
        return {"PADDOCK_STATE": self.state}

    def call(self, *arguments, **options):
        env = {**self.environment(), **options.pop("env", {})}
        return paddock.call(*arguments, user=self.user, env=env, **options)

    def tool(self, verb, *arguments, **options):
        return self.call("tool", verb, *arguments, **options)

    def ask(self, verb, policy, tool, params=None, *arguments, **options):
        """(exit status, what --json printed)"""
        text = params if isinstance(params, str) else json.dumps(params or {})
        done = self.tool(verb, tool, "--params", text, "--policy", policy, "--json", *arguments, **options)
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            raise AssertionError(f"no JSON from paddock tool {verb} {tool}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")

    def records(self, *arguments):
        done = self.call("audit", "show", "--json", "--limit", "0", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


def text_of(result):
    return "".join(item.get("text", "") for item in result["content"])
