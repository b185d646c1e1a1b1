"""The unmodified npm package e2b works against `paddock serve`: the newest version in full, older ones in what matters."""
import os
import subprocess
import unittest

from support import npm, paddock, server

NEWEST = "2.51.0"
MATRIX = ["2.7.0", "2.14.1", "2.15.0", "2.20.1", "2.25.0", "2.31.0", "2.39.0", "2.45.0", "2.50.0"]  # docs/e2b.md says the same
COMPAT = os.path.join(paddock.SOURCE, "tests", "compat")
SUITES = sorted(name for name in os.listdir(COMPAT) if name.startswith("e2b_") and name.endswith(".mjs") and name != "e2b_smoke.mjs")


def modules(version):
    try:
        return npm.packages(f"e2b-{version}", f"e2b@{version}")
    except npm.Unavailable as reason:
        raise unittest.SkipTest(str(reason))


def run_node(served, version, *suites):
    where = f"http://127.0.0.1:{served.port}"
    env = {**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, "E2B_API_KEY": served.key, "E2B_API_URL": where,
           "E2B_SANDBOX_URL": where, "E2B_MODULES": modules(version)}
    if served.user == "user":
        env["COMPAT_ONE_ID"] = "1"  # no subordinate ids
    return subprocess.run(["node", "--test", "--test-concurrency=2", *npm.force_exit(), *[os.path.join(COMPAT, suite) for suite in suites]], env=env,
                          capture_output=True, text=True, timeout=1000)


class CompatE2b(unittest.TestCase):
    def check(self, user, version, *suites):
        modules(version)
        with server.Server(user) as served:
            done = run_node(served, version, *suites)
            if done.returncode != 0:
                failures = "\n".join(line for line in done.stdout.splitlines() if "not ok" in line or "error:" in line or "failureType" in line)
                self.fail(f"e2b {version} as {user}:\n{failures}\n{done.stdout[-6000:]}\n{done.stderr[-2000:]}\n{served.output()[-2000:]}")

    def test_the_newest_version_in_full(self):
        self.check("root" if os.geteuid() == 0 else "user", NEWEST, *SUITES)

    def test_every_version_of_the_matrix(self):
        with server.Server("root" if os.geteuid() == 0 else "user") as served:
            for version in [*MATRIX, NEWEST]:
                with self.subTest(version=version):
                    done = run_node(served, version, "e2b_smoke.mjs")
                    self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-1000:])

    @unittest.skipIf("user" not in paddock.USERS, "needs programs that an ordinary user can reach")
    def test_a_server_of_an_ordinary_user(self):
        self.check("user", NEWEST, *SUITES)


if __name__ == "__main__":
    paddock.main()
