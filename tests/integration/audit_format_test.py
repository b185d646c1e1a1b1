"""docs/formats/audit.md: the checkers that stand there, exactly as they stand there, against a real log."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import paddock


def checkers():
    with open(os.path.join(paddock.SOURCE, "docs/formats/audit.md"), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.S)


class AuditFormatTest(unittest.TestCase):
    def make(self, user):
        state = paddock.folder(user)
        os.chmod(state, 0o700)
        self.addCleanup(shutil.rmtree, state, ignore_errors=True)
        self.env = {"PADDOCK_STATE": state}
        self.user = user
        for text in ("one", "two\nlines \x1b[1m \u202e", '","hash":"', "x" * 100_000):
            done = paddock.run("--agent", text[:64], "--", "echo", text[:100_000], user=user, env=self.env)
            self.assertEqual(done.returncode, 0, done.stderr)
            if text == "one":
                self.call("audit", "seal")
        return os.path.join(state, "audit")

    def call(self, *arguments):
        done = paddock.call(*arguments, user=self.user, env=self.env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def run_checker(self, checker, *arguments):
        return subprocess.run([sys.executable, "-W", "ignore", "-c", checker, *arguments], capture_output=True, text=True, cwd=self.env["PADDOCK_STATE"], check=False)

    def test_the_checker_of_the_page_agrees_with_verify(self):
        chain = checkers()[0]
        self.assertLessEqual(len(chain.strip().splitlines()), 15)
        for user in paddock.USERS:
            with self.subTest(user=user):
                log = self.make(user)
                done = self.run_checker(chain, log)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.call("audit", "verify", "--expect", done.stdout.strip())
                with open(os.path.join(log, "00000001.jsonl"), "r+b") as file:
                    lines = file.readlines()
                    file.seek(0)
                    file.writelines(lines[:1] + [lines[1].replace(b'"echo"', b'"true"', 1)] + lines[2:])
                done = self.run_checker(chain, log)
                self.assertIn("record 2 is not what was written", done.stderr)
                self.assertEqual(paddock.call("audit", "verify", user=user, env=self.env).returncode, 1)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_the_signature_of_a_segment_is_good_for_openssl(self):
        seal = checkers()[1]
        for user in paddock.USERS:
            with self.subTest(user=user):
                log = self.make(user)
                key = os.path.join(self.env["PADDOCK_STATE"], "audit.pem")
                with open(key, "w", encoding="utf-8") as file:
                    file.write(self.call("audit", "key"))
                done = self.run_checker(seal, os.path.join(log, "00000001.jsonl"), key)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                with open(os.path.join(log, "key.pub"), encoding="utf-8") as public, open(key, encoding="utf-8") as told:
                    self.assertEqual(public.read(), told.read())


if __name__ == "__main__":
    paddock.main()
