"""The unmodified npm package @e2b/code-interpreter works against `paddock serve`."""
import os
import subprocess
import unittest

from support import kernel, npm, paddock, server

NEWEST = "2.8.0"
MATRIX = ["2.7.0", "2.7.1"]  # docs/code.md says the same; older ones need DNS: they know no E2B_SANDBOX_URL
COMPAT = os.path.join(paddock.SOURCE, "tests", "compat")
SUITES = ["code_basic.mjs", "code_contexts.mjs", "code_languages.mjs", "code_interrupts.mjs"]
HAS_CHARTS = all(kernel.has_module(name) for name in ("matplotlib", "pandas", "PIL"))


def modules(version):
    try:
        # The tests' support loads e2b itself, too.
        return npm.packages(f"code-interpreter-{version}", f"@e2b/code-interpreter@{version}", "e2b@2.51.0")
    except npm.Unavailable as reason:
        raise unittest.SkipTest(str(reason))


class CompatCode(unittest.TestCase):
    def check(self, user, version, *suites):
        folder = modules(version)
        with server.Server(user) as served:
            where = f"http://127.0.0.1:{served.port}"
            env = {**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, "E2B_API_KEY": served.key,
                   "E2B_API_URL": where, "E2B_SANDBOX_URL": where, "E2B_MODULES": folder}
            done = subprocess.run(["node", "--test", "--test-concurrency=2", *npm.force_exit(), *[os.path.join(COMPAT, suite) for suite in suites]], env=env,
                                  capture_output=True, text=True, timeout=1000)
            self.assertEqual(done.returncode, 0, f"{version} as {user}:\n{done.stdout[-8000:]}\n{done.stderr[-2000:]}\n{served.output()[-2000:]}")

    def test_the_newest_version_in_full(self):
        self.check(paddock.USERS[0], NEWEST, *SUITES)

    @unittest.skipUnless(HAS_CHARTS, "matplotlib, pandas and PIL are not installed")
    def test_charts_tables_and_images(self):
        self.check(paddock.USERS[0], NEWEST, "code_charts.mjs")

    def test_older_versions(self):
        for version in MATRIX:
            with self.subTest(version=version):
                self.check(paddock.USERS[0], version, "code_basic.mjs", "code_languages.mjs")

    @unittest.skipUnless("user" in paddock.USERS, "needs programs that an ordinary user can reach")
    def test_a_server_of_an_ordinary_user(self):
        self.check("user", NEWEST, "code_basic.mjs", "code_contexts.mjs")


if __name__ == "__main__":
    paddock.main()
