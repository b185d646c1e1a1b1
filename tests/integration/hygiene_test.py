"""Nothing of the caller's environment enters a sandbox, or stands on a command line, unless it was passed; what was passed and is risky is told."""
import os
import subprocess
import time
import unittest

from support import internet, paddock
from support.leftovers import children, read
from support.paddock import on_both

MARK = "mark-of-the-caller"
NAMES = (["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND",
          "GIT_CONFIG_GLOBAL", "GIT_DIR", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SSH_AUTH_SOCK", "TRACEPARENT", "OTEL_SERVICE_NAME", "IFS", "PS4",
          "HTTP_PROXY", "https_proxy", "SSL_CERT_FILE", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "KUBECONFIG", "DOCKER_HOST", "TZ", "LC_ALL", "GCONV_PATH",
          "BASH_FUNC_ls%%", "odd name", "with-dash", "1digit", "ünicode"] + [f"ODD_{n}" for n in range(170)])
ODD = {name: f"{MARK}-{n}" for n, name in enumerate(NAMES)}
DYNAMIC = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH")  # would trouble the tools between us and paddock as well


class EnvironmentTest(unittest.TestCase):
    @on_both
    def test_two_hundred_odd_variables_stay_outside(self, user, wall):
        env = {name: value for name, value in ODD.items() if name not in DYNAMIC}
        script = "import os, glob; print(sorted(os.environ)); [print(open(f, 'rb').read()) for f in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline') if os.access(f, os.R_OK)]"
        done = paddock.run("--wall", wall, "--", "python3", "-c", script, user=user, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(MARK, done.stdout)
        self.assertEqual(done.stderr, "")

    @on_both
    def test_loader_variables_stay_outside(self, user, wall):
        # Set by env(1) behind setpriv, so that only paddock, which is static, sees them.
        command = ["env", *(f"{name}={MARK}" for name in DYNAMIC), paddock.PADDOCK, "run", "--wall", wall, "--", "env"]
        done = subprocess.run(paddock.as_user(command, user), env=paddock.environment(user), cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(MARK, done.stdout)

    @on_both
    def test_what_is_risky_is_told_and_passed(self, user, wall):
        env = {"AWS_SECRET_ACCESS_KEY": "q7Rk29fJx-TTm4a-0Zd", "COLOUR": "red-and-blue"}
        result = paddock.run_json("--wall", wall, "--pass-env", "AWS_SECRET_ACCESS_KEY", "--pass-env", "COLOUR", "--env", "BASH_ENV=/tmp/x", "--env", "PYTHONUNBUFFERED=1",
                                  "--env", "GIT_AUTHOR_NAME=me", "--", "sh", "-c", "echo $COLOUR $BASH_ENV", user=user, env=env)
        self.assertEqual(result["stdout"], "red-and-blue /tmp/x\n")
        told = [note.split()[0] for note in result["notes"] if "looks like a secret" in note or "makes programs inside" in note]
        self.assertEqual(sorted(told), ["AWS_SECRET_ACCESS_KEY", "BASH_ENV"], result["notes"])
        self.assertNotIn("q7Rk29fJx-TTm4a-0Zd", str(result["notes"]))


class SecretTest(unittest.TestCase):
    @on_both
    def test_a_secret_can_come_from_the_environment(self, user, wall):
        env = {"API_KEY": "correct-horse-battery"}
        result = paddock.run_json("--wall", wall, "--secret", "API_KEY", "--", "sh", "-c", "echo $API_KEY; echo ${#API_KEY}", user=user, env=env)
        self.assertEqual((result["stdout"], result["notes"]), ("[redacted:API_KEY]\n21\n", []))
        for wrong in ("MISSING_ONE", "hunter2 with space"):
            refused = paddock.run("--wall", wall, "--secret", wrong, "--", "true", user=user)
            self.assertEqual(refused.returncode, 125)
            self.assertNotIn("hunter2", refused.stderr)

    @on_both
    def test_no_command_line_on_the_host_shows_it(self, user, wall):
        child = paddock.popen("run", "--wall", wall, "--secret", "A=correct-horse-battery", "--secret=B=correct-horse-staple", "--", "sh", "-c", "echo ready; sleep 20",
                              user=user, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline(), "ready\n")
            family, new = {child.pid}, [child.pid]
            while new:
                new = [pid for parent in new for pid in children(parent)]
                family.update(new)
            self.assertGreater(len(family), 1)
            for pid in family:
                self.assertNotIn("correct-horse", read(f"/proc/{pid}/cmdline"))
        finally:
            child.terminate()
            child.wait(30)
            child.stdout.close()


class NetworkTest(internet.Case):
    @internet.as_each_user
    def test_keeper_and_egress_hold_nothing_of_the_callers_environment(self, user):
        env = {"ODD_ONE": MARK, "AWS_SECRET_ACCESS_KEY": MARK}
        child = self.net.popen("run", "--allow-net", "good.example", "--", "sh", "-c", "echo ready; sleep 20", user=user, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline(), "ready\n")
            seen, new = {}, [child.pid]
            while new:
                new = [pid for parent in new for pid in children(parent)]
                for pid in new:
                    seen[read(f"/proc/{pid}/comm").strip()] = read(f"/proc/{pid}/environ") + read(f"/proc/{pid}/cmdline")
            self.assertTrue({"paddock-launch", "paddock-egress"} <= {name[:14] for name in seen}, seen.keys())
            self.assertNotIn(MARK, "".join(text for name, text in seen.items() if name != "paddock"))
        finally:
            child.terminate()
            child.wait(30)
            child.stdout.close()


if __name__ == "__main__":
    paddock.main()
